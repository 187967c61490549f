import { createHmac } from 'node:crypto';
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { portOf, startListening } from '../../pkg/telemetry/index.ts';
import { until } from '../support/poll.ts';
import { startService, type TestService } from '../support/service.ts';

type Received = { headers: IncomingHttpHeaders; raw: string };

let receiver: Server;
let service: TestService;
let url: string;
const received: Received[] = [];

beforeAll(async () => {
  receiver = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', () => {
      received.push({ headers: request.headers, raw: Buffer.concat(parts).toString('utf8') });
      // The first attempt of each run fails, so that a second one is seen.
      response.writeHead(received.length === 1 ? 500 : 200).end();
    });
  });
  await startListening(receiver, '127.0.0.1', 0);
  url = `http://127.0.0.1:${portOf(receiver)}/hook`;
  service = await startService({ env: { WEBHOOK_EXTRA_DESTINATIONS: `127.0.0.1:${portOf(receiver)}` } });
}, 60_000);
afterAll(async () => {
  await service.close();
  receiver.close();
});

it('delivers the terminal envelope of a child, signed, with the same bytes on each attempt', async () => {
  const accepted = await service.call('POST', '/v1/search', {
    query: 'bicycles',
    surfaces: ['engine_news'],
    webhook: { url, secret: 'whsec_of_the_test' },
  });
  expect(accepted.status).toBe(202);
  await until(() => received.length >= 2, { timeoutMs: 40_000, what: 'the second attempt arrives' });

  const [first, second] = received;
  expect(second?.raw).toBe(first?.raw);
  const timestamp = String(second?.headers['x-service-timestamp']);
  const expected = createHmac('sha256', 'whsec_of_the_test').update(`${timestamp}.${second?.raw}`).digest('hex');
  expect(second?.headers['x-service-signature']).toBe(expected);

  const payload: unknown = JSON.parse(second?.raw ?? '');
  const child = await service.call('GET', `/v1/jobs/${accepted.body.jobId}.engine_news.GLOBAL`);
  expect(payload).toMatchObject({
    type: 'job.completed',
    id: expect.stringMatching(/^evt_/),
    result: child.body,
    credits: child.body.credits,
  });
}, 90_000);

it('refuses a search whose account has no signing secret and names none, and holds nothing', async () => {
  const refused = await service.call('POST', '/v1/search', { query: 'q', surfaces: ['engine_news'], webhook: { url } });
  expect(refused).toMatchObject({ status: 503, body: { code: 'WEBHOOK_SECRET_UNAVAILABLE' } });
  const status = await service.call('GET', '/v1/async/status');
  expect(status.body).toMatchObject({ queue: { queued: 0 } });
});
