// Ten minutes of a network and an API server that break at random, and the memory meanwhile. Usage: node --expose-gc soak.ts [MINUTES]
import { ensureKubePrograms } from '../../support/kube/programs.ts';
import { startKube } from '../../support/kube/server.ts';
import { sever } from './sever.ts';

const SAMPLE_SECONDS = 10;
const ALLOWED_GROWTH_BYTES = 5_000_000;
const MOST_READS_A_SECOND = 10;

const minutes = Number(process.argv[2] ?? 10);
const say = (line: string): void => void process.stdout.write(`${line}\n`);
const server = await startKube(await ensureKubePrograms({ env: process.env, say }));
const heap: number[] = [];
let second = 0;
const sample = (): void => {
  second += 1;
  if (second % SAMPLE_SECONDS !== 0) return;
  globalThis.gc?.();
  const { heapUsed, rss } = process.memoryUsage();
  heap.push(heapUsed);
  say(`${second} s: heap ${megabytes(heapUsed)}, resident ${megabytes(rss)}`);
};

const seed = Date.now() % 1_000_000;
say(`seed ${seed}, ${minutes} minutes`);
const report = await sever(server, {
  durationMs: minutes * 60_000,
  keys: 200,
  seed,
  serverBreakMs: 40_000,
  onSecond: sample,
});
await server.close();
say(JSON.stringify(report, null, 2));

const quarter = Math.floor(heap.length / 4);
const growth = lowest(heap.slice(-quarter)) - lowest(heap.slice(quarter, 2 * quarter));
const problems = [
  ...(report.lost.length > 0 ? [`lost ${report.lost.join(', ')}`] : []),
  ...(report.reads / (report.durationMs / 1_000) > MOST_READS_A_SECOND ? [`${report.reads} reads: a hot loop`] : []),
  ...(growth > ALLOWED_GROWTH_BYTES
    ? [`the heap grew by ${megabytes(growth)} from its second to its last quarter`]
    : []),
];
say(problems.length === 0 ? `sound: nothing lost, no hot loop, heap ${megabytes(growth)} apart` : problems.join('\n'));
process.exit(problems.length === 0 ? 0 : 1);

function megabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(1)} MB`;
}

function lowest(values: readonly number[]): number {
  return Math.min(...values);
}
