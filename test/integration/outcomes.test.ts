import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ensureChromium } from '../../cmd/standalone/servers/programs.ts';
import type { CaptureResult, Outcome } from '../../pkg/capture/index.ts';
import { SURFACES, type Surface } from '../../pkg/contract/index.ts';
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
const MODEL: Surface = 'assistant_two';

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
/** Assistants always have an answer; a model is asked whatever it is asked. */
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

async function capture(surface: Surface, directive: string, timeoutMs = DEADLINE_MS, signal?: AbortSignal) {
  const lane = lanes.find(({ spec }) => spec.surface === surface);
  if (lane === undefined) throw new Error(`no lane captures ${surface}`);
  const task = { captureId: 'c', surface, query: `bicycles ${directive}`, region: null, wantsProof: false };
  return drivers.of(lane).capture({ ...task, timeoutMs }, signal ?? new AbortController().signal);
}

const brief = (result: CaptureResult): string =>
  'detail' in result ? `${result.outcome}: ${result.detail}` : result.outcome;

describe.each(SURFACES)('%s', (surface) => {
  it('ends in each way that it can end in, and in no other', async () => {
    const cases = CASES.filter(({ unless = [] }) => !unless.includes(surface));
    const captured = await Promise.all(
      cases.map(async ({ directive, outcome, timeoutMs }) => {
        const result = await capture(surface, directive, timeoutMs);
        const isSeen = 'screenshot' in result;
        return { directive, ended: result.outcome === outcome ? outcome : brief(result), isSeen };
      }),
    );
    expect(captured).toEqual(
      // What an operator has to look at has a picture, where there is a page to be pictured.
      cases.map(({ directive, outcome }) => ({
        directive,
        ended: outcome,
        isSeen: surface !== MODEL && (outcome === 'blocked' || outcome === 'unusable'),
      })),
    );
  });

  it('is absent only where the engine says so', async () => {
    const { outcome } = await capture(surface, '[[absent]]');
    if (ABSENT.includes(surface)) expect(outcome).toBe('absent');
    else expect(outcome).not.toBe('absent');
  });

  it('is canceled at once', async () => {
    expect(await capture(surface, '[[slow:60000]]', DEADLINE_MS, AbortSignal.timeout(400))).toMatchObject({
      outcome: 'canceled',
    });
  });
});
