import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { locateBrowser } from '../../pkg/capture/index.ts';
import { runCommand } from '../../pkg/runtime/index.ts';

/** Beside our own packages: 150 more that only this comparison needs. */
const FOLDER = join(import.meta.dirname, '../../.local/bench');
const PACKAGES = ['@crawlee/playwright@3.18.1', 'playwright@1.65.1'];
const INSTALL_TIMEOUT_MS = 300_000;
const RUN_TIMEOUT_MS = 300_000;

/** Captures a second that Crawlee manages on the same page; null, with the reason told, where it can't be installed. */
export async function crawleeRate(url: string, parallel: number, count: number): Promise<number | null> {
  try {
    await install();
  } catch (error) {
    console.log(`Crawlee is left out: ${error instanceof Error ? error.message : String(error)}`);
    return null;
  }
  const script = join(import.meta.dirname, 'crawlee.mjs');
  const said = await runCommand(
    process.execPath,
    [script, FOLDER, await locateBrowser({}), url, String(parallel), String(count)],
    { timeoutMs: RUN_TIMEOUT_MS },
  );
  const perSecond = Number(said.trim().split('\n').at(-1));
  if (!(perSecond > 0)) throw new Error(`Crawlee said ${said}`);
  return perSecond;
}

async function install(): Promise<void> {
  await mkdir(FOLDER, { recursive: true });
  await writeFile(join(FOLDER, 'package.json'), '{"private": true}\n');
  const env = { ...process.env, PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD: '1' };
  const words = [
    'install',
    '--prefix',
    FOLDER,
    '--no-save',
    '--no-audit',
    '--no-fund',
    '--loglevel=error',
    ...PACKAGES,
  ];
  await runCommand('npm', words, { env, timeoutMs: INSTALL_TIMEOUT_MS });
}
