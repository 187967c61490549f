import pg from 'pg';
import { ServiceError } from '../contract/index.ts';
import type { AccountLoad } from '../credits/index.ts';
import type { Accepted, Acceptor, NewSearch, Verdict } from './accept.ts';

type AcceptAll = (
  acceptor: Acceptor,
  searches: readonly NewSearch[],
) => Promise<{ verdicts: Verdict[]; load: AccountLoad }>;

export type AcceptOne = (acceptor: Acceptor, search: NewSearch) => Promise<{ accepted: Accepted; load: AccountLoad }>;

type Waiting = {
  search: NewSearch;
  resolve: (outcome: ReturnType<AcceptOne>) => void;
  reject: (error: unknown) => void;
};

/**
 * Accepts searches that were submitted one by one. Those of one account that come while others of it are being accepted
 * go together in the next call of `acceptAll`, which is one transaction: they would only wait for each other at the
 * account's row. Who comes alone waits for nothing, and nobody waits for more than the call under way and its own.
 *
 * Each search keeps a verdict of its own. What refuses a group (too few credits for all, a value that the database
 * won't store) has written nothing; then each of it is tried alone. `load` is how the account stands after the group.
 */
export function gatherSubmits(acceptAll: AcceptAll): AcceptOne {
  // An account's entry is there while a call for it is under way, and holds those who go next.
  const next = new Map<string, Waiting[]>();

  const acceptAlone: AcceptOne = async (acceptor, search) => {
    const { verdicts, load } = await acceptAll(acceptor, [search]);
    return readVerdict(verdicts[0], load);
  };

  async function acceptGroup(acceptor: Acceptor, group: readonly Waiting[]): Promise<void> {
    try {
      const searches = group.map(({ search }) => search);
      const { verdicts, load } = await acceptAll(acceptor, searches);
      for (const [index, { resolve }] of group.entries()) resolve(readVerdict(verdicts[index], load));
    } catch (error) {
      if (group.length > 1 && isRefusal(error))
        await Promise.all(group.map((waiting) => acceptGroup(acceptor, [waiting])));
      else for (const { reject } of group) reject(error);
    }
  }

  async function acceptInTurn(name: string, acceptor: Acceptor, first: Waiting): Promise<void> {
    next.set(name, []);
    for (let group = [first]; group.length > 0; group = next.get(name)?.splice(0) ?? [])
      await acceptGroup(acceptor, group);
    next.delete(name);
  }

  return (acceptor, search) => {
    if (!mayShare(search)) return acceptAlone(acceptor, search);
    const name = JSON.stringify(acceptor);
    return new Promise((resolve, reject) => {
      const waiting: Waiting = { search, resolve, reject };
      const others = next.get(name);
      if (others === undefined) void acceptInTurn(name, acceptor, waiting);
      else others.push(waiting);
    });
  };
}

/**
 * An idempotency key may have to wait for another transaction that holds it, and who shares its own would wait too. A
 * synchronous submit is measured against a ceiling that looks at one submit at a time.
 */
function mayShare({ idempotency, method }: NewSearch): boolean {
  return idempotency === null && method !== 'sync';
}

/** Of SQLSTATE: a value, or a row, that can't be stored. */
const REFUSED = ['22', '23'];

/** True when nothing was written, and one search alone may be the reason. */
function isRefusal(error: unknown): boolean {
  if (!(error instanceof ServiceError)) return false;
  if (error.code !== 'SUBMISSION_FAILED') return true;
  return error.cause instanceof pg.DatabaseError && REFUSED.includes((error.cause.code ?? '').slice(0, 2));
}

function readVerdict(verdict: Verdict | undefined, load: AccountLoad): ReturnType<AcceptOne> {
  if (verdict === undefined) return Promise.reject(new Error('every search has a verdict'));
  if ('rejected' in verdict) return Promise.reject(verdict.rejected);
  return Promise.resolve({ accepted: verdict.accepted, load });
}
