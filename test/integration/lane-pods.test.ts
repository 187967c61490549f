import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { cordonPods, readDemand, uncordonPods } from '../../pkg/lanes/index.ts';
import { query } from '../../pkg/postgres/index.ts';
import { until } from '../support/poll.ts';
import { startService, type TestService } from '../support/service.ts';

const WAIT = { timeoutMs: 40_000 };
const POD = 'lanes/pod-1';

describe('a lane that runs as a pod', () => {
  let service: TestService;
  beforeAll(async () => {
    service = await startService({
      env: { POD_NAME: 'pod-1', POD_NAMESPACE: 'lanes', ANNOUNCE_AGAIN_SECONDS: '1' },
    });
  });
  afterAll(() => service.close());

  const sql = () => service.database.db.system;
  const readReport = async (): Promise<{ busy: number; drained: boolean } | undefined> => {
    const [row] = await query<{ busy: number; drained: boolean }>(
      sql(),
      'SELECT busy, drained FROM lane_pods WHERE pod = :pod',
      { pod: POD },
    );
    return row;
  };
  const submit = async (words: string): Promise<string> => {
    const body = { query: words, surfaces: ['engine_news'] };
    const answer = await service.call('POST', '/v1/search?mode=async', body);
    expect(answer.status).toBe(202);
    return answer.body.jobId;
  };
  const stateOf = async (jobId: string): Promise<string> =>
    (await service.call('GET', `/v1/jobs/${jobId}`)).body.job.status;

  it('says how many captures it runs', async () => {
    const jobId = await submit('bicycles [[slow:6000]]');
    await until(async () => (await readReport())?.busy === 1, { ...WAIT, what: 'the capture is reported' });
    expect((await readDemand(sql(), 60)).get('engine_news')).toEqual({ waiting: 0, running: 1 });
    await until(async () => (await stateOf(jobId)) === 'completed', { ...WAIT, what: 'the search ends' });
    await until(async () => (await readReport())?.busy === 0, { ...WAIT, what: 'the pod is idle' });
  });

  it('that is told to take no more ends what it has, takes nothing, and goes on when it is told to', async () => {
    const running = await submit('bicycles [[slow:6000]]');
    await until(async () => (await readReport())?.busy === 1, { ...WAIT, what: 'the capture is reported' });
    expect(await cordonPods(sql(), [POD])).toEqual(new Set());
    await until(async () => (await readReport())?.drained, { ...WAIT, what: 'the pod is drained' });
    expect(await stateOf(running)).toBe('completed');
    const waiting = await submit('scooters');
    // Announced again each second: it had its chances.
    const announcedAgain = async () => (await readDemand(sql(), 60)).get('engine_news')?.waiting === 1;
    const since = Date.now();
    await until(() => Date.now() - since > 4_000 && announcedAgain(), { ...WAIT, what: 'it still waits' });
    expect(await cordonPods(sql(), [POD])).toEqual(new Set([POD]));
    expect(await stateOf(waiting)).toBe('processing');
    await uncordonPods(sql(), [POD]);
    await until(async () => (await stateOf(waiting)) === 'completed', { ...WAIT, what: 'the search ends' });
    expect(await readReport()).toMatchObject({ drained: false });
  });

  it('takes its report with it when it stops', async () => {
    await service.lane.stop();
    expect(await readReport()).toBeUndefined();
  });
});
