import { availableParallelism } from 'node:os';
import { createBrowserPool, locateBrowser, type BrowserPool } from '../capture/index.ts';
import type { Clock } from '../runtime/index.ts';
import type { Logger } from '../telemetry/index.ts';
import type { CaptureLane } from './lane.ts';

/** More pages at once than this only slow each other down, as a page's own work is what takes the time. */
const PER_CORE = 2;

type BrowserSpec = CaptureLane['spec']['browser'];

/** One pool for the lanes that ask for the same browser: they share its processes and its limits. */
export async function openPool(
  deps: { browserExecutable: string; headed?: boolean; clock: Clock; log: Logger },
  executable: BrowserSpec['executable'],
  lanes: readonly CaptureLane[],
): Promise<BrowserPool> {
  return createBrowserPool({
    executablePath: await locateBrowser({ path: deps.browserExecutable, prefer: executable }),
    concurrency: Math.min(
      lanes.reduce((sum, { spec }) => sum + spec.browser.concurrency, 0),
      PER_CORE * availableParallelism(),
    ),
    recycle: lanes.map(({ spec }) => spec.browser.recycle).reduce(strictest),
    headed: deps.headed ?? false,
    clock: deps.clock,
    log: deps.log,
  });
}

function strictest(a: BrowserSpec['recycle'], b: BrowserSpec['recycle']): BrowserSpec['recycle'] {
  return {
    uses: Math.min(a.uses, b.uses),
    ageSeconds: Math.min(a.ageSeconds, b.ageSeconds),
    memoryMiB: Math.min(a.memoryMiB, b.memoryMiB),
  };
}
