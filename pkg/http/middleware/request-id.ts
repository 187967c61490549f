import { newId, SCHEMA_VERSION } from '../../contract/index.ts';
import type { Clock } from '../../runtime/index.ts';
import type { Middleware } from '../context.ts';

const ACCEPTABLE = /^[A-Za-z0-9._-]{8,128}$/;

/** Headers of every response (spec 4): the request's id, the client's own where it is acceptable, and the version. */
export function nameRequests(clock: Clock): Middleware {
  return (request, response, next) => {
    const given = request.get('x-request-id');
    response.set('X-Request-Id', given !== undefined && ACCEPTABLE.test(given) ? given : newId('req', clock.nowMs()));
    response.set('X-Service-Version', SCHEMA_VERSION);
    next();
  };
}
