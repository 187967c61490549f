import express, { type ErrorRequestHandler, type Express, type Request, type RequestHandler } from 'express';
import { ServiceError } from '../contract/index.ts';
import type { ApiDeps, Method, Middleware, Route } from './context.ts';
import {
  callerOf,
  createAuthenticate,
  findCallerOf,
  requireCaller,
  requireScope,
  type Authenticate,
} from './middleware/authenticate.ts';
import { readJson } from './middleware/body.ts';
import { answerErrors } from './middleware/errors.ts';
import { passRateGate, showLoad } from './middleware/gates.ts';
import { requireHost } from './middleware/host.ts';
import { nameRequests } from './middleware/request-id.ts';
import { resolveOwner } from './owner.ts';
import { accountRoutes } from './routes/account.ts';
import { artifactRoutes } from './routes/artifacts.ts';
import { batchRoutes } from './routes/batch.ts';
import { deliveryRoutes } from './routes/deliveries.ts';
import { docsRoutes } from './routes/docs.ts';
import { healthRoutes } from './routes/health.ts';
import { jobRoutes } from './routes/jobs.ts';
import { regionRoutes } from './routes/regions.ts';
import { searchRoutes } from './routes/search.ts';
import { surfaceRoutes } from './routes/surfaces.ts';
import { watchHistoryRoutes } from './routes/watch-history.ts';
import { watchRoutes } from './routes/watches.ts';

/**
 * The whole REST surface. The order of checks is that of the design: unknown path, wrong method, authentication,
 * scope, body.
 */
export function createApp(deps: ApiDeps): Express {
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.enable('case sensitive routing');
  app.use(nameRequests(deps.clock));
  app.use(requireHost);

  const authenticate = createAuthenticate({ sql: deps.db.system, pepper: deps.apiKeyPepper, clock: deps.clock });
  const routes = [
    // Before the alias: `batch` is a path of its own, not a surface.
    ...batchRoutes(deps),
    ...searchRoutes(deps),
    ...jobRoutes(deps),
    ...artifactRoutes(deps),
    ...watchRoutes(deps),
    ...watchHistoryRoutes(deps),
    ...accountRoutes(deps),
    ...deliveryRoutes(deps),
    ...surfaceRoutes(deps),
    ...regionRoutes(),
    ...healthRoutes(deps),
    ...docsRoutes(deps),
  ];
  for (const [path, sharers] of Map.groupBy(routes, (route) => route.path))
    mount(app, path, sharers, { deps, routes, authenticate });

  app.use((request) => {
    throw new ServiceError('NOT_FOUND', `${request.path} does not exist; GET /docs lists the paths.`);
  });
  app.use(answerErrors(deps));
  return app;
}

type Common = { deps: ApiDeps; routes: readonly Route[]; authenticate: Authenticate };

function mount(
  app: Express,
  path: string,
  sharers: readonly Route[],
  { deps, routes: all, authenticate }: Common,
): void {
  const place = app.route(path);
  for (const route of sharers) {
    if (route.access === 'public') {
      place[route.method]((request, response) => route.handle({ request, response, body: undefined }));
      continue;
    }
    const before = [
      requireCaller(authenticate, route),
      // Before the scope: every authenticated submit counts, whatever its outcome (design, "Gates").
      ...(route.submit === true ? [passGates(deps)] : []),
      requireScope(route, all),
      ...(route.checkPath === undefined ? [] : [checkPath(route.checkPath)]),
      ...(route.bodyLimitBytes === undefined ? [] : readJson(route.bodyLimitBytes)),
    ];
    const handle: RequestHandler = async (request, response) => {
      const caller = callerOf(response.locals);
      const owner = await resolveOwner(deps.db.system, caller, request);
      response.locals['accountId'] = owner.accountId;
      if (owner.override) response.set('X-Service-Owner', owner.accountId);
      await route.handle({ request, response, body: response.locals['body'], caller, owner });
    };
    place[route.method](...before, handle, ...(route.submit === true ? [showLoadOfRefused(deps)] : []));
  }
  const allowed = allowedMethods(sharers.map(({ method }) => method));
  place.all(() => {
    throw new ServiceError('METHOD_NOT_ALLOWED', `This path takes ${allowed}.`, { headers: { Allow: allowed } });
  });
}

function checkPath(check: (request: Request) => void): Middleware {
  return (request, _response, next) => {
    check(request);
    next();
  };
}

function passGates(deps: ApiDeps): Middleware {
  return async (_request, response, next) => {
    await passRateGate(deps, callerOf(response.locals), response);
    next();
  };
}

/** Refused submits, too, tell how the gates stand: those whose body is never read included (spec 4.1, 7). */
function showLoadOfRefused(deps: ApiDeps): ErrorRequestHandler {
  return async (error: unknown, _request, response, next) => {
    const caller = findCallerOf(response.locals);
    const accountId: unknown = response.locals['accountId'];
    if (caller !== null) {
      try {
        await showLoad(deps, response, caller, typeof accountId === 'string' ? accountId : caller.accountId);
      } catch (unread) {
        // The refusal says more than the failure to read the load does: often both have the same cause.
        deps.log.warn({ err: unread }, 'Could not read the load of a refused submit');
      }
    }
    next(error);
  };
}

function allowedMethods(methods: readonly Method[]): string {
  return methods.flatMap((method) => (method === 'get' ? ['GET', 'HEAD'] : [method.toUpperCase()])).join(', ');
}
