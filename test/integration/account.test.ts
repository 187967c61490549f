import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { insertAccount } from '../../pkg/accounts/index.ts';
import { systemClock } from '../../pkg/runtime/index.ts';
import { findBrokenInvariants } from '../../pkg/searches/index.ts';
import { openAccount, openKey } from '../support/accounts.ts';
import { callApi, startService, type TestService } from '../support/service.ts';

let service: TestService;

beforeAll(async () => {
  service = await startService({ credits: 100 });
}, 60_000);
afterAll(async () => {
  expect(await findBrokenInvariants(service.database.db.system)).toEqual([]);
  await service.close();
});

it('cancels what has not ended, keeps what has, and does not know the job of another account', async () => {
  const accepted = await service.call('POST', '/v1/search?mode=async', {
    query: 'bicycles [[stall]]',
    surfaces: ['assistant_one', 'assistant_three'],
  });
  const path = `/v1/jobs/${accepted.body.jobId}/cancel`;
  const other = await openKey(service.database.db, await openAccount(service.database.db));
  expect(await callApi(service.api.url, other.key, 'POST', path)).toMatchObject({
    status: 404,
    body: { code: 'JOB_NOT_FOUND' },
  });
  const canceled = await service.call('POST', path);
  expect(canceled).toMatchObject({ status: 200, body: { job: { id: accepted.body.jobId, status: 'canceled' } } });
  expect(await service.call('POST', path)).toMatchObject({ status: 200, body: { job: { status: 'canceled' } } });
  const childCancel = await service.call('POST', `/v1/jobs/${accepted.body.children.map(String)[0]}/cancel`);
  expect(childCancel).toMatchObject({ status: 404, body: { code: 'JOB_NOT_FOUND' } });
});

it('tells usage by surface, region and method, and what is left to spend', async () => {
  const sync = await service.call('POST', '/v1/search', {
    query: 'bicycles',
    surfaces: ['engine_news'],
    country: 'DE',
  });
  expect(sync).toMatchObject({ status: 200, body: { credits: { creditsCharged: 3 } } });
  const { status, text } = await service.call('GET', '/v1/usage');
  expect(status).toBe(200);
  const usage: unknown = JSON.parse(text);
  expect(usage).toMatchObject({
    plan: { id: 'pro', limits: { submitsPerMinute: 600 } },
    balance: { total: 97, reserved: 0, available: 97 },
  });
  expect(text).toContain('{"surface":"engine_news","region":"de","method":"sync","callCount":1,"creditsCharged":3}');
}, 30_000);

it('tells an internal key the plan, the usage and the balance of the owner that it names', async () => {
  const staff = await openAccount(service.database.db, { plan: 'internal', credits: 0 });
  const { key } = await openKey(service.database.db, staff, 'internal');
  const { text, headers } = await callApi(service.api.url, key, 'GET', `/v1/usage?owner=${service.accountId}`);
  expect(JSON.parse(text)).toMatchObject({ owner: service.accountId, plan: { id: 'pro' }, balance: { total: 97 } });
  expect(headers.get('x-service-owner')).toBe(service.accountId);
});

it('tells the headroom of each gate', async () => {
  const { body } = await service.call('GET', '/v1/async/status');
  expect(body).toMatchObject({
    rate: { limit: 600, remaining: expect.any(Number), resetAt: expect.any(String) },
    concurrency: { limit: 20, running: 0 },
    queue: { limit: 10_000, queued: 0, running: 0 },
  });
});

it('has an address of its own, in whatever case it is written', async () => {
  const insert = (email: string) =>
    insertAccount(service.database.db.system, systemClock, { name: 'Acme', email, plan: 'free' });
  await insert('team@acme.example');
  await expect(insert('Team@ACME.example')).rejects.toThrow('Team@ACME.example has an account already');
});
