import { hash } from 'node:crypto';
import knex, { type Knex } from 'knex';
import pg from 'pg';

/** Where SQL is sent: a pool, or the transaction that is open. Inside a transaction only ever pass the transaction. */
export type Sql = Knex;

/** Where a read is sent: anything above, or one connection that shows only one account's rows. */
export type Reader = Sql | { readRows<Row>(text: string, bindings: Record<string, Binding>): Promise<Row[]> };

export type Database = {
  /** Sees every tenant: lanes, dispatcher, migrations, the command line, and the look-up of a key. */
  system: Sql;
  /**
   * One transaction that sees only what belongs to the account: row-level security stands behind the owner that
   * every query names as well.
   */
  asTenant<T>(accountId: string, work: (sql: Sql) => Promise<T>): Promise<T>;
  /**
   * Reads under the same row-level security as `asTenant`, in fewer round trips: no transaction, so the statements do
   * not share a snapshot, and nothing may be written. The reader works until `work` has ended, not longer.
   */
  readAsTenant<T>(accountId: string, work: (sql: Reader) => Promise<T>): Promise<T>;
  /**
   * As `readAsTenant`, for a write that is one statement: that is its own transaction, so it holds its locks for no
   * round trip longer than it runs. It must find its rows by key, as it is planned once, whatever it is bound to.
   */
  writeAsTenant<T>(accountId: string, work: (sql: Reader) => Promise<T>): Promise<T>;
  /** One transaction of the system. */
  inTransaction<T>(work: (sql: Sql) => Promise<T>): Promise<T>;
  /**
   * The same for many small statements: those that `work` asks for in one moment travel together, and none waits for
   * the answer of the one before it. Each must find its rows by key, as for `writeAsTenant`.
   */
  inPipeline<T>(work: (sql: Reader) => Promise<T>): Promise<T>;
  close(): Promise<void>;
};

export type DatabaseOptions = { url: string; poolSize: number; applicationName: string };

const PLANNING = {
  // Named statements are parsed once, but planned for the values they come with: the plan that Postgres would settle on
  // after five runs may fit an account of ten rows and not one of a million.
  eachTime: 'force_custom_plan',
  // To plan the statement that accepts a search takes Postgres longer than to run it, and comes to the same each time.
  once: 'force_generic_plan',
} as const;

/** Settings of each connection. The timeouts keep one stuck query from holding a connection, and one stuck transaction from holding locks. */
const SESSION = {
  statement_timeout: 20_000,
  lock_timeout: 10_000,
  idle_in_transaction_session_timeout: 20_000,
  plan_cache_mode: PLANNING.eachTime,
};

export function openDatabase(options: DatabaseOptions): Database {
  const system = openPool(options, []);
  // The role is set once for each connection; it can read no row until an account is named, and both ways into this
  // pool name one before anything else: what a connection last served is never what it serves next.
  const tenant = openPool(options, ['SET ROLE scs_tenant']);
  return {
    system,
    asTenant: (accountId, work) =>
      tenant.transaction(async (trx) => {
        await trx.raw(`SELECT set_config('app.account', ?, true), set_config('plan_cache_mode', ?, true)`, [
          accountId,
          PLANNING.eachTime,
        ]);
        return work(trx);
      }),
    readAsTenant: (accountId, work) => runOnOneConnection(tenant, accountId, 'eachTime', work),
    writeAsTenant: (accountId, work) => runOnOneConnection(tenant, accountId, 'once', work),
    inTransaction: (work) => system.transaction(work),
    inPipeline: (work) => runInPipeline(system, work),
    close: async () => {
      await Promise.all([system.destroy(), tenant.destroy()]);
    },
  };
}

async function runOnOneConnection<T>(
  tenant: Knex,
  accountId: string,
  planned: keyof typeof PLANNING,
  work: (sql: Reader) => Promise<T>,
): Promise<T> {
  return onOneConnection(tenant, (send) => {
    const named = send(
      `SELECT set_config('app.account', :accountId, false), set_config('plan_cache_mode', :planning, false)`,
      { accountId, planning: PLANNING[planned] },
    );
    // What was sent behind a name that could not be set ran as whoever had the connection before: it saw nothing, as
    // each statement names its owner too, but that is no answer.
    return readAfter(named, send, work);
  });
}

async function runInPipeline<T>(system: Knex, work: (sql: Reader) => Promise<T>): Promise<T> {
  return onOneConnection(system, async (send) => {
    const begun = Promise.all([
      send('BEGIN', {}),
      send(`SELECT set_config('plan_cache_mode', :planning, true)`, { planning: PLANNING.once }),
    ]);
    try {
      const result = await readAfter(begun, send, work);
      const { command } = await send('COMMIT', {});
      // Postgres answers so, and not with an error, when a statement failed that `work` did not mind.
      if (command !== 'COMMIT') throw new Error('a statement of the transaction failed, so it was rolled back');
      return result;
    } catch (error) {
      // Where the connection is lost, so is the transaction.
      await Promise.allSettled([send('ROLLBACK', {})]);
      throw error;
    }
  });
}

