import type { ErrorCode } from '../errors.ts';
import { oneOfWords } from './build.ts';
import type { Operation, Parameter } from './types.ts';

/** Codes of every route that needs a key. */
export const SCOPED_CODES: readonly ErrorCode[] = [
  'VALIDATION_FAILED',
  'AUTH_INVALID',
  'SCOPE_FORBIDDEN',
  'INTERNAL_ERROR',
];

export function scoped(scope: string): Operation['security'] {
  return [{ apiKey: [scope] }];
}

export const COMMON_PARAMETERS: readonly Parameter[] = [
  {
    name: 'X-Request-Id',
    in: 'header',
    description: 'Echoed, when it is 8 to 128 letters, digits, dots, dashes or underscores; else one is made.',
    schema: { type: 'string' },
  },
];

/** For internal keys; a restricted key's override is ignored (spec 4.13). */
export const OWNER_PARAMETERS: readonly Parameter[] = [
  {
    name: 'owner',
    in: 'query',
    description: 'The account that an internal key acts for. Wins over the header.',
    schema: { type: 'string' },
  },
  {
    name: 'X-Service-On-Behalf-Of',
    in: 'header',
    description: 'The account that an internal key acts for.',
    schema: { type: 'string' },
  },
];

export function viewParameter(description: string): Parameter {
  return { name: 'view', in: 'query', description, schema: oneOfWords(['flat']) };
}

export const PAGE_PARAMETERS: readonly Parameter[] = [
  {
    name: 'limit',
    in: 'query',
    description: 'Items of a page.',
    schema: { type: 'integer', minimum: 1, maximum: 100, default: 20 },
  },
  {
    name: 'cursor',
    in: 'query',
    description: 'nextCursor of the page before.',
    schema: { type: 'string', minLength: 1 },
  },
];
