import { availableParallelism } from 'node:os';
import {
  createBrowserDriver,
  createBrowserPool,
  createModelDriver,
  locateBrowser,
  type BrowserPool,
  type Driver,
} from '../capture/index.ts';
import type { Clock } from '../runtime/index.ts';
import type { Logger } from '../telemetry/index.ts';
import type { CaptureLane } from './lane.ts';

export type DriversDeps = {
  lanes: readonly CaptureLane[];
  /** Path of Chromium; empty to find the one that each lane asks for. */
  browserExecutable: string;
  /** Default true; false where Chromium's own sandbox can't work, as in a container that may make no user namespace. */
  browserSandbox?: boolean;
  /** Where model lanes find their API keys. */
  env: NodeJS.ProcessEnv;
  clock: Clock;
  log: Logger;
};

export type Drivers = {
  of(lane: CaptureLane): Driver;
  /** Starts each browser once, so that the first capture does not wait for it. Rejects when one does not come up. */
  start(): Promise<void>;
  close(): Promise<void>;
};

const START_TIMEOUT_MS = 30_000;

/** The drivers of one process. Lanes that ask for the same browser share its processes. */
export async function createDrivers(deps: DriversDeps): Promise<Drivers> {
  const pools = new Map<string, BrowserPool>();
  const drivers = new Map<string, Driver>();
  for (const [executable, lanes] of Map.groupBy(
    deps.lanes.filter(usesBrowser),
    (lane) => lane.spec.browser.executable,
  )) {
    pools.set(executable, await openPool(deps, executable, lanes));
  }
  for (const lane of deps.lanes) drivers.set(lane.metadata.name, openDriver(deps, lane, pools));
  return {
    of: (lane) => {
      const driver = drivers.get(lane.metadata.name);
      if (driver === undefined) throw new Error(`the lane ${lane.metadata.name} has no driver`);
      return driver;
    },
    start: async () => {
      for (const pool of pools.values()) {
        const recipe = { key: 'start', options: {}, initScript: '' };
        const lease = await pool.lease(recipe, START_TIMEOUT_MS, AbortSignal.timeout(START_TIMEOUT_MS));
        lease.release();
      }
    },
    close: async () => {
      await Promise.all([...drivers.values()].map((driver) => driver.close()));
      await Promise.all([...pools.values()].map((pool) => pool.close()));
    },
  };
}

/** More pages at once than this only slow each other down, as a page's own work is what takes the time. */
const PER_CORE = 2;

function usesBrowser(lane: CaptureLane): boolean {
  return lane.spec.driver === 'browser';
}

export type { BrowserPool };

async function openPool(
  deps: DriversDeps,
  executable: CaptureLane['spec']['browser']['executable'],
  lanes: readonly CaptureLane[],
): Promise<BrowserPool> {
  return createBrowserPool({
    executablePath: await locateBrowser({ path: deps.browserExecutable, prefer: executable }),
    concurrency: Math.min(
      lanes.reduce((sum, { spec }) => sum + spec.browser.concurrency, 0),
      PER_CORE * availableParallelism(),
    ),
    recycle: lanes.map(({ spec }) => spec.browser.recycle).reduce(strictest),
    sandbox: deps.browserSandbox ?? true,
    clock: deps.clock,
    log: deps.log,
  });
}

type Recycle = CaptureLane['spec']['browser']['recycle'];

function strictest(a: Recycle, b: Recycle): Recycle {
  return {
    uses: Math.min(a.uses, b.uses),
    ageSeconds: Math.min(a.ageSeconds, b.ageSeconds),
    memoryMiB: Math.min(a.memoryMiB, b.memoryMiB),
  };
}

function openDriver(
  deps: DriversDeps,
  { metadata, spec }: CaptureLane,
  pools: ReadonlyMap<string, BrowserPool>,
): Driver {
  const { clock, log } = deps;
  switch (spec.driver) {
    case 'browser': {
      const pool = pools.get(spec.browser.executable);
      if (pool === undefined) throw new Error(`the lane ${metadata.name} has no browser pool`);
      return createBrowserDriver({ profile: spec.profile, pool, clock, log });
    }
    case 'model':
      return createModelDriver({
        ...spec.model,
        providerId: spec.model.providerId,
        apiKey: readKey(deps.env, spec.model.apiKeyEnv),
        clock,
        log,
      });
  }
}

function readKey(env: NodeJS.ProcessEnv, variable: string | undefined): string | null {
  return variable === undefined ? null : (env[variable] ?? null);
}
