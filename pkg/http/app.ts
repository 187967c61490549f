import express, { type Express } from 'express';
import type { Caller } from '../accounts/index.ts';
import { ServiceError } from '../contract/index.ts';
import type { ApiDeps, Method, Route } from './context.ts';
import { createAuthenticate, requireCaller, type Authenticate } from './middleware/authenticate.ts';
import { readJson } from './middleware/body.ts';
import { answerErrors } from './middleware/errors.ts';
import { nameRequests } from './middleware/request-id.ts';
import { healthRoutes } from './routes/health.ts';
import { jobRoutes } from './routes/jobs.ts';
import { regionRoutes } from './routes/regions.ts';
import { searchRoutes } from './routes/search.ts';
import { surfaceRoutes } from './routes/surfaces.ts';

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

  const authenticate = createAuthenticate({ sql: deps.db.system, pepper: deps.apiKeyPepper, clock: deps.clock });
  const routes = [...searchRoutes(deps), ...jobRoutes(deps), ...surfaceRoutes(deps), ...regionRoutes(), ...healthRoutes(deps)];
  for (const [path, sharers] of Map.groupBy(routes, (route) => route.path)) mount(app, path, sharers, routes, authenticate);

  app.use(() => {
    throw new ServiceError('NOT_FOUND');
  });
  app.use(answerErrors(deps));
  return app;
}

function mount(app: Express, path: string, sharers: readonly Route[], all: readonly Route[], authenticate: Authenticate): void {
  const place = app.route(path);
  for (const route of sharers) {
    if (route.access === 'public') {
      place[route.method]((request, response) => route.handle({ request, response, body: undefined }));
      continue;
    }
    const before = [
      requireCaller(authenticate, route.access, all),
      ...(route.bodyLimitBytes === undefined ? [] : readJson(route.bodyLimitBytes)),
    ];
    place[route.method](...before, (request, response) =>
      route.handle({ request, response, body: response.locals['body'] }, callerOf(response.locals)),
    );
  }
  const allowed = allowedMethods(sharers.map(({ method }) => method));
  place.all(() => {
    throw new ServiceError('METHOD_NOT_ALLOWED', `This path takes ${allowed}.`, { headers: { Allow: allowed } });
  });
}

function allowedMethods(methods: readonly Method[]): string {
  return methods.flatMap((method) => (method === 'get' ? ['GET', 'HEAD'] : [method.toUpperCase()])).join(', ');
}

function callerOf(locals: Record<string, unknown>): Caller {
  const caller = locals['caller'];
  if (!isCaller(caller)) throw new Error('a route with a scope runs after authentication');
  return caller;
}

function isCaller(value: unknown): value is Caller {
  return typeof value === 'object' && value !== null && 'accountId' in value && 'scopes' in value;
}
