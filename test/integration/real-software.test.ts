import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startGuard, type Guard } from '../../cmd/standalone/servers/guard.ts';
import { ensureChromium } from '../../cmd/standalone/servers/programs.ts';
import type { CapturedPage, CaptureResult } from '../../pkg/capture/index.ts';
import type { Region, Surface } from '../../pkg/contract/index.ts';
import { createDrivers, loadLanes, type CaptureLane, type Drivers } from '../../pkg/lanes/index.ts';
import { systemClock } from '../../pkg/runtime/index.ts';
import { createLog } from '../../pkg/telemetry/index.ts';
import { startChainlit, type StartedSoftware } from '../support/chainlit.ts';
import { until } from '../support/poll.ts';
import { startSearxng, type Asked, type Entry } from '../support/searxng.ts';

const LANES = fileURLToPath(new URL('../../config/lanes/examples', import.meta.url));
const INSTALL_AND_START_TIMEOUT_MS = 600_000;
const CAPTURE_TIMEOUT_MS = 50_000;

// Lanes for software that we did not write, exactly as the YAML documents have them but for the ports.
const undo: (() => Promise<unknown>)[] = [];
const asked: Asked[] = [];
let lanes: CaptureLane[] = [];
let drivers: Drivers;

beforeAll(async () => {
  const dir = await mkdtemp(join(tmpdir(), 'real-software-'));
  undo.push(() => rm(dir, { recursive: true, force: true }));
  const guard = startGuard();
  undo.push(() => guard.close());
  const [chainlit, searxng] = await startBoth(dir, guard);
  lanes = await loadLanes(LANES, {
    replaceOrigin: { 'http://127.0.0.1:8000': chainlit.url, 'http://127.0.0.1:8888': searxng.url },
  });
  const machine = { path: process.env['PATH'] ?? '', isRoot: process.getuid?.() === 0, say: () => undefined };
  drivers = await createDrivers({
    lanes,
    browserExecutable: await ensureChromium(machine, process.env['BROWSER_EXECUTABLE'] ?? ''),
    env: {},
    secretsDir: '',
    clock: systemClock,
    log: createLog('test', 'silent'),
  });
  undo.push(() => drivers.close());
  // Just installed, its first page may take longer than a step has: the service would try again, and so does this.
  const isWarm = async (): Promise<boolean> => (await capture('assistant_one', 'ready?')).outcome === 'completed';
  await until(isWarm, { timeoutMs: 3 * CAPTURE_TIMEOUT_MS, what: 'Chainlit answers' });
}, INSTALL_AND_START_TIMEOUT_MS);

afterAll(async () => {
  for (const step of undo.reverse()) await step();
}, 60_000);

/** Both at a time, and both are stopped at the end also when only one of them came up. */
async function startBoth(dir: string, guard: Guard): Promise<[StartedSoftware, StartedSoftware]> {
  const note = (question: Asked): ReturnType<typeof find> => {
    asked.push(question);
    return find(question);
  };
  const [chainlit, searxng] = await Promise.allSettled([
    startChainlit({ dir, guard }),
    startSearxng({ dir, guard, corpus: note }),
  ]);
  for (const each of [chainlit, searxng]) if (each.status === 'fulfilled') undo.push(() => each.value.stop());
  if (chainlit.status === 'rejected') throw chainlit.reason;
  if (searxng.status === 'rejected') throw searxng.reason;
  return [chainlit.value, searxng.value];
}

async function capture(surface: Surface, query: string, region: Region | null = null): Promise<CaptureResult> {
  const lane = lanes.find(({ spec }) => spec.surface === surface);
  if (lane === undefined) throw new Error(`no example lane captures ${surface}`);
  const task = { captureId: `of ${query.slice(0, 20)}`, surface, query, region, wantsProof: true };
  return drivers.of(lane).capture({ ...task, timeoutMs: CAPTURE_TIMEOUT_MS }, new AbortController().signal);
}

