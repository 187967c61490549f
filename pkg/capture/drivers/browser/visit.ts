import type { Page } from 'playwright-core';
import type { Clock } from '../../../runtime/index.ts';
import type { Logger } from '../../../telemetry/index.ts';
import type { CaptureResult, CaptureTask, ReadinessSignal } from '../../outcome.ts';
import type { PlacedPart } from '../../profile/parts.ts';
import type { Profile } from '../../profile/profile.ts';
import type { TemplateValues } from '../../profile/template.ts';

/** A step as whoever writes the lane wants to see it. */
export type StepAbout = { list: string; index: number; text: string; selector: string };
export type StepSeen = StepAbout & { tookMs: number; failure: string | null };

/** The page that an observer sees. */
export type ObservedPage = Page;

/** Looks over the shoulder of one capture; what it does is part of the capture's time. */
export type CaptureObserver = {
  /** Before the page goes anywhere. */
  starting?(page: ObservedPage): Promise<void>;
  beforeStep?(page: ObservedPage, step: StepAbout): Promise<void>;
  afterStep?(page: ObservedPage, step: StepSeen): Promise<void>;
  /** The page still stands as it was read, or as it failed. */
  leaving?(page: ObservedPage, result: CaptureResult): Promise<void>;
};

/** One capture on its way: what is fixed about it, and what has happened so far. */
export type Visit = {
  readonly page: Page;
  readonly profile: Profile;
  /** The profile, document by document; without its markers once they have held and the page is being opened up. */
  parts: readonly PlacedPart[];
  readonly task: CaptureTask;
  readonly values: TemplateValues;
  /** The values that the profile takes from the environment, by variable. */
  readonly secrets: ReadonlyMap<string, string>;
  readonly observer?: CaptureObserver | undefined;
  /** A picture of the page as it was read, beside its proof. */
  readonly wantsPicture: boolean;
  readonly clock: Clock;
  readonly log: Logger;
  /** Waiting for the answer ends here, so that time is left to read what stands there. */
  readonly answerByMs: number;
  /** Prepares the next capture's page, once this one has nothing to do but wait. */
  readonly warmNext: () => void;
  /** The question is being asked in the page, or has been. */
  isAsking: boolean;
  /** When the question was sent; null before. */
  askedAtMs: number | null;
  /** Consent overlays that did not go away. */
  ignoredConsent: number[];
  /** What was noticed outside the page. */
  signals: ReadinessSignal[];
};

/** How long the visit may still wait; never negative. */
export function leftMs({ answerByMs, clock }: Visit): number {
  return Math.max(0, answerByMs - clock.nowMs());
}

/** Since the question was sent, 0 before. */
export function askedAgoMs({ askedAtMs, clock }: Visit): number {
  return askedAtMs === null ? 0 : clock.nowMs() - askedAtMs;
}

export function note(visit: Visit, name: string): void {
  visit.signals.push({ name, atMs: askedAgoMs(visit) });
}

/** First line of what went wrong: Playwright appends a log of its attempts. */
export function explain(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  return (message.split('\n', 1)[0] ?? '').slice(0, 300);
}
