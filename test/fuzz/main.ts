import { randomBytes } from 'node:crypto';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createKeyring } from '../../pkg/config/index.ts';
import { createAnnouncer } from '../../pkg/queue/index.ts';
import { startLoop, systemClock, type Loop } from '../../pkg/runtime/index.ts';
import { announceDue } from '../../pkg/searches/index.ts';
import { createLog } from '../../pkg/telemetry/index.ts';
import { createSecret } from '../../pkg/webhooks/index.ts';
import { openAccount, openKey } from '../support/accounts.ts';
import { installPython } from '../support/python.ts';
import { startTestServers } from '../support/servers.ts';

const CONFIG = fileURLToPath(new URL('schemathesis.toml', import.meta.url));

/**
 * Schemathesis against the running service, from the OpenAPI document that it serves: every operation, all checks,
 * the documented examples, edge cases, random bodies and sequences of calls. Arguments are passed on to it.
 */
const schemathesis = await installPython({ name: 'schemathesis', version: '4.32.5' });
const servers = await startTestServers();
process.env['TEST_DATABASE_URL'] = servers.postgres.url;
process.env['TEST_REDIS_URL'] = servers.redis.url;
process.env['TEST_REDIS_PROGRAM'] = servers.redisProgram;
let status: unknown = 1;
try {
  const { startService, TEST_KEYRING } = await import('../support/service.ts');
  const { findEmptyRedis } = await import('../support/redis.ts');
  const redisUrl = await findEmptyRedis();
  const service = await startService({ redisUrl });
  const log = createLog('fuzz', 'warn');
  const announcer = createAnnouncer({ url: redisUrl, log });
  let announcing: Loop | undefined;
  try {
    // Accepted webhooks go to made-up hosts, which nobody is to call: of what the dispatcher does, only this is done.
    await service.dispatcher.stop();
    announcing = startLoop({ name: 'announcing', idleMs: 1_000, turnTimeoutMs: 30_000, log }, async () =>
      (await announceDue({ db: service.database.db, announcer }, 5)) > 0 ? 'more' : 'idle',
    );
    const accountId = await openAccount(service.database.db, { credits: 100_000_000, plan: 'internal' });
    await service.database.db.inTransaction((sql) =>
      createSecret(sql, { accountId, keyring: createKeyring(TEST_KEYRING), clock: systemClock, randomBytes }),
    );
    const { key } = await openKey(service.database.db, accountId);
    const tester = spawn(
      join(schemathesis, 'st'),
      ['--config-file', CONFIG, 'run', `${service.api.url}/openapi.json`, ...process.argv.slice(2)],
      { stdio: 'inherit', env: { ...process.env, FUZZ_BASE_URL: service.api.url, FUZZ_KEY: key } },
    );
    status = (await once(tester, 'exit'))[0];
  } finally {
    await announcing?.stop();
    await announcer.close();
    await service.close();
  }
} finally {
  await servers.stop();
}
process.exit(status === 0 ? 0 : 1);
