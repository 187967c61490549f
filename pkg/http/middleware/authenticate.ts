import { findCaller, type Caller } from '../../accounts/index.ts';
import { ServiceError } from '../../contract/index.ts';
import type { Sql } from '../../postgres/index.ts';
import type { Clock } from '../../runtime/index.ts';
import type { Middleware, Route } from '../context.ts';

/** A key is looked up again after this long, so that a revoked one stops within seconds. */
const REMEMBER_MS = 2_000;
const REMEMBER_AT_MOST = 10_000;

export type Authenticate = (authorization: string | undefined) => Promise<Caller>;

/**
 * Finds the caller of a request. Missing, malformed, unknown and revoked keys take the same way, hash and query
 * included, and get the same answer: nothing tells them apart (spec 5.4).
 */
export function createAuthenticate(deps: { sql: Sql; pepper: string; clock: Clock }): Authenticate {
  const remembered = new Map<string, { caller: Caller; untilMs: number }>();
  return async (authorization) => {
    const key = /^Bearer +(\S+)$/i.exec(authorization ?? '')?.[1] ?? '';
    const known = remembered.get(key);
    if (known !== undefined && known.untilMs > deps.clock.nowMs()) return known.caller;
    const caller = await findCaller(deps.sql, key, deps.pepper);
    remembered.delete(key);
    if (caller === null) throw new ServiceError('AUTH_INVALID');
    if (remembered.size >= REMEMBER_AT_MOST) remembered.clear();
    remembered.set(key, { caller, untilMs: deps.clock.nowMs() + REMEMBER_MS });
    return caller;
  };
}

type ScopedRoute = Exclude<Route, { access: 'public' }>;

/** Puts the caller into `response.locals.caller`, if the key may call the route. */
export function requireCaller(authenticate: Authenticate, route: ScopedRoute, routes: readonly Route[]): Middleware {
  return async (request, response, next) => {
    const authorization = request.get('authorization');
    if (authorization === undefined && route.missingAuthorization !== undefined)
      throw new ServiceError(route.missingAuthorization);
    const caller = await authenticate(authorization);
    if (!caller.scopes.includes(route.access)) throw forbid(caller, routes);
    response.locals['caller'] = caller;
    next();
  };
}

function forbid(caller: Caller, routes: readonly Route[]): ServiceError {
  const allowed = routes
    .filter((route) => route.access === 'public' || caller.scopes.includes(route.access))
    .map(({ method, path }) => `${method.toUpperCase()} ${path.replace(/[:*](\w+)/g, '{$1}')}`);
  return new ServiceError(
    'SCOPE_FORBIDDEN',
    `This key is not scoped for this method. It may call: ${allowed.join(', ')}.`,
  );
}
