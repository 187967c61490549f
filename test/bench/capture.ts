import { parseLane } from '../../pkg/lanes/index.ts';
import type { Profile } from '../../pkg/capture/index.ts';
import { load, openBare, openOurs, timeAlone } from './contenders.ts';
import { crawleeRate } from './crawlee.ts';
import { startPage } from './page.ts';
import { mean, median, type Row } from './table.ts';

const ROUNDS = 15;
const PARALLEL = [1, 2, 4];
const PER_LEVEL = 24;
/** The levels are run through so often, in turns, as the machine is never quite the same twice. */
const TURNS = 2;

/**
 * A capture through the whole driver (a fresh context behind its own egress guard, readiness, reading into the answer
 * tree; contexts are prepared while others wait) against a bare script that makes a fresh context for each capture, goes
 * to the same page, waits for the same node and reads it, and against Crawlee with fresh contexts. Nobody aborts
 * requests or keeps anything of one capture for the next. All in turns, in one run, on a browser each. Memory is that
 * of the browser's processes, pages that several share counted once.
 */
export async function benchCapture(): Promise<Row[]> {
  const page = await startPage();
  const url = `${page.url}/?q=bench`;
  const ours = await openOurs(profileOf(page.url), Math.max(...PARALLEL));
  const bare = await openBare(url);
  try {
    for (const contender of [ours, bare, ours, bare]) await contender.capture();
    const times = { ours: [] as number[], bare: [] as number[] };
    for (let round = 0; round < ROUNDS; round += 1) {
      times.ours.push(await timeAlone(ours.capture));
      times.bare.push(await timeAlone(bare.capture));
    }
    const rows: Row[] = [
      {
        name: 'capture: median time, ours / bare script',
        ours: median(times.ours),
        bare: median(times.bare),
        unit: 'ms',
        atMost: 0.8,
      },
    ];
    for (const level of PARALLEL) {
      const found = { ours: [] as number[], bare: [] as number[], ourMiB: [] as number[], bareMiB: [] as number[] };
      for (let turn = 0; turn < TURNS; turn += 1) {
        const mine = await load(ours, level, PER_LEVEL);
        const theirs = await load(bare, level, PER_LEVEL);
        found.ours.push(mine.perSecond);
        found.bare.push(theirs.perSecond);
        found.ourMiB.push(mine.memoryMiB / level);
        found.bareMiB.push(theirs.memoryMiB / level);
      }
      rows.push(
        {
          name: `capture: per second, ${level} at a time, ours / bare`,
          ours: mean(found.ours),
          bare: mean(found.bare),
          unit: '/s',
          atLeast: 1,
        },
        {
          name: `capture: memory per parallel capture, ${level} at a time, ours / bare`,
          ours: mean(found.ourMiB),
          bare: mean(found.bareMiB),
          unit: 'MiB',
          atMost: 1.1,
        },
      );
      const crawlee = await crawleeRate(url, level, PER_LEVEL);
      if (crawlee !== null)
        rows.push({
          name: `capture: per second, ${level} at a time, ours / Crawlee`,
          ours: mean(found.ours),
          bare: crawlee,
          unit: '/s',
          atLeast: 1,
        });
    }
    return rows;
  } finally {
    await ours.close();
    await bare.close();
    await page.close();
  }
}

function profileOf(url: string): Profile {
  const lane = parseLane(
    {
      apiVersion: 'searchcapture.io/v1alpha1',
      kind: 'CaptureLane',
      metadata: { name: 'bench' },
      spec: {
        surface: 'engine_search',
        driver: 'browser',
        profile: {
          go: { url: `${url}/?q={query}` },
          ask: [],
          finished: { markers: [{ present: '#done' }], quietMs: 0 },
          read: { answer: '#answer', citations: [{ item: 'a[href]', where: 'inline', role: 'citation' }] },
        },
      },
    },
    'bench',
  );
  if (lane.spec.driver !== 'browser') throw new Error('the bench lane uses a browser');
  return lane.spec.profile;
}
