import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { findBrokenInvariants } from '../../pkg/searches/index.ts';
import type { TestProcess } from '../support/processes.ts';
import { callApi, startService, type TestService } from '../support/service.ts';
import { startSignedS3, type SignedS3 } from '../support/signed-s3.ts';

const WRONG = { S3_SECRET_ACCESS_KEY: 'a-secret-that-was-mistyped' };
const SEARCH = { query: 'bicycles', surfaces: ['engine_news'], include: { html: true } };

let s3: SignedS3;
let service: TestService;

beforeAll(async () => {
  s3 = await startSignedS3();
  service = await startService({
    env: {
      ARTIFACT_STORE: 's3',
      S3_ENDPOINT: s3.url,
      S3_BUCKET: s3.bucket,
      S3_ACCESS_KEY_ID: s3.accessKeyId,
      S3_SECRET_ACCESS_KEY: s3.secretAccessKey,
    },
  });
}, 400_000);
afterAll(async () => {
  expect(await findBrokenInvariants(service.database.db.system)).toEqual([]);
  await service.close();
  await s3.stop();
});

describe('with a wrong secret for S3', () => {
  it('an API says that its store does not work, takes no page for missing, and loses none', async () => {
    const { body } = await service.call('POST', '/v1/search', SEARCH);
    const path = new URL(body.html).pathname;
    const proof = await service.call('GET', path);
    expect(proof.status).toBe(200);

    const mistaken = await service.processes.start('api', WRONG);
    const ask = (asked: string) => callApi(mistaken.url, service.key, 'GET', asked);
    expect(await ask('/v1/health?probe=deep')).toMatchObject({
      status: 503,
      body: { status: 'degraded', bindings: { artifacts: false, edgeCache: true, database: true } },
    });
    expect(await ask(path)).toMatchObject({ status: 500, body: { code: 'INTERNAL_ERROR' } });
    expect(await mistaken.logs()).toMatch(/S3 could not read \w+ in bucket proofs: SignatureDoesNotMatch/);

    expect((await service.call('GET', path)).text).toBe(proof.text);
    expect(await service.call('GET', '/v1/health?probe=deep')).toMatchObject({ status: 200 });
  }, 120_000);

  it('a lane still gives the answer, without an address that would lead to nothing', async () => {
    await service.lane.stop();
    const mistaken: TestProcess = await service.processes.start('lane', WRONG);
    const { status, body } = await service.call('POST', '/v1/search', SEARCH);
    expect({ status, body }).toMatchObject({
      status: 200,
      body: { status: 'completed', credits: { creditsCharged: 3 } },
    });
    expect(body.answer.text).not.toBe('');
    expect(body.html).toBeUndefined();
    expect(await mistaken.logs()).toMatch(/S3 could not store \w+ in bucket proofs: SignatureDoesNotMatch/);
  }, 120_000);
});
