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
  sandbox: Sandbox;
  /** Closes, and kills the whole process tree when that takes longer than five seconds. Never hangs. */
  end(): Promise<void>;
};

/** Whether Chromium's own sandbox stands around its renderers, and why not. */
export type Sandbox = { on: true } | { on: false; reason: string };

/**
 * Starts one Chromium, sandboxed where this user and the kernel allow it. Throws when it does not come up within 30 s.
 * `sandbox` is what an earlier launch found out, so that it is not tried again.
 */
export async function launchBrowser(options: {
  executablePath: string;
  sandbox: Sandbox | null;
  /** Default false: with a window, for a person to watch. */
  headed?: boolean;
}): Promise<LaunchedBrowser> {
  const { executablePath, headed = false } = options;
  const sandbox = options.sandbox ?? (isRoot() ? AS_ROOT : { on: true });
  try {
    return await launch({ executablePath, headed, sandbox });
  } catch (error) {
    const reason = findSandboxFault(error);
    if (!sandbox.on || options.sandbox !== null || reason === null) throw error;
    return await launch({ executablePath, headed, sandbox: { on: false, reason } });
  }
}

const AS_ROOT: Sandbox = { on: false, reason: 'the process runs as root, whom Chromium refuses to sandbox' };

function isRoot(): boolean {
  return process.getuid?.() === 0;
}

/** What Chromium says when it finds no way to sandbox itself; null when it failed for something else. */
export function findSandboxFault(error: unknown): string | null {
  const message = error instanceof Error ? error.message : String(error);
  const [said] = /(no usable sandbox|the SUID sandbox|failed to move to new namespace)[^!.\n]*/i.exec(message) ?? [];
  return said === undefined ? null : `Chromium found none that it may use here ("${said}")`;
}

async function launch(options: {
  executablePath: string;
  headed: boolean;
  sandbox: Sandbox;
}): Promise<LaunchedBrowser> {
  const { executablePath, headed, sandbox } = options;
  // Loaded only here: processes that capture nothing import this package too, for its outcome table.
  const { chromium } = await import('playwright-core');
  const browser = await chromium.launch({
    executablePath,
    headless: !headed,
    chromiumSandbox: sandbox.on,
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
      // Playwright lets pages run WebGL in software, in the GPU process: no answer is drawn so, and it costs every
      // browser 12 MiB (measured) and a way for hostile shaders.
      '--disable-software-rasterizer',
      // A page must not be slowed for being one of several.
      '--disable-renderer-backgrounding',
    ],
  });
  try {
    const pid = await withDeadline(findPid(browser), LAUNCH_TIMEOUT_MS, 'asking the browser for its process id');
    const groupId = await groupOf(pid);
    const profile = findProfile(await readCommandLine(pid));
    return { browser, pid, groupId, sandbox, end: () => endBrowser(browser, groupId, profile) };
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
