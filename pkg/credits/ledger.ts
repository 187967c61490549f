import { query, type Reader, type Sql } from '../postgres/index.ts';

/** What every new account starts with (spec 1). */
export const STARTING_CREDITS = 500;

/** Adds credits: a ledger entry and the balance in step. Call it inside a transaction. */
export async function grant(sql: Sql, accountId: string, amount: number): Promise<void> {
  const rows = await query<{ id: string }>(
    sql,
    'UPDATE accounts SET balance = balance + :amount WHERE id = :accountId RETURNING id',
    { accountId, amount },
  );
  if (rows.length === 0) throw new Error(`no account is named ${accountId}`);
  await query(sql, `INSERT INTO ledger_entries (account_id, kind, amount) VALUES (:accountId, 'grant', :amount)`, {
    accountId,
    amount,
  });
}

export type Ceilings = {
  /** Waiting captures, or null where the gate does not apply. */
  queued: number;
  syncInFlight: number;
};

export type Reservation = { credits: number; captures: number; synchronous: boolean; ceilings: Ceilings };

export type AccountLoad = { balance: number; held: number; queued: number; running: number; syncInFlight: number };

const LOAD = `balance, held, queued, running, sync_in_flight AS "syncInFlight"`;

/**
 * The statement that holds credits and takes room in the gates, all or nothing, and returns the account's load after
 * it; no row when there is too little of something. It stands in the `WITH` of the inserts that it is for, and needs
 * the binding `accountId` there: two callers that spend the last credits at once meet at the row's lock, and the second
 * sees what the first left. The gates are independent (spec 8): a full queue holds back what is asynchronous only, as
 * what somebody waits for goes before it. A synchronous search wider than the ceiling is let in when nothing else is in flight, as it
 * could never run otherwise.
 */
export function reserve({ credits, captures, synchronous, ceilings }: Reservation): {
  sql: string;
  bindings: Record<string, number>;
} {
  return {
    sql: `UPDATE accounts
     SET held = held + :credits, queued = queued + :captures, sync_in_flight = sync_in_flight + :sync
     WHERE id = :accountId AND balance - held >= :credits AND (:sync > 0 OR queued + :captures <= :maxQueued)
       AND (:sync = 0 OR sync_in_flight = 0 OR sync_in_flight + :sync <= :maxSync)
     RETURNING ${LOAD}`,
    bindings: {
      credits,
      captures,
      sync: synchronous ? captures : 0,
      maxQueued: ceilings.queued,
      maxSync: ceilings.syncInFlight,
    },
  };
}

export type Shortage = 'credits' | 'concurrency' | 'queue';

/** What an account that stands at `load` has too little of; null when the reservation would pass. */
export function findShortage(load: AccountLoad, wanted: Reservation): Shortage | null {
  const { credits, captures, synchronous, ceilings } = wanted;
  if (load.balance - load.held < credits) return 'credits';
  if (!synchronous && load.queued + captures > ceilings.queued) return 'queue';
  const fits = load.syncInFlight === 0 || load.syncInFlight + captures <= ceilings.syncInFlight;
  return synchronous && !fits ? 'concurrency' : null;
}

/** How an account stands; an account that does not exist stands at nothing. */
export async function readLoad(sql: Reader, accountId: string): Promise<AccountLoad> {
  const [load] = await query<AccountLoad>(sql, `SELECT ${LOAD} FROM accounts WHERE id = :accountId`, { accountId });
  return load ?? { balance: 0, held: 0, queued: 0, running: 0, syncInFlight: 0 };
}

export type Settlement = {
  accountId: string;
  /** Credits no longer held, whether charged or given back. */
  released: number;
  charges: readonly { captureId: string; amount: number }[];
  leftQueue: number;
  stoppedRunning: number;
  leftSync: number;
};

/**
 * Where credits are charged: gives the holds of ended captures back and takes what succeeded. Exactly once, because
 * the caller ended those captures in the same transaction, and the ledger takes one charge for a capture.
 */
export async function settle(sql: Sql, settlement: Settlement): Promise<void> {
  const { accountId, charges } = settlement;
  const charged = charges.reduce((sum, { amount }) => sum + amount, 0);
  await query(
    sql,
    `UPDATE accounts
     SET held = held - :released, balance = balance - :charged, queued = queued - :leftQueue,
         running = running - :stoppedRunning, sync_in_flight = sync_in_flight - :leftSync
     WHERE id = :accountId`,
    {
      accountId,
      charged,
      released: settlement.released,
      leftQueue: settlement.leftQueue,
      stoppedRunning: settlement.stoppedRunning,
      leftSync: settlement.leftSync,
    },
  );
  if (charges.length === 0) return;
  await query(
    sql,
    `INSERT INTO ledger_entries (account_id, kind, amount, capture_id)
     SELECT :accountId, 'charge', -c.amount, c."captureId"
     FROM jsonb_to_recordset(CAST(:charges AS jsonb)) AS c("captureId" text, amount bigint)`,
    { accountId, charges: JSON.stringify(charges) },
  );
}
