import type { Cluster } from './cluster.ts';

/** A policy drops packets, so a connection that is refused has reached its place as well. */
const CONNECT = `
import { connect } from 'node:net';
const targets = JSON.parse(process.argv[2]);
const reach = (target) => new Promise((resolve) => {
  const [host, port] = target.split(':');
  const socket = connect({ host, port: Number(port) });
  const end = (reached) => { socket.destroy(); resolve(reached); };
  socket.setTimeout(5_000, () => end(false));
  socket.on('connect', () => end(true));
  socket.on('error', (error) => end(error.code === 'ECONNREFUSED' || error.code === 'ECONNRESET'));
});
const entries = Object.entries(targets).map(async ([name, target]) => [name, await reach(target)]);
console.log(JSON.stringify(Object.fromEntries(await Promise.all(entries))));
`;

/** Which of the named `host:port` a pod can reach. */
export async function connectFrom(
  cluster: Cluster,
  pod: string,
  targets: Readonly<Record<string, string>>,
): Promise<unknown> {
  const { ok, stdout, stderr } = await cluster.script(pod, CONNECT, [JSON.stringify(targets)]);
  if (!ok) throw new Error(`${pod} could not look: ${stderr}`);
  return JSON.parse(stdout);
}
