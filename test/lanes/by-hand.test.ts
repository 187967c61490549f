import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import { startGuard } from '../../cmd/standalone/servers/guard.ts';
import { ensureChromium } from '../../cmd/standalone/servers/programs.ts';
import type { CapturedPage, CaptureResult } from '../../pkg/capture/index.ts';
import { createDrivers, parseLane, type CaptureLane, type Drivers } from '../../pkg/lanes/index.ts';
import { systemClock } from '../../pkg/runtime/index.ts';
import { createLog } from '../../pkg/telemetry/index.ts';
import type { StartedSoftware } from '../support/chainlit.ts';
import { startGradio, startMkdocs, startSphinx, startStreamlit, type Place } from './apps.ts';

// Software from PyPI whose lanes are YAML of config/lanes/examples/by-hand, exactly as they stand but for the ports.

const LANES = new URL('../../config/lanes/examples/by-hand/', import.meta.url);
const INSTALL_AND_START_TIMEOUT_MS = 900_000;
const SOFTWARE: Record<string, (place: Place) => Promise<StartedSoftware>> = {
  gradio: startGradio,
  streamlit: startStreamlit,
  'mkdocs-material': startMkdocs,
  sphinx: startSphinx,
};

const undo: (() => Promise<unknown>)[] = [];
const lanes = new Map<string, CaptureLane>();
let drivers: Drivers;

beforeAll(async () => {
  const dir = await mkdtemp(join(tmpdir(), 'by-hand-'));
  undo.push(() => rm(dir, { recursive: true, force: true }));
  const guard = startGuard();
  undo.push(() => guard.close());
  for (const [name, start] of Object.entries(SOFTWARE)) {
    const software = await start({ dir, guard });
    undo.push(() => software.stop());
    const text = await readFile(new URL(`${name}.yaml`, LANES), 'utf8');
    lanes.set(name, parseLane(parse(text.replaceAll('http://127.0.0.1:8000', software.url)), name));
  }
  const machine = { path: process.env['PATH'] ?? '', isRoot: process.getuid?.() === 0, say: () => undefined };
  drivers = await createDrivers({
    lanes: [...lanes.values()],
    browserExecutable: await ensureChromium(machine, process.env['BROWSER_EXECUTABLE'] ?? ''),
    env: {},
    secretsDir: '',
    clock: systemClock,
    log: createLog('test', 'silent'),
  });
  undo.push(() => drivers.close());
}, INSTALL_AND_START_TIMEOUT_MS);
afterAll(async () => {
  for (const step of undo.toReversed()) await step();
}, 60_000);

function capture(name: string, query: string): Promise<CaptureResult> {
  const lane = lanes.get(name);
  if (lane === undefined) throw new Error(`no lane is called ${name}`);
  const task = { captureId: 'c', surface: lane.spec.surface, query, region: null, wantsProof: true } as const;
  return drivers.of(lane).capture({ ...task, timeoutMs: 40_000 }, new AbortController().signal);
}

function expectCompleted(result: CaptureResult): CapturedPage {
  if (result.outcome !== 'completed') throw new Error(JSON.stringify({ ...result, screenshot: undefined }));
  return result;
}

const sourcesOf = ({ answer, evidence }: CapturedPage) =>
  evidence.sources.map(({ url, role, charRanges }) => [
    new URL(url).host.startsWith('127.') ? new URL(url).pathname : url,
    role,
    ...charRanges.map(({ start, end }) => answer.text.slice(start, end)),
  ]);

describe.each(['gradio', 'streamlit'])('the lane for %s', (name) => {
  it('asks a question of several lines and reads the whole answer, asked twice at a time', async () => {
    const query = 'Which bike?\nA "cheap" one & 自転車';
    for (const captured of await Promise.all([capture(name, query), capture(name, query)])) {
      const page = expectCompleted(captured);
      expect(page.answer.markdown).toBe(
        [
          'City bikes are **sturdy**: see the [guide](https://guides.example/bikes?id=1).',
          '- disc brakes\n- lights from the [lab](https://lab.example/lights)',
          '```python\nprint("ride")\n```',
          // Both style sheets set the cells to the left.
          '| Kind | Price |\n| :- | :- |\n| used | 90 |',
          `You asked: \`${JSON.stringify(query)}\``,
        ].join('\n\n'),
      );
      expect(sourcesOf(page)).toEqual([
        ['https://guides.example/bikes?id=1', 'citation', 'guide'],
        ['https://lab.example/lights', 'citation', 'lab'],
      ]);
      expect(page.proofHtml).toContain('sturdy');
    }
  });
});

describe.each([
  ['mkdocs-material', '/brakes/', '/lights/'],
  ['sphinx', '/brakes.html', '/lights.html'],
])('the lane for %s', (name, brakes, lights) => {
  it('reads the results, and tells that there are none', async () => {
    const page = expectCompleted(await capture(name, 'bicycle'));
    const found = sourcesOf(page).map(([path, role, title]) => `${path} ${role} ${title}`);
    expect(found.toSorted()).toEqual([`${brakes} result Disc brakes`, `${lights} result Lights`]);
    expect(page.answer.text).toContain('bicycle stops sooner with discs');
    expect(await capture(name, 'zeppelin')).toMatchObject({ outcome: 'absent' });
  });
});
