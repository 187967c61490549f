import type { Request, Response } from 'express';
import { findPlan, type Caller } from '../accounts/index.ts';
import { invalid, parseOwnerQuery } from '../contract/index.ts';
import type { Sql } from '../postgres/index.ts';

/** Whose rows a request reads and writes. */
export type Owner = {
  accountId: string;
  /** True when an internal key named it (spec 4.13). */
  override: boolean;
  /** The owner's own plan; the caller's where the owner is unknown. */
  plan: string;
};

/** What is no id is never echoed: a header can't hold every character that a query can. */
const CAN_BE_AN_ID = /^[\w-]{1,100}$/;

/**
 * The owner that a request acts for: the caller itself, or for an internal key the one it names by `?owner=`, else by
 * `X-Service-On-Behalf-Of`. A restricted key's override is ignored. Naming an unknown owner reads as nothing there; on
 * a write it is `VALIDATION_FAILED`, and so is everywhere what can be no account's id.
 */
export async function resolveOwner(sql: Sql, caller: Caller, request: Request): Promise<Owner> {
  const self: Owner = { accountId: caller.accountId, override: false, plan: caller.plan };
  if (caller.mode !== 'internal') return self;
  const named = parseOwnerQuery(request.query) ?? nonEmpty(request.get('x-service-on-behalf-of'));
  if (named === null) return self;
  if (!CAN_BE_AN_ID.test(named)) throw invalid([{ path: 'owner', message: 'owner must be the id of an account' }]);
  const plan = await findPlan(sql, named);
  const writes = request.method !== 'GET' && request.method !== 'HEAD';
  if (writes && plan === null) {
    throw invalid([{ path: 'owner', message: `owner: no account is named ${JSON.stringify(named)}` }]);
  }
  return { accountId: named, override: true, plan: plan ?? caller.plan };
}

function nonEmpty(header: string | undefined): string | null {
  return header === undefined || header === '' ? null : header;
}

/** Sends a JSON object; an override that applied is echoed in it, as it is in a header of every response. */
export function sendJson(response: Response, owner: Owner, body: object): void {
  response.json(owner.override ? { ...body, owner: owner.accountId } : body);
}
