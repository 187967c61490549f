import { rm } from 'node:fs/promises';
import type { Browser } from 'playwright-core';
import { withDeadline } from '../../runtime/index.ts';
import { groupOf, killProcesses, listTree, readCommandLine } from './processes.ts';

const LAUNCH_TIMEOUT_MS = 30_000;
const CLOSE_TIMEOUT_MS = 5_000;
const KILL_TIMEOUT_MS = 2_000;

export type LaunchedBrowser = {
  browser: Browser;
  /** Of the browser process itself. */
  pid: number;
  /** Of its process group, whose leader may be a start script. */
  groupId: number;
  /** Closes, and kills the whole process tree when that takes longer than five seconds. Never hangs. */
  end(): Promise<void>;
};

/** True when Chromium's own sandbox is on: it can't be for root. */
export function isSandboxed(sandbox: boolean): boolean {
  return sandbox && process.getuid?.() !== 0;
}

/** Starts one Chromium. Throws when it does not come up within 30 s. */
export async function launchBrowser(options: {
  executablePath: string;
  sandbox: boolean;
  /** Default false: with a window, for a person to watch. */
  headed?: boolean;
}): Promise<LaunchedBrowser> {
  // Loaded only here: processes that capture nothing import this package too, for its outcome table.
  const { chromium } = await import('playwright-core');
  const browser = await chromium.launch({
    executablePath: options.executablePath,
    headless: options.headed !== true,
    chromiumSandbox: isSandboxed(options.sandbox),
    timeout: LAUNCH_TIMEOUT_MS,
    // Playwright's own handlers would close the browser under a running capture: our shutdown decides.
    handleSIGINT: false,
    handleSIGTERM: false,
    handleSIGHUP: false,
    args: [
      // Each page is given its lane's egress guard. What belongs to no page, the browser's own errands, goes nowhere:
      // nothing listens on the discard port. Without the second, requests to loopback would bypass every proxy.
      '--proxy-server=http://127.0.0.1:9',
      '--proxy-bypass-list=<-loopback>',
      // Names are resolved by the guard; a look-up here could only be a leak.
      '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1',
      // What leaves must be TCP, where the guard sees it.
      '--disable-quic',
      '--force-webrtc-ip-handling-policy=disable_non_proxied_udp',
      // A page must not be slowed for being one of several.
      '--disable-renderer-backgrounding',
    ],
  });
  try {
    const pid = await withDeadline(findPid(browser), LAUNCH_TIMEOUT_MS, 'asking the browser for its process id');
    const groupId = await groupOf(pid);
    const profile = findProfile(await readCommandLine(pid));
    return { browser, pid, groupId, end: () => endBrowser(browser, groupId, profile) };
  } catch (error) {
    await browser.close();
    throw error;
  }
}

async function findPid(browser: Browser): Promise<number> {
  const session = await browser.newBrowserCDPSession();
  const { processInfo } = await session.send('SystemInfo.getProcessInfo');
  await session.detach();
  const main = processInfo.find(({ type }) => type === 'browser');
  if (main === undefined) throw new Error('the browser does not name its own process');
  return main.id;
}

function findProfile(commandLine: readonly string[]): string | null {
  const flag = '--user-data-dir=';
  return commandLine.find((word) => word.startsWith(flag))?.slice(flag.length) ?? null;
}

async function endBrowser(browser: Browser, groupId: number, profile: string | null): Promise<void> {
  let failure: unknown;
  // Once the browser is gone, nobody knows any more which helpers were its own.
  const members = await listTree(groupId);
  try {
    await withDeadline(browser.close(), CLOSE_TIMEOUT_MS, 'closing the browser');
  } catch (error) {
    failure = error;
  }
  // Also after a clean close, which helpers may outlive.
  const gone = await killProcesses(groupId, members, KILL_TIMEOUT_MS);
  if (profile !== null) await rm(profile, { recursive: true, force: true, maxRetries: 3, retryDelay: 200 });
  if (!gone) throw new Error(`the browser's process group ${groupId} survived SIGKILL`, { cause: failure });
}
