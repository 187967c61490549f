import { parseHealthQuery, SCHEMA_VERSION } from '../../contract/index.ts';
import { query } from '../../postgres/index.ts';
import { withDeadline } from '../../runtime/index.ts';
import type { ApiDeps, Route } from '../context.ts';

/** A hard limit for each dependency (spec 4.11). */
const PROBE_TIMEOUT_MS = 2_000;
/** A deep answer is given again for so long: a monitor must not become load. */
const DEEP_CACHE_MS = 2_000;

type Bindings = { artifacts: boolean; edgeCache: boolean; database: boolean };

export function healthRoutes(deps: ApiDeps): Route[] {
  let deep: { bindings: Promise<Bindings>; atMs: number } | null = null;
  const probeDeep = (): Promise<Bindings> => {
    if (deep === null || deps.clock.nowMs() - deep.atMs > DEEP_CACHE_MS)
      deep = { bindings: probe(deps), atMs: deps.clock.nowMs() };
    return deep.bindings;
  };
  return [
    {
      method: 'get',
      path: '/v1/health',
      access: 'public',
      handle: async ({ request, response }) => {
        // Without its bindings this process does not start, so the shallow answer is that it runs.
        const present: Bindings = { artifacts: true, edgeCache: true, database: true };
        const bindings = parseHealthQuery(request.query).deep ? await probeDeep() : present;
        const ok = Object.values(bindings).every(Boolean);
        response
          .status(ok ? 200 : 503)
          .json({ status: ok ? 'ok' : 'degraded', schemaVersion: SCHEMA_VERSION, bindings });
      },
    },
  ];
}

async function probe({ db, announcer, artifacts, log }: ApiDeps): Promise<Bindings> {
  const works = async (name: string, roundTrip: Promise<unknown>): Promise<boolean> => {
    try {
      await withDeadline(roundTrip, PROBE_TIMEOUT_MS, `probing ${name}`);
      return true;
    } catch (error) {
      log.warn({ err: error, binding: name }, 'Probe failed');
      return false;
    }
  };
  const [artifactsWork, edgeCache, database] = await Promise.all([
    works('artifacts', artifacts.probe()),
    works('edgeCache', announcer.ping(PROBE_TIMEOUT_MS)),
    works('database', query(db.system, 'SELECT 1')),
  ]);
  return { artifacts: artifactsWork, edgeCache, database };
}
