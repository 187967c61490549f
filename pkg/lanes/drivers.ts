import {
  createBrowserDriver,
  createHttpDriver,
  createModelDriver,
  readSecrets,
  type CaptureObserver,
  type Driver,
  type Profile,
} from '../capture/index.ts';
import type { Surface } from '../contract/index.ts';
import type { Clock } from '../runtime/index.ts';
import type { Logger } from '../telemetry/index.ts';
import { readProxies } from './egress.ts';
import type { CaptureLane } from './lane.ts';
import { describePool, openPool, type LanePool } from './pools.ts';

export type DriversDeps = {
  lanes: readonly CaptureLane[];
  /** Path of Chromium; empty to find the one that each lane asks for. */
  browserExecutable: string;
  /** Where lanes find their API keys and secrets. */
  env: NodeJS.ProcessEnv;
  /** Folder of mounted secrets, where lanes find the proxies of their countries. */
  secretsDir: string;
  /** Called for every request of a page that the lane's egress guard refused. */
  onEgressRefused?: (surface: Surface) => void;
  /** Default false: browsers with windows, for a person to watch. */
  headed?: boolean;
  /** Looks over the shoulder of browser captures. */
  observer?: CaptureObserver;
  clock: Clock;
  log: Logger;
};

export type Drivers = {
  of(lane: CaptureLane): Driver;
  /**
   * Runs `work` once the lane's browsers have a page for it: a capture that is claimed before that would wait on its own
   * time. False, without running it, when `signal` aborts first.
   */
  whenFree(lane: CaptureLane, work: () => Promise<void>, signal: AbortSignal): Promise<boolean>;
  /** What the operator should know of the lane although it works; complete after `start`. */
  notesOf(lane: CaptureLane): string[];
  /** Starts each browser once, so that the first capture does not wait for it. Rejects when one does not come up. */
  start(): Promise<void>;
  close(): Promise<void>;
};

const START_TIMEOUT_MS = 30_000;

/** The drivers of one process. Lanes that ask for the same browser share its processes. */
export async function createDrivers(deps: DriversDeps): Promise<Drivers> {
  const pools = new Map<string, LanePool>();
  const drivers = new Map<string, Driver>();
  for (const [executable, lanes] of Map.groupBy(
    deps.lanes.filter(usesBrowser),
    (lane) => lane.spec.browser.executable,
  )) {
    pools.set(executable, await openPool(deps, executable, lanes));
  }
  for (const lane of deps.lanes) {
    const proxies = await readProxies(lane, deps.secretsDir);
    drivers.set(lane.metadata.name, openDriver(deps, lane, pools, proxies));
  }
  const poolOf = (lane: CaptureLane): LanePool | undefined =>
    usesBrowser(lane) ? pools.get(lane.spec.browser.executable) : undefined;

  return {
    of: (lane) => {
      const driver = drivers.get(lane.metadata.name);
      if (driver === undefined) throw new Error(`the lane ${lane.metadata.name} has no driver`);
      return driver;
    },
    whenFree: async (lane, work, signal) => {
      const slots = poolOf(lane)?.slots;
      try {
        await slots?.take(lane.spec.timeouts.queueSeconds * 1000, signal);
      } catch (error) {
        deps.log.debug({ err: error }, 'No page became free in time');
        return false;
      }
      try {
        await work();
        return true;
      } finally {
        slots?.give();
      }
    },
    notesOf: (lane) => {
      const pool = poolOf(lane);
      return pool === undefined ? [] : describePool(pool);
    },
    start: async () => {
      for (const { pool } of pools.values()) {
        const recipe = { key: 'start', options: {}, initScript: '' };
        const lease = await pool.lease(recipe, START_TIMEOUT_MS, AbortSignal.timeout(START_TIMEOUT_MS));
        lease.release();
      }
    },
    close: async () => {
      await Promise.all([...drivers.values()].map((driver) => driver.close()));
      await Promise.all([...pools.values()].map(({ pool }) => pool.close()));
    },
  };
}

function usesBrowser(lane: CaptureLane): boolean {
  return lane.spec.driver === 'browser';
}

function openDriver(
  deps: DriversDeps,
  { metadata, spec }: CaptureLane,
  pools: ReadonlyMap<string, LanePool>,
  proxies: ReadonlyMap<string, string>,
): Driver {
  const { clock, log } = deps;
  switch (spec.driver) {
    case 'browser': {
      const { pool } = pools.get(spec.browser.executable) ?? {};
      if (pool === undefined) throw new Error(`the lane ${metadata.name} has no browser pool`);
      const egress = {
        allowHosts: spec.browser.allowHosts,
        proxies,
        onRefused: () => deps.onEgressRefused?.(spec.surface),
      };
      const secrets = findSecrets(metadata.name, spec.profile, deps.env);
      const observer = deps.observer ?? {};
      const picture = spec.proof.screenshot;
      return createBrowserDriver({ profile: spec.profile, pool, egress, picture, secrets, observer, clock, log });
    }
    case 'model':
      return createModelDriver({
        ...spec.model,
        providerId: spec.model.providerId,
        apiKey: readKey(deps.env, spec.model.apiKeyEnv, metadata.name),
        proxies,
        clock,
        log,
      });
    case 'http': {
      const apiKey = readKey(deps.env, spec.profile.go.secret?.env, metadata.name);
      return createHttpDriver({ profile: spec.profile, apiKey, proxies, clock, log });
    }
  }
}

function findSecrets(name: string, profile: Profile, env: NodeJS.ProcessEnv): Map<string, string> {
  try {
    return readSecrets(profile, env);
  } catch (error) {
    throw new Error(`the lane ${name}: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
  }
}

/** Asking without a key that the lane names could only be refused, capture after capture. */
function readKey(env: NodeJS.ProcessEnv, variable: string | undefined, lane: string): string | null {
  if (variable === undefined) return null;
  const value = env[variable]?.trim() ?? '';
  if (value === '') throw new Error(`the lane ${lane} needs an API key in the environment variable ${variable}`);
  return value;
}