describe('the lane for Chainlit', () => {
  const guide = "buyer's guide";
  const table = "lab's table";
  const list = `Weight: see the ${table}\nBrakes: discs hold in the rain\nPrice`;

  /** What config/lanes/examples/chainlit/app.py says to a question. */
  function expectAnswer(result: CaptureResult, question: string): void {
    const quoted = JSON.stringify(question);
    const blocks = [
      { type: 'heading', text: 'What was asked', referenceIds: [] },
      { type: 'paragraph', text: 'The question arrived as this text:', referenceIds: [] },
      { type: 'code', text: quoted, referenceIds: [] },
      { type: 'heading', text: 'How to choose', referenceIds: [] },
      { type: 'paragraph', text: `Start with the ${guide}, then compare:`, referenceIds: [1] },
      { type: 'list', text: list, referenceIds: [2] },
      { type: 'quote', text: 'Buy the one that you will ride.', referenceIds: [] },
      { type: 'paragraph', text: `The ${guide} has the details.`, referenceIds: [1] },
    ];
    const text = blocks.map((block) => block.text).join('\n\n');
    const range = (start: number, words: string) => ({ start, end: start + words.length });
    const sources = [
      {
        id: 1,
        url: 'https://guides.example/bicycles',
        title: guide,
        role: 'citation',
        cited: true,
        charRanges: [range(text.lastIndexOf(`${guide}, then`), guide), range(text.lastIndexOf(guide), guide)],
      },
      {
        id: 2,
        url: 'https://lab.example/weight?model=2',
        title: table,
        role: 'citation',
        cited: true,
        charRanges: [range(text.lastIndexOf(table), table)],
      },
    ];
    const page = expectCompleted(result);
    expect(page.answer).toMatchObject({ text, blocks });
    expect(page.evidence).toEqual({ sources, fanOut: { provenance: 'none', queries: [] } });
    expect(page.model.providerId).toBe('chainlit');
    expect(page.effectiveRegion).toBeNull();
  }

  it('sends each of several questions whole, and reads each whole answer, asked at the same time', async () => {
    const questions = [
      'Which bicycle?\n  - light\n\n  - "cheap"\tand 100 % safe',
      '<b>Fahrräder</b> & 自転車 🚲 أي دراجة؟ ```code``` {query}',
      'bicycle '.repeat(249) + 'bicycles',
    ];
    const results = await Promise.all(questions.map((question) => capture('assistant_one', question)));
    for (const [index, result] of results.entries()) expectAnswer(result, questions[index] ?? '');
  });

  it('gives the answer as markdown, and the page as proof', async () => {
    const result = await capture('assistant_one', 'why?');
    expectAnswer(result, 'why?');
    const page = expectCompleted(result);
    expect(page.answer.markdown).toBe(
      [
        '## What was asked',
        'The question arrived as this text:',
        '```json\n"why?"\n```',
        '## How to choose',
        "Start with the [buyer's guide](https://guides.example/bicycles), then compare:",
        "- Weight: see the [lab's table](https://lab.example/weight?model=2)\n- Brakes: discs hold in the rain\n- Price",
        '> Buy the one that you will ride.',
        "The [buyer's guide](https://guides.example/bicycles) has the details.",
      ].join('\n\n'),
    );
    expect(page.proofHtml).toContain('Buy the one that you will ride.');
    expect(page.proofHtml).not.toContain('<script');
  });
});

describe('the lanes for SearXNG', () => {
  it.each([
    { surface: 'engine_search', kind: 'general', query: 'city bicycles' },
    { surface: 'engine_search', kind: 'general', query: 'a&b=c #1 "100 %" + 自転車 🚲' },
    { surface: 'engine_news', kind: 'news', query: 'city bicycles' },
    { surface: 'engine_ai_mode', kind: 'general', query: 'city bicycles' },
    { surface: 'engine_ai_mode', kind: 'general', query: 'a&b=c #1 "100 %" + 自転車 🚲' },
  ] as const)('reads what $surface shows for $query', async ({ surface, kind, query }) => {
    const question = { kind, query, language: 'en' };
    const result = await capture(surface, query);
    expectResults(result, find(question), null);
    expect(asked.at(-1)).toEqual(question);
  });

  it.each(['engine_search', 'engine_ai_mode'] as const)(
    'asks %s in the language of the region and says that this is all of it that was applied',
    async (surface) => {
      const result = await capture(surface, 'Fahrräder', { country: 'DE', city: 'Berlin', language: 'de-DE' });
      const question = { kind: 'general', query: 'Fahrräder', language: 'de' } as const;
      expectResults(result, find(question), { language: 'de-DE' });
      expect(asked.at(-1)).toEqual(question);
    },
  );

  it.each(['engine_search', 'engine_news', 'engine_ai_mode'] as const)(
    'says that %s has nothing where it finds nothing',
    async (surface) => {
      expect(await capture(surface, 'nothing at all')).toMatchObject({ outcome: 'absent', effectiveRegion: null });
    },
  );

  it.each(['engine_search', 'engine_ai_mode'] as const)(
    'does not take a failing engine behind %s for one that finds nothing',
    async (surface) => {
      expect(await capture(surface, 'broken')).toMatchObject({ outcome: 'unusable' });
      expect(await capture(surface, 'mended')).toMatchObject({ outcome: 'completed' });
    },
  );
});

/** The world that SearXNG searches. Each question finds something else. */
function find({ kind, query, language }: Asked): Entry[] | number {
  if (query === 'broken') return 500;
  if (query === 'nothing at all') return [];
  const site = `https://${kind}.example/${language}/`;
  return [
    { url: `${site}1?of=${encodeURIComponent(query)}&part=a`, title: `First on ${query}`, content: `All of ${query}.` },
    { url: `${site}2#part`, title: 'Ärger & <b>"Mut"</b> 🚲', content: '1 < 2 && "quoted" <i>as it is</i>' },
    { url: `${site}3`, title: `${kind} without a description` },
  ];
}

/** One list of all entries, title and snippet on a line each, every title a source. */
function expectResults(result: CaptureResult, found: Entry[] | number, effectiveRegion: Partial<Region> | null): void {
  if (typeof found === 'number') throw new Error('the engine is to find something');
  let text = '';
  const sources = found.map(({ url, title, content }, index) => {
    const start = text === '' ? 0 : text.length + 1;
    text = [...(text === '' ? [] : [text]), title, ...(content === undefined ? [] : [content])].join('\n');
    const charRanges = [{ start, end: start + title.length }];
    return { id: index + 1, url, title, role: 'result', cited: true, charRanges };
  });
  const referenceIds = sources.map(({ id }) => id);
  const page = expectCompleted(result);
  expect(page.answer).toMatchObject({ text, blocks: [{ type: 'list', text, referenceIds }] });
  expect(page.evidence.sources).toEqual(sources);
  expect(page.effectiveRegion).toEqual(effectiveRegion);
}

function expectCompleted(result: CaptureResult): CapturedPage {
  if (result.outcome === 'completed') return result;
  throw new Error(`the outcome is ${result.outcome}${'detail' in result ? `: ${result.detail}` : ''}`);
}
