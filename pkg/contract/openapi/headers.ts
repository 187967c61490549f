import { SCHEMA_VERSION } from '../version.ts';
import type { Header } from './types.ts';

function whole(description: string, required: boolean): Header {
  return { description, required, schema: { type: 'integer', minimum: 0 } };
}

function word(description: string, required: boolean): Header {
  return { description, required, schema: { type: 'string' } };
}

/** On every response (spec 4). */
export const COMMON_HEADERS: Record<string, Header> = {
  'X-Request-Id': {
    description: "The request's id: the client's own where it is acceptable.",
    required: true,
    schema: { type: 'string', pattern: '^[A-Za-z0-9._-]{8,128}$' },
  },
  'X-Service-Version': {
    description: 'The response schema version.',
    required: true,
    schema: { type: 'string', const: SCHEMA_VERSION },
  },
};

export const OWNER_HEADER: Record<string, Header> = {
  'X-Service-Owner': word('The owner that an internal key acts for, when such an override applies.', false),
};

export const RATE_HEADERS: Record<string, Header> = {
  'X-RateLimit-Limit': whole('Submits a minute.', true),
  'X-RateLimit-Remaining': whole('Submits left in this minute.', true),
  'X-RateLimit-Reset': whole('Epoch seconds when the count starts anew.', true),
};

/** How the gates stand; not on an error of ours, when the load itself may be unreadable. */
export function concurrencyHeaders(required: boolean): Record<string, Header> {
  return {
    'X-Concurrency-Limit': whole('Synchronous captures that may be in flight.', required),
    'X-Concurrency-Running': whole('Synchronous captures in flight.', required),
    'X-Concurrency-Queued': whole('Captures that wait.', required),
  };
}

export const CREDIT_HEADERS: Record<string, Header> = {
  'X-Credits-Charged': whole('What this call charged. Metered keys only.', false),
  'X-Credits-Remaining': {
    description: 'Balance minus holds. Metered keys only.',
    required: false,
    schema: { type: 'integer' },
  },
};

export function locationHeader(required: boolean): Record<string, Header> {
  return { Location: word('Path of the parent job.', required) };
}

export const PREFERENCE_HEADER: Record<string, Header> = {
  'Preference-Applied': word('The wait that was applied, when Prefer named one.', false),
};

export const REPLAY_HEADER: Record<string, Header> = {
  'Idempotent-Replayed': {
    description: 'true when the idempotencyKey was used before with the same search.',
    required: false,
    schema: { type: 'string', const: 'true' },
  },
};

/** Headers that belong to errors of one status. */
export const ERROR_HEADERS: Readonly<Record<string, Record<string, Header>>> = {
  401: { 'WWW-Authenticate': word('Bearer.', true) },
  405: { Allow: word('The methods that the path takes.', true) },
  429: { 'Retry-After': whole('Seconds to wait.', true) },
};

export const ARTIFACT_HEADERS: Record<string, Header> = {
  ETag: word('Changes with the bytes; send it as If-None-Match.', true),
  'Content-Security-Policy': word('Lets a page run nothing and load nothing.', true),
};