type Send = <Row extends pg.QueryResultRow>(
  text: string,
  bindings: Record<string, Binding>,
) => Promise<pg.QueryResult<Row>>;

/** Lets `use` send statements one behind the other. They are not awaited in between, but before it resolves. */
async function onOneConnection<T>(sql: Knex, use: (send: Send) => Promise<T>): Promise<T> {
  const pool: unknown = sql.client;
  if (!(pool instanceof knex.Client)) throw new Error('knex has no client to take a connection from');
  const connection: unknown = await pool.acquireConnection();
  if (!(connection instanceof pg.Client)) throw new Error('the pool gave something that is no connection');
  let sent: Promise<unknown> = Promise.resolve();
  try {
    return await use(<Row extends pg.QueryResultRow>(text: string, bindings: Record<string, Binding>) => {
      // What is sent in one moment leaves in one packet, once there is nothing left to do but wait.
      const { stream } = connection.connection;
      stream.cork();
      process.nextTick(() => stream.uncork());
      const result = runNamed<Row>(sql, connection, text, bindings);
      sent = Promise.allSettled([sent, result]);
      return result;
    });
  } finally {
    // A statement that `use` left behind would otherwise run in the name of who has the connection next.
    await sent;
    await pool.releaseConnection(connection);
  }
}

/** Runs `work` with a reader whose rows count only if what was sent `first` succeeded; it works until `work` has ended. */
async function readAfter<T>(first: Promise<unknown>, send: Send, work: (sql: Reader) => Promise<T>): Promise<T> {
  let ended = false;
  const reader: Reader = {
    readRows: async <Row>(text: string, bindings: Record<string, Binding>): Promise<Row[]> => {
      if (ended) throw new Error('a reader was used after its work had ended');
      const [{ rows }] = await Promise.all([send<Row & pg.QueryResultRow>(text, bindings), first]);
      return rows;
    },
  };
  try {
    return await work(reader);
  } finally {
    ended = true;
  }
}

async function runNamed<Row extends pg.QueryResultRow>(
  knexOfPool: Knex,
  connection: pg.Client,
  text: string,
  bindings: Record<string, Binding>,
): Promise<pg.QueryResult<Row>> {
  const { sql, bindings: values } = knexOfPool.raw(text, bindings).toSQL().toNative();
  return connection.query<Row>({ name: nameStatement(sql), text: sql, values: [...values] });
}

/** Under a name a connection parses a statement once. */
function nameStatement(sql: string): string {
  return hash('sha1', sql, 'base64url');
}

function openPool(options: DatabaseOptions, onConnect: string[]): Knex {
  const statements = [...Object.entries(SESSION).map(([name, value]) => `SET ${name} = ${value}`), ...onConnect];
  const connection = {
    connectionString: options.url,
    application_name: options.applicationName,
    connectionTimeoutMillis: 5_000,
    keepAlive: true,
    // A statement does not wait for the answer of the one before it.
    pipeline: true,
  };
  return knex({
    client: 'pg',
    connection,
    // min 0: an idle connection kept for its own sake is the one that a firewall has dropped meanwhile.
    pool: {
      min: 0,
      max: options.poolSize,
      // A burst waits its turn: a thousand submits at once are through in seconds, and none need fail.
      acquireTimeoutMillis: 15_000,
      idleTimeoutMillis: 30_000,
      propagateCreateError: true,
      afterCreate: (connection: pg.Client, done: (error: Error | undefined, connection: pg.Client) => void) => {
        // 64-bit integers as numbers: ours are counts and credits, far below 2^53.
        connection.setTypeParser(pg.types.builtins.INT8, Number);
        connection.query(statements.join('; ')).then(
          () => done(undefined, connection),
          (error: unknown) => done(error instanceof Error ? error : new Error(String(error)), connection),
        );
      },
    },
  });
}

/** Runs one statement with named bindings (`:name`) and returns its rows. The caller states the shape it selected. */
export async function query<Row>(sql: Reader, text: string, bindings: Record<string, Binding> = {}): Promise<Row[]> {
  if ('readRows' in sql) return sql.readRows(text, bindings);
  const result = await sql.raw<{ rows: Row[] }>(text, bindings);
  return result.rows;
}

export type Binding = string | number | boolean | null | Date | Buffer | readonly string[] | readonly number[];
