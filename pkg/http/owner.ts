import type { Request, Response } from 'express';
import { accountExists, type Caller } from '../accounts/index.ts';
import { invalid, parseOwnerQuery } from '../contract/index.ts';
import type { Sql } from '../postgres/index.ts';

/** Whose rows a request reads and writes. */
export type Owner = { accountId: string; /** True when an internal key named it (spec 4.13). */ override: boolean };

/**
 * The owner that a request acts for: the caller itself, or for an internal key the one it names by `?owner=`, else by
 * `X-Service-On-Behalf-Of`. A restricted key's override is ignored. Naming an unknown owner reads as nothing there; on
 * a write it is `VALIDATION_FAILED`.
 */
export async function resolveOwner(sql: Sql, caller: Caller, request: Request): Promise<Owner> {
  if (caller.mode !== 'internal') return { accountId: caller.accountId, override: false };
  const named = parseOwnerQuery(request.query) ?? nonEmpty(request.get('x-service-on-behalf-of'));
  if (named === null) return { accountId: caller.accountId, override: false };
  const writes = request.method !== 'GET' && request.method !== 'HEAD';
  if (writes && !(await accountExists(sql, named))) {
    throw invalid([{ path: 'owner', message: `owner: no account is named ${JSON.stringify(named)}` }]);
  }
  return { accountId: named, override: true };
}

function nonEmpty(header: string | undefined): string | null {
  return header === undefined || header === '' ? null : header;
}

/** Sends a JSON object; an override that applied is echoed in header and body. */
export function sendJson(response: Response, owner: Owner | null, body: object): void {
  if (owner?.override === true) response.set('X-Service-Owner', owner.accountId);
  response.json(owner?.override === true ? { ...body, owner: owner.accountId } : body);
}
