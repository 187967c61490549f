import stopServers from '../stop-servers.ts';
import { running } from './running.ts';

/** Runs once after the tests of the operator. */
export default async function stopKubeAndServers(): Promise<void> {
  for (const server of running.splice(0)) await server.close();
  await stopServers();
}
