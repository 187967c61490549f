import { parseBatchBody } from '../../contract/index.ts';
import { submitBatch, type BatchVerdict } from '../../searches/index.ts';
import type { ApiDeps, Route } from '../context.ts';
import { showConcurrency, showCredits } from '../middleware/gates.ts';
import { sendJson } from '../owner.ts';
import { submitterOf } from '../submitter.ts';

const BODY_LIMIT_BYTES = 20 * 1024 * 1024;

export function batchRoutes(deps: ApiDeps): Route[] {
  return [
    {
      method: 'post',
      path: '/v1/search/batch',
      access: 'search:write',
      submit: true,
      bodyLimitBytes: BODY_LIMIT_BYTES,
      handle: async ({ response, body, caller, owner }) => {
        const { items } = parseBatchBody(body);
        const submitDeps = { ...deps, lanes: () => deps.laneBook.read() };
        const { verdicts, load } = await submitBatch(submitDeps, submitterOf(deps, caller, owner), items);
        showConcurrency(response, deps.plans.get(caller.plan).syncInFlight, load);
        showCredits(response, caller, 0, load);
        sendJson(response, owner, { items: verdicts.map(describe) });
      },
    },
  ];
}

function describe(verdict: BatchVerdict, index: number): object {
  if ('rejected' in verdict) {
    const { code, message, details } = verdict.rejected;
    return { index, status: 'rejected', code, message, ...(details === undefined ? {} : { details }) };
  }
  const { jobId, children, creditsToCharge, replayed } = verdict.accepted;
  const credits = { creditsToCharge, creditsCharged: 0 };
  return { index, status: 'accepted', jobId, children, credits, ...(replayed ? { replayed: true } : {}) };
}
