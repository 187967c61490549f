import startServers from '../start-servers.ts';
import { ensureKubePrograms } from './programs.ts';
import { running } from './running.ts';
import { startKube } from './server.ts';

const say = (line: string): void => void process.stderr.write(`${line}\n`);

/**
 * Runs once before the tests of the operator: an API server that they share, and the other servers, unless another
 * project's set-up has started those. Where the programs can't be had, the tests are skipped, and a line says so.
 */
export default async function startKubeAndServers(): Promise<void> {
  if (process.env['TEST_DATABASE_URL'] === undefined) await startServers();
  try {
    process.env['TEST_KUBE_PROGRAMS'] = await ensureKubePrograms({ env: process.env, say });
  } catch (error) {
    // Whoever names the folder wants these tests: to skip them would look like success.
    if ((process.env['KUBEBUILDER_ASSETS'] ?? '') !== '') throw error;
    say(`\n*** THE OPERATOR IS NOT TESTED *** ${error instanceof Error ? error.message : String(error)}\n`);
    return;
  }
  const server = await startKube(process.env['TEST_KUBE_PROGRAMS']);
  running.push(server);
  process.env['TEST_KUBECONFIG'] = server.kubeConfigFile;
}
