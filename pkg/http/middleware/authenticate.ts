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
  // Look-ups, not callers: requests that come together with a key not seen lately wait for one answer.
  const remembered = new Map<string, { caller: Promise<Caller | null>; untilMs: number }>();
  const lookUp = (key: string): Promise<Caller | null> => {
    const known = remembered.get(key);
    if (known !== undefined && known.untilMs > deps.clock.nowMs()) return known.caller;
    const caller = findCaller(deps.sql, key, deps.pepper);
    if (remembered.size >= REMEMBER_AT_MOST) remembered.clear();
    const entry = { caller, untilMs: deps.clock.nowMs() + REMEMBER_MS };
    remembered.set(key, entry);
    const forget = (): void => {
      if (remembered.get(key) === entry) remembered.delete(key);
    };
    // A key that is no key is looked up each time, as one that has just been made must work at once.
    caller.then((found) => (found === null ? forget() : undefined), forget);
    return caller;
  };
  return async (authorization) => {
    const caller = await lookUp(/^Bearer +(\S+)$/i.exec(authorization ?? '')?.[1] ?? '');
    if (caller === null) throw new ServiceError('AUTH_INVALID');
    return caller;
  };
}

type ScopedRoute = Exclude<Route, { access: 'public' }>;

/** Puts the caller into `response.locals.caller`. */
export function requireCaller(authenticate: Authenticate, route: ScopedRoute): Middleware {
  return async (request, response, next) => {
    const authorization = request.get('authorization');
    if (authorization === undefined && route.missingAuthorization !== undefined)
      throw new ServiceError(route.missingAuthorization);
    response.locals['caller'] = await authenticate(authorization);
    next();
  };
}

/** Lets only keys on that may call the route; what others may call stands in the error (spec 5.6). */
export function requireScope(route: ScopedRoute, routes: readonly Route[]): Middleware {
  return (_request, response, next) => {
    const caller = callerOf(response.locals);
    if (!caller.scopes.includes(route.access)) throw forbid(caller, routes);
    next();
  };
}

/** The caller that `requireCaller` found; null before it ran. */
export function findCallerOf(locals: Record<string, unknown>): Caller | null {
  const caller = locals['caller'];
  return isCaller(caller) ? caller : null;
}

export function callerOf(locals: Record<string, unknown>): Caller {
  const caller = findCallerOf(locals);
  if (caller === null) throw new Error('a route with a scope runs after authentication');
  return caller;
}

function isCaller(value: unknown): value is Caller {
  return typeof value === 'object' && value !== null && 'accountId' in value && 'scopes' in value;
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
