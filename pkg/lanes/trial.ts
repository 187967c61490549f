import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  explainSelector,
  listSelectors,
  type CaptureObserver,
  type CaptureResult,
  type CaptureTask,
  type ObservedPage,
  type SelectorFacts,
  type StepSeen,
} from '../capture/index.ts';
import type { Region } from '../contract/index.ts';
import type { Clock } from '../runtime/index.ts';
import type { Logger } from '../telemetry/index.ts';
import { createDrivers } from './drivers.ts';
import type { CaptureLane } from './lane.ts';

/** A step, and what the page had for its selector when it was made. */
export type TriedStep = StepSeen & { facts: SelectorFacts | null };
/** A selector of the profile, and what the page had for it at the end. */
export type TriedSelector = { path: string; selector: string; facts: SelectorFacts | null };

export type Trial = {
  task: CaptureTask;
  result: CaptureResult;
  startedAt: Date;
  endedAt: Date;
  steps: TriedStep[];
  selectors: TriedSelector[];
  /** What the page complained of: errors in its console, requests that failed. Each once. */
  complaints: string[];
  /** What was written for a person to look at. */
  files: string[];
};

export type TrialOptions = {
  lane: CaptureLane;
  query: string;
  region: Region | null;
  headed: boolean;
  /** Where a picture of a failure goes. */
  pictureDir: string;
  /** Keep a Playwright trace, the page and its proof there. */
  traceDir: string | null;
  browserExecutable: string;
  secretsDir: string;
  env: NodeJS.ProcessEnv;
  clock: Clock;
  log: Logger;
};

const SETTLE_STEP_MS = 2_000;

/** Captures once as a lane pod would, without database and queue, and remembers all that its author wants to know. */
export async function tryLane(options: TrialOptions): Promise<Trial> {
  const { lane, clock } = options;
  const task: CaptureTask = {
    captureId: `try.${lane.spec.surface}.GLOBAL`,
    surface: lane.spec.surface,
    query: options.query,
    region: options.region,
    wantsProof: options.traceDir !== null,
    timeoutMs: lane.spec.timeouts.captureSeconds * 1000,
  };
  const seen: Seen = { steps: [], selectors: [], complaints: [], files: [] };
  const drivers = await createDrivers({
    ...options,
    lanes: [options.headed ? withWindow(lane) : lane],
    observer: observe(options, seen),
  });
  try {
    const startedAt = new Date(clock.nowMs());
    const result = await drivers.of(lane).capture(task, new AbortController().signal);
    const endedAt = new Date(clock.nowMs());
    if (options.traceDir !== null && 'proofHtml' in result && result.proofHtml !== null)
      seen.files.push(await write(options.traceDir, 'proof.html', result.proofHtml));
    return { task, result, startedAt, endedAt, ...seen };
  } finally {
    await drivers.close();
  }
}

/** The headless shell has no windows. */
function withWindow(lane: CaptureLane): CaptureLane {
  return { ...lane, spec: { ...lane.spec, browser: { ...lane.spec.browser, executable: 'chromium' } } };
}

type Seen = Pick<Trial, 'steps' | 'selectors' | 'complaints' | 'files'>;

const MOST_COMPLAINTS = 20;

function listen(page: ObservedPage, complaints: string[]): void {
  const note = (text: string): void => {
    const line = text.replace(/\s+/g, ' ').slice(0, 200);
    if (complaints.length < MOST_COMPLAINTS && !complaints.includes(line)) complaints.push(line);
  };
  page.on('console', (message) => {
    if (message.type() === 'error') note(`console: ${message.text()}`);
  });
  page.on('pageerror', (error) => note(`error: ${error.message}`));
  page.on('requestfailed', (request) => note(`request: ${request.url()} ${request.failure()?.errorText ?? ''}`));
}

function observe({ lane, traceDir, pictureDir }: TrialOptions, seen: Seen): CaptureObserver {
  let facts: SelectorFacts | null = null;
  const observer: CaptureObserver = {
    starting: async (page) => {
      listen(page, seen.complaints);
      if (traceDir !== null) await page.context().tracing.start({ screenshots: true, snapshots: true });
    },
    beforeStep: async (page, { selector }) => {
      facts = await explainOnceThere(page, selector);
    },
    afterStep: async (page, step) => {
      seen.steps.push({ ...step, facts: step.failure === null ? facts : await explainSelector(page, step.selector) });
    },
    leaving: async (page, result) => {
      if (lane.spec.driver === 'browser') {
        for (const named of listSelectors(lane.spec.profile))
          seen.selectors.push({ ...named, facts: await explainSelector(page, named.selector) });
      }
      const failed = result.outcome !== 'completed' && result.outcome !== 'absent';
      if (failed || traceDir !== null) {
        const picture = await page.screenshot({ type: 'png' });
        seen.files.push(await write(traceDir ?? pictureDir, `${lane.metadata.name}.png`, picture));
      }
      if (traceDir === null) return;
      seen.files.push(await write(traceDir, 'page.html', await page.content()));
      const path = join(traceDir, 'trace.zip');
      await page.context().tracing.stop({ path });
      seen.files.push(path);
    },
  };
  return observer;
}

/** Most steps wait for their target: what is said of it is what they find then. */
async function explainOnceThere(page: ObservedPage, selector: string): Promise<SelectorFacts | null> {
  const untilMs = performance.now() + SETTLE_STEP_MS;
  for (;;) {
    const facts = await explainSelector(page, selector);
    if ((facts !== null && facts.visible > 0) || performance.now() > untilMs) return facts;
    await page.waitForTimeout(50);
  }
}

async function write(dir: string, name: string, content: string | Uint8Array): Promise<string> {
  await mkdir(dir, { recursive: true });
  const path = join(dir, name);
  await writeFile(path, content);
  return path;
}
