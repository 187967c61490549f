import { randomBytes } from 'node:crypto';
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { createKeyring } from '../../pkg/config/index.ts';
import { query } from '../../pkg/postgres/index.ts';
import { systemClock } from '../../pkg/runtime/index.ts';
import { findBrokenInvariants } from '../../pkg/searches/index.ts';
import { portOf, startListening } from '../../pkg/telemetry/index.ts';
import { createSecret, verify } from '../../pkg/webhooks/index.ts';
import { until } from '../support/poll.ts';
import { startService, TEST_KEYRING, type TestService } from '../support/service.ts';

let receiver: Server;
let service: TestService;
const received: { headers: IncomingHttpHeaders; raw: string }[] = [];

beforeAll(async () => {
  receiver = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', () => {
      received.push({ headers: request.headers, raw: Buffer.concat(parts).toString('utf8') });
      response.writeHead(200).end();
    });
  });
  await startListening(receiver, '127.0.0.1', 0);
  service = await startService({ env: { WEBHOOK_EXTRA_DESTINATIONS: `127.0.0.1:${portOf(receiver)}` } });
}, 90_000);
afterAll(async () => {
  expect(await findBrokenInvariants(service.database.db.system)).toEqual([]);
  await service.close();
  receiver.close();
});

it('a watch that was made over REST runs at its tick, is captured, charged and delivered, signed', async () => {
  const { accountId, database } = service;
  const call = (method: string, path: string, body?: unknown) => service.call(method, path, body);
  const keyring = createKeyring(TEST_KEYRING);
  const secret = await createSecret(database.db.system, { accountId, keyring, clock: systemClock, randomBytes });
  const made = await call('POST', '/v1/watches', {
    query: 'bicycles',
    surfaces: ['engine_news', 'engine_search'],
    webhookUrl: `http://127.0.0.1:${portOf(receiver)}/hook`,
    schedule: { every: '15m' },
  });
  expect(made.status).toBe(201);
  const { id } = made.body.watch;
  await query(database.db.system, 'UPDATE watches SET next_run_at = now() WHERE id = :id', { id });

  await until(() => received.length === 2, { timeoutMs: 90_000, what: 'both captures are delivered' });
  const { watch, runs } = (await call('GET', `/v1/watches/${id}`)).body;
  expect(runs).toMatchObject([{ status: 'dispatched', jobId: watch.lastJobId }]);
  const job = await call('GET', `/v1/jobs/${watch.lastJobId}`);
  expect(job.body).toMatchObject({
    job: { status: 'completed' },
    credits: { creditsToCharge: 6, creditsCharged: 6 },
  });
  expect((await call('GET', '/v1/usage')).text).toContain('"method":"watch"');
  for (const { headers, raw } of received) {
    const delivery: unknown = JSON.parse(raw);
    expect(delivery).toMatchObject({ type: 'job.completed', job: { parentId: watch.lastJobId } });
    expect(
      verify({
        timestamp: String(headers['x-service-timestamp']),
        signature: String(headers['x-service-signature']),
        rawBody: raw,
        secrets: [secret.value],
        nowSeconds: Date.now() / 1000,
      }),
    ).toBe(true);
  }
}, 150_000);

it('the dispatcher counts and times runs and attempts', async () => {
  await until(() => readMetrics().then((text) => /scs_webhook_attempts_total{outcome="delivered"} 2/.test(text)), {
    timeoutMs: 30_000,
    what: 'both attempts are counted',
  });
  const text = await readMetrics();
  expect(text).toContain('scs_watch_runs_total{status="dispatched"} 1');
  expect(text).toContain('scs_watch_lateness_seconds_count 1');
  expect(text).toContain('scs_watch_lateness_seconds_bucket{le="30"} 1');
  expect(text).toContain('scs_webhook_attempt_seconds_count{outcome="delivered"} 2');
}, 60_000);

async function readMetrics(): Promise<string> {
  const answer = await fetch(`${service.dispatcher.url}/metrics`, { signal: AbortSignal.timeout(10_000) });
  return answer.text();
}
