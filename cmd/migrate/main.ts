import { parseArgs } from 'node:util';
import { loadSettings } from '../../pkg/config/index.ts';
import { checkSchema, migrate, openDatabase } from '../../pkg/postgres/index.ts';
import { pause } from '../../pkg/runtime/index.ts';
import { createLog } from '../../pkg/telemetry/index.ts';

const RETRY_MS = 1_000;

// A cluster starts everything at once, so both ways can wait for a while: for a database that does not answer yet, and
// with --check, which changes nothing, for the schema that another process is bringing.
const { values } = parseArgs({
  options: { check: { type: 'boolean', default: false }, 'wait-seconds': { type: 'string', default: '0' } },
});
const waitMs = Number(values['wait-seconds']) * 1_000;
if (!Number.isInteger(waitMs) || waitMs < 0) throw new Error('--wait-seconds must be a whole number of seconds');

const settings = loadSettings(process.env, ['databaseUrl', 'logLevel']);
const log = createLog('migrate', settings.logLevel);
if (values.check) {
  await retry(check, () => true);
  log.info('The schema is what this version needs');
} else {
  const { applied } = await retry(() => migrate(settings.databaseUrl), isAway);
  log.info({ applied }, applied.length === 0 ? 'The schema is up to date' : 'Brought the schema up');
}

async function check(): Promise<void> {
  const db = openDatabase({ url: settings.databaseUrl, poolSize: 1, applicationName: 'scs-migrate' });
  try {
    await checkSchema(db.system);
  } finally {
    await db.close();
  }
}

/** Repeats `work` while its error is one that may pass and the time to wait is not over. */
async function retry<T>(work: () => Promise<T>, mayPass: (error: unknown) => boolean): Promise<T> {
  const untilMs = Date.now() + waitMs;
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (!mayPass(error) || Date.now() + RETRY_MS > untilMs) throw error;
      log.info({ reason: error instanceof Error ? error.message : String(error) }, 'Waiting for the database');
      await pause(RETRY_MS);
    }
  }
}

/** Nobody answers, or Postgres is starting or stopping: what is wrong with a migration itself does not pass. */
function isAway(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  return /^(ECONNREFUSED|ECONNRESET|ENOTFOUND|EAI_AGAIN|ETIMEDOUT|EHOSTUNREACH|57P0[123])$/.test(code);
}
