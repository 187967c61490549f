import { startTestServers } from '../support/servers.ts';
import { benchCapture } from './capture.ts';
import { benchHistory } from './history.ts';
import { benchOperator } from './operator.ts';
import { benchOverhead } from './overhead.ts';
import { benchSubmit } from './submit.ts';
import { printTable } from './table.ts';
import { benchWatches } from './watches.ts';
import { benchWebhooks } from './webhooks.ts';

const only = process.argv[2];
const servers = await startTestServers();
process.env['TEST_DATABASE_URL'] = servers.postgres.url;
process.env['TEST_REDIS_URL'] = servers.redis.url;
process.env['TEST_REDIS_PROGRAM'] = servers.redisProgram;
try {
  if (only === undefined || only === 'capture') printTable(await benchCapture());
  if (only === undefined || only === 'overhead') printTable(await benchOverhead());
  if (only === undefined || only === 'submit') printTable(await benchSubmit());
  if (only === undefined || only === 'history') printTable(await benchHistory());
  if (only === undefined || only === 'watches') printTable(await benchWatches());
  if (only === undefined || only === 'webhooks') printTable(await benchWebhooks());
  if (only === undefined || only === 'operator') printTable(await benchOperator());
} finally {
  await servers.stop();
}
process.exit(0);
