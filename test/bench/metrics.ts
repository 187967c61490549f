import type { Connection } from '../../pkg/operator/kube/index.ts';

/** Numbers by the labels that they have, as `{verb="PUT",…}`. */
type Values = Readonly<Record<string, number>>;
/** How many writes of which kind the API server has taken. */
export type Writes = Values;

/** Prometheus' text form, by the name of the metric. */
export function readMetrics(text: string): ReadonlyMap<string, Values> {
  const found = new Map<string, Record<string, number>>();
  for (const [, name = '', labels = '', value] of text.matchAll(/^(\w+)(\{.*\})? (\S+)$/gm)) {
    const values = found.get(name) ?? {};
    values[labels] = Number(value);
    found.set(name, values);
  }
  return found;
}

export function sumOf(values: Values): number {
  return Object.values(values).reduce((sum, value) => sum + value, 0);
}

/** What was written to the API server, by anybody, while `action` ran; Leases aside, which are renewed for ever. */
export async function countWrites(connection: Connection, action: () => Promise<unknown>): Promise<Writes> {
  const before = await readWrites(connection);
  await action();
  const after = await readWrites(connection);
  const grown = [...after].map(([kind, count]) => [kind, count - (before.get(kind) ?? 0)] as const);
  return Object.fromEntries(grown.filter(([, count]) => count > 0));
}

async function readWrites(connection: Connection): Promise<ReadonlyMap<string, number>> {
  const lines: string[] = [];
  for await (const line of connection.lines({ method: 'GET', path: '/metrics', signal: AbortSignal.timeout(30_000) }))
    lines.push(line);
  const requests = readMetrics(lines.join('\n')).get('apiserver_request_total') ?? {};
  const writes = new Map<string, number>();
  for (const [labels, count] of Object.entries(requests)) {
    const label = (name: string): string => new RegExp(`\\b${name}="([^"]*)"`).exec(labels)?.[1] ?? '';
    const [verb, resource] = [label('verb'), label('resource')];
    if (!WRITES.has(verb) || resource === 'leases') continue;
    const kind = `${verb} ${resource}${label('subresource') === '' ? '' : `/${label('subresource')}`}`;
    writes.set(kind, (writes.get(kind) ?? 0) + count);
  }
  return writes;
}

const WRITES: ReadonlySet<string> = new Set(['POST', 'PUT', 'PATCH', 'APPLY', 'DELETE', 'DELETECOLLECTION']);
