import {
  createBrowserPool,
  createSlots,
  locateBrowser,
  planCapacity,
  readPodLimits,
  type BrowserPool,
  type Slots,
} from '../capture/index.ts';
import type { Clock } from '../runtime/index.ts';
import type { Logger } from '../telemetry/index.ts';
import type { CaptureLane } from './lane.ts';

type BrowserSpec = CaptureLane['spec']['browser'];

/** The browsers of the lanes that ask for the same kind: they share its processes and what the pod can carry. */
export type LanePool = {
  pool: BrowserPool;
  /** Whoever holds one of these finds a free page. */
  slots: Slots;
  /** Pages that the lanes ask for, all together. */
  asked: number;
};

export async function openPool(
  deps: { browserExecutable: string; headed?: boolean; clock: Clock; log: Logger },
  executable: BrowserSpec['executable'],
  lanes: readonly CaptureLane[],
): Promise<LanePool> {
  const asked = lanes.reduce((sum, { spec }) => sum + spec.browser.concurrency, 0);
  const recycle = lanes.map(({ spec }) => spec.browser.recycle).reduce(strictest);
  const limits = await readPodLimits();
  const { concurrency, memoryMiB } = planCapacity(limits, { concurrency: asked, memoryMiB: recycle.memoryMiB });
  deps.log.info({ executable, limits, asked, concurrency, memoryMiB }, 'Pages at a time');
  const pool = createBrowserPool({
    executablePath: await locateBrowser({ path: deps.browserExecutable, prefer: executable }),
    concurrency,
    recycle: { ...recycle, memoryMiB },
    headed: deps.headed ?? false,
    clock: deps.clock,
    log: deps.log,
  });
  return { pool, slots: createSlots(concurrency), asked };
}

/** What the operator should know of these browsers although they work. */
export function describePool({ pool, asked }: LanePool): string[] {
  const sandbox = pool.sandbox();
  return [
    ...(sandbox?.on === false ? [`Chromium runs without its sandbox: ${sandbox.reason}`] : []),
    ...(pool.concurrency < asked ? [`the pod carries ${pool.concurrency} of the ${asked} pages asked for`] : []),
  ];
}

function strictest(a: BrowserSpec['recycle'], b: BrowserSpec['recycle']): BrowserSpec['recycle'] {
  return {
    uses: Math.min(a.uses, b.uses),
    ageSeconds: Math.min(a.ageSeconds, b.ageSeconds),
    memoryMiB: Math.min(a.memoryMiB, b.memoryMiB),
  };
}
