import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { ensureChromium } from '../../cmd/standalone/servers/programs.ts';
import type { CaptureResult, Outcome } from '../../pkg/capture/index.ts';
import type { Surface } from '../../pkg/contract/index.ts';
import { createDemoServer, type DemoServer } from '../../pkg/demo/index.ts';
import { createDrivers, loadLanes, type CaptureLane, type Drivers } from '../../pkg/lanes/index.ts';
import { systemClock } from '../../pkg/runtime/index.ts';
import { createLog } from '../../pkg/telemetry/index.ts';

// Every way in which a capture can end, on every simulated engine that can show it, by the lanes of config/lanes.

const LANES = fileURLToPath(new URL('../../config/lanes', import.meta.url));
const DEADLINE_MS = 20_000;
/** Long enough for a page to come up on a slow machine: what is meant to be late is far later. */
const SHORT_DEADLINE_MS = 6_000;
const LISTS: readonly Surface[] = ['engine_search', 'engine_news'];
const NEVER = new AbortController().signal;

type Case = { directive: string; outcome: Outcome; timeoutMs?: number; unless?: readonly Surface[] };

const CASES: Case[] = [
  { directive: '', outcome: 'completed' },
  { directive: '[[consent]]', outcome: 'completed' },
  { directive: '[[stall]]', outcome: 'partial', timeoutMs: SHORT_DEADLINE_MS, unless: LISTS },
  { directive: '[[slow:60000]]', outcome: 'timeout', timeoutMs: SHORT_DEADLINE_MS },
  { directive: '[[empty]]', outcome: 'empty' },
  { directive: '[[blocked]]', outcome: 'blocked' },
  { directive: '[[http:500]]', outcome: 'unusable' },
  { directive: '[[crash]]', outcome: 'crashed' },
];
/** Assistants always have an answer. */
const ABSENT: readonly Surface[] = ['engine_ai_overview', 'engine_ai_mode', ...LISTS];

let demo: DemoServer;
let lanes: CaptureLane[];
let drivers: Drivers;
beforeAll(async () => {
  demo = await createDemoServer({ host: '127.0.0.1', port: 0 });
  lanes = await loadLanes(LANES, { replaceOrigin: { 'http://127.0.0.1:8090': demo.url } });
  const machine = { path: process.env['PATH'] ?? '', isRoot: process.getuid?.() === 0, say: () => undefined };
  drivers = await createDrivers({
    lanes,
    browserExecutable: await ensureChromium(machine, process.env['BROWSER_EXECUTABLE'] ?? ''),
    env: {},
    secretsDir: '',
    clock: systemClock,
    log: createLog('test', 'silent'),
  });
});
afterAll(async () => {
  await drivers.close();
  await demo.close();
});

/** Waits for a page first: what waits for one in the capture would wait on its own time. */
async function capture(lane: CaptureLane, directive: string, timeoutMs = DEADLINE_MS, signal = NEVER) {
  let result: CaptureResult | undefined;
  const { surface } = lane.spec;
  const task = { captureId: 'c', surface, query: `bicycles ${directive}`, region: null, wantsProof: false, timeoutMs };
  await drivers.whenFree(lane, async () => void (result = await drivers.of(lane).capture(task, signal)), NEVER);
  if (result === undefined) throw new Error('no page became free');
  return result;
}

const brief = (result: CaptureResult): string =>
  'detail' in result ? `${result.outcome}: ${result.detail}` : result.outcome;

it('each simulated engine ends in each way that it can end in, and in no other', async () => {
  const table = lanes.flatMap((lane) =>
    CASES.filter(({ unless = [] }) => !unless.includes(lane.spec.surface)).map((row) => ({ lane, ...row })),
  );
  const ended = await Promise.all(
    table.map(async ({ lane, directive, outcome, timeoutMs }) => {
      const result = await capture(lane, directive, timeoutMs);
      const how = result.outcome === outcome ? outcome : brief(result);
      return `${lane.spec.surface} ${directive} ${how}${'screenshot' in result ? ', with a picture' : ''}`;
    }),
  );
  expect(ended).toEqual(
    table.map(({ lane: { spec }, directive, outcome }) => {
      // What an operator has to look at has a picture, where there is a page to be pictured.
      const isSeen = spec.driver === 'browser' && (outcome === 'blocked' || outcome === 'unusable');
      return `${spec.surface} ${directive} ${outcome}${isSeen ? ', with a picture' : ''}`;
    }),
  );
}, 240_000);

it('each simulated engine is absent only where it says so, and canceled at once', async () => {
  for (const lane of lanes) {
    const { outcome } = await capture(lane, '[[absent]]');
    expect([lane.spec.surface, outcome === 'absent']).toEqual([lane.spec.surface, ABSENT.includes(lane.spec.surface)]);
    const canceled = await capture(lane, '[[slow:60000]]', DEADLINE_MS, AbortSignal.timeout(200));
    expect(canceled.outcome).toBe('canceled');
  }
}, 120_000);
