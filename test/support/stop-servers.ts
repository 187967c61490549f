import { stopTestServers } from './servers.ts';

/** Runs once after the tests. */
export default async function stopServers(): Promise<void> {
  await stopTestServers();
}
