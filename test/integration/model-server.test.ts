import { LLMock } from '@copilotkit/aimock';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { CaptureResult } from '../../pkg/capture/index.ts';
import type { Region } from '../../pkg/contract/index.ts';
import { createDrivers, parseLane } from '../../pkg/lanes/index.ts';
import { systemClock } from '../../pkg/runtime/index.ts';
import { createLog } from '../../pkg/telemetry/index.ts';

// A server that others wrote (npm @copilotkit/aimock) speaks the APIs of OpenAI and of a search service.
const server = new LLMock({ port: 0 });
beforeAll(async () => {
  await server.start();
});
afterAll(() => server.stop());
beforeEach(() => {
  server.reset();
});

const APIS = ['chat', 'responses'] as const;
const REGION: Region = { country: 'DE', city: 'Berlin', language: 'de' };

async function capture(spec: object, query: string, { timeoutMs = 20_000 } = {}): Promise<CaptureResult> {
  const lane = parseLane(
    { apiVersion: 'searchcapture.io/v1alpha1', kind: 'CaptureLane', metadata: { name: 'mine' }, spec },
    'the lane',
  );
  const drivers = await createDrivers({
    lanes: [lane],
    browserExecutable: '',
    env: { KEY: 'sk-test' },
    secretsDir: '',
    clock: systemClock,
    log: createLog('test', 'silent'),
  });
  const task = { captureId: 'c', surface: lane.spec.surface, query, region: REGION, wantsProof: false, timeoutMs };
  try {
    return await drivers.of(lane).capture(task, new AbortController().signal);
  } finally {
    await drivers.close();
  }
}

function ask(api: (typeof APIS)[number], query: string, more: { timeoutMs?: number; webSearch?: boolean } = {}) {
  const { webSearch = false, ...rest } = more;
  const model = { endpoint: `${server.url}/v1`, model: 'gpt-4o', api, webSearch, apiKeyEnv: 'KEY' };
  return capture({ surface: 'assistant_two', driver: 'model', model }, query, rest);
}

describe.each(APIS)('a model that speaks the %s API', (api) => {
  const content =
    '# Bikes 🚲\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\nSee [the lab](https://lab.example/x).\n\n```py\nx = 1\n```';

  it.each([1, 7, 1000])('is read whole when it streams %s characters at a time', async (chunkSize) => {
    server.onMessage('bikes', { content, model: 'gpt-4o-2026-01-01' }, { chunkSize });
    const result = await ask(api, 'bikes');
    if (result.outcome !== 'completed') throw new Error(JSON.stringify(result));
    expect(result.answer.text).toBe('Bikes 🚲\n\na\tb\n1\t2\n\nSee the lab.\n\nx = 1');
    expect(result.answer.markdown).toContain('```py\nx = 1\n```');
    expect(result.evidence.sources).toMatchObject([{ url: 'https://lab.example/x', title: 'the lab', cited: true }]);
    expect(result.model).toMatchObject({ providerId: '127.0.0.1', observedLabel: 'gpt-4o-2026-01-01' });
  });

  it('is asked again when it limits the rate', async () => {
    const error = { error: { message: 'slow down', type: 'rate_limit_error' }, status: 429, retryAfter: 1 };
    server.on({ userMessage: 'bikes', sequenceIndex: 0 }, error);
    server.on({ userMessage: 'bikes', sequenceIndex: 1 }, { content: 'Yes.' });
    expect(await ask(api, 'bikes')).toMatchObject({ outcome: 'completed', answer: { text: 'Yes.' } });
    expect(server.getRequests()).toHaveLength(2);
  });

  it.each([
    { what: 'an error', response: { error: { message: 'no' }, status: 500 }, outcome: 'unusable' },
    { what: 'a refused key', response: { error: { message: 'no' }, status: 401 }, outcome: 'blocked' },
    { what: 'the length limit', response: { content: 'Yes, but', finishReason: 'length' }, outcome: 'partial' },
    { what: 'no text', response: { content: '' }, outcome: 'empty' },
  ])('ends $what as $outcome', async ({ response, outcome }) => {
    server.onMessage('bikes', response);
    expect((await ask(api, 'bikes')).outcome).toBe(outcome);
  });

  it('has crashed when its stream breaks', async () => {
    server.onMessage('bikes', { content: 'word '.repeat(200) }, { chunkSize: 5, truncateAfterChunks: 3 });
    expect((await ask(api, 'bikes')).outcome).toBe('crashed');
  });

  it('is partial when its stream is still going at the deadline', async () => {
    server.onMessage('bikes', { content: 'word '.repeat(30) }, { chunkSize: 5, latency: 100 });
    const result = await ask(api, 'bikes', { timeoutMs: 1500 });
    expect(result.outcome).toBe('partial');
    expect(result.outcome === 'partial' ? result.answer.text : '').toMatch(/^word( word)*/);
  });
});

it('is not asked by a lane whose key is not there', async () => {
  const model = { endpoint: `${server.url}/v1`, model: 'gpt-4o', apiKeyEnv: 'NOT_SET' };
  await expect(capture({ surface: 'assistant_two', driver: 'model', model }, 'bikes')).rejects.toThrow(
    'the lane mine needs an API key in the environment variable NOT_SET',
  );
});

describe('a model that searches the web', () => {
  it('names its searches', async () => {
    server.onMessage('bikes', { content: 'Yes.', webSearches: ['best bikes', 'bikes 2026'] });
    expect(await ask('responses', 'bikes', { webSearch: true })).toMatchObject({
      outcome: 'completed',
      webSearch: true,
      effectiveRegion: { country: 'DE', city: 'Berlin' },
      evidence: { fanOut: { provenance: 'observed', queries: ['best bikes', 'bikes 2026'] } },
    });
  });
});

describe('a search service that takes POST and a key', () => {
  it('is captured by a lane of the http driver', async () => {
    const found = [
      { title: 'The lab', url: 'https://lab.example/x#y', content: 'All of <bikes>.' },
      { title: 'Shop', url: 'https://shop.example/', content: '' },
    ];
    server.onSearch('bikes', found);
    const profile = {
      go: {
        method: 'POST',
        url: `${server.url}/search`,
        json: { query: '{query}', max_results: 10, country: '{country}' },
        applies: ['country'],
        secret: { env: 'KEY', header: 'Authorization', prefix: 'Bearer ' },
      },
      read: { results: { items: 'results', url: 'url', title: 'title', snippet: 'content' } },
    };
    const result = await capture({ surface: 'engine_search', driver: 'http', profile }, 'bikes "a" & b');
    expect(result).toMatchObject({
      outcome: 'completed',
      answer: { text: 'The lab\nAll of <bikes>.\nShop' },
      effectiveRegion: { country: 'DE' },
      evidence: { sources: [{ url: found[0]?.url }, { url: found[1]?.url }] },
    });
  });
});
