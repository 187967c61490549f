import type { Request, RequestHandler, Response } from 'express';
import type { Caller, Plans, Scope } from '../accounts/index.ts';
import type { ArtifactStore } from '../artifacts/index.ts';
import type { LaneBook } from '../lanes/index.ts';
import type { Owner } from './owner.ts';
import type { RateGate } from './rate-gate.ts';
import type { Database } from '../postgres/index.ts';
import type { SubmitDeps, Waiters } from '../searches/index.ts';

/** Everything the routes use, built once by the process. */
export type ApiDeps = Omit<SubmitDeps, 'lanes'> & {
  db: Database;
  laneBook: LaneBook;
  plans: Plans;
  waiters: Waiters;
  artifacts: ArtifactStore;
  rateGate: RateGate;
  apiKeyPepper: string;
  publicBaseUrl: string;
  syncWaitSeconds: number;
};

export type Method = 'get' | 'post' | 'patch' | 'delete';

/** A request that passed the steps before its handler. */
export type Exchange = {
  request: Request;
  response: Response;
  /** The parsed JSON body; undefined where the route takes none. */
  body: unknown;
};

export type Route = { method: Method; path: string } & (
  | { access: 'public'; handle: (exchange: Exchange) => Promise<void> }
  | {
      access: Scope;
      /** What a request without an Authorization header gets; `AUTH_INVALID` unless said otherwise (spec 5.5). */
      missingAuthorization?: 'AUTH_MISSING';
      /** A submit passes the gates, and says in headers how they stand (spec 4.1). */
      submit?: true;
      /** Refuses a path that names nothing, before the body is looked at. */
      checkPath?: (request: Request) => void;
      /** Bytes of JSON the route takes; none where it takes no body. */
      bodyLimitBytes?: number;
      handle: (exchange: Exchange & { caller: Caller; owner: Owner }) => Promise<void>;
    }
);

export type Middleware = RequestHandler;
