import { KubeError, type Failure, type FieldProblem } from './errors.ts';

/** The error of an answer that is none of 2xx. `call` names what was asked: `GET /api/v1/pods`. */
export function errorOfAnswer(call: string, status: number, body: string, retryAfter: string | undefined): KubeError {
  const answer = parseStatus(body);
  return errorOfStatus(call, { ...answer, code: status }, retryAfter);
}

/** The error of a Status object, which also comes as an event of a watch. */
export function errorOfStatus(call: string, status: StatusObject, retryAfter?: string): KubeError {
  const code = status.code ?? 0;
  const seconds = Number(retryAfter ?? status.details?.retryAfterSeconds);
  return new KubeError(`${call}: ${status.message ?? `HTTP ${code}`}`, {
    failure: failureOf(code, status),
    status: code,
    reason: status.reason,
    retryAfterMs: Number.isFinite(seconds) && seconds > 0 ? seconds * 1000 : undefined,
    problems: (status.details?.causes ?? []).map(problemOf),
  });
}

/** The error of a call that got no answer, or only a part of one. */
export function errorOfSilence(call: string, cause: unknown): KubeError {
  const words = cause instanceof Error ? cause.message : String(cause);
  return new KubeError(`${call}: ${words}`, { failure: 'unreachable', status: 0, cause });
}

export type StatusObject = {
  code?: number;
  reason?: string;
  message?: string;
  details?: { retryAfterSeconds?: number; causes?: { reason?: string; field?: string; message?: string }[] };
};

function parseStatus(body: string): StatusObject {
  try {
    const value: unknown = JSON.parse(body);
    if (isStatus(value)) return value;
  } catch {
    // A proxy's page, or the plain words of an overloaded server.
  }
  return { message: body.trim().slice(0, 300) || 'no explanation' };
}

export function isStatus(value: unknown): value is StatusObject {
  return typeof value === 'object' && value !== null && 'kind' in value && value.kind === 'Status';
}

function problemOf(cause: { field?: string; message?: string }): FieldProblem {
  return { field: cause.field ?? '', message: cause.message ?? '' };
}

function failureOf(code: number, { reason, details }: StatusObject): Failure {
  // After a restore of etcd our version is ahead of the server's: it would wait for it, and we for it, for ever.
  if (details?.causes?.some((cause) => cause.reason === 'ResourceVersionTooLarge') === true) return 'expired';
  switch (code) {
    case 400:
    case 422:
      return 'invalid';
    case 401:
      return 'unauthorized';
    case 403:
      return 'forbidden';
    case 404:
      return 'notFound';
    case 409:
      return reason === 'AlreadyExists' ? 'alreadyExists' : 'conflict';
    case 410:
      return 'expired';
    case 429:
    case 503:
    case 504:
      return 'busy';
    default:
      return 'other';
  }
}
