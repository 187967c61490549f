import { SOURCE_ROLES, type ObservedModel, type Region, type SourceRole } from '../../../contract/index.ts';
import { withDeadline } from '../../../runtime/index.ts';
import { readHtml, readResults, type ListedSource, type Reading } from '../../answer/index.ts';
import type { CapturedPage, CaptureResult, CaptureTask, ReadinessSignal } from '../../outcome.ts';
import type { ListedItem, PageReading, PageSignal } from '../../page/messages.ts';
import type { Profile } from '../../profile/profile.ts';
import { findProofFault } from '../../proof/check.ts';
import { explain, type Visit } from './visit.ts';

const SCREENSHOT_TIMEOUT_MS = 2_000;

/** What was read, as a capture's result; `empty` or `timeout` where it holds no text. */
export function toResult(
  visit: Visit,
  kind: 'finished' | 'late',
  page: PageReading,
  signals: readonly PageSignal[],
): CaptureResult {
  const reading = readAnswer(visit.profile, page);
  if (reading.answer.text === '') {
    const seen = mergeSignals(visit, signals);
    return kind === 'finished'
      ? { outcome: 'empty', detail: 'The page finished without text.', signals: seen }
      : { outcome: 'timeout', detail: `No text within ${visit.task.timeoutMs} ms.`, signals: seen };
  }
  const captured: CapturedPage = {
    answer: reading.answer,
    evidence: {
      sources: reading.sources,
      fanOut: { provenance: visit.profile.read.fanOut === undefined ? 'none' : 'observed', queries: page.fanOut },
    },
    model: toModel(visit.profile, page.modelLabel),
    webSearch: page.webSearch,
    effectiveRegion: effectiveRegion(visit.profile, visit.task),
    proofHtml: checkProof(visit, page.proofHtml),
    signals: mergeSignals(visit, signals),
  };
  return { outcome: kind === 'finished' ? 'completed' : 'partial', ...captured };
}

/** What was noticed outside the page and in it, in order. */
export function mergeSignals(visit: Visit, seen: readonly PageSignal[]): ReadinessSignal[] {
  return [...visit.signals, ...seen].sort((a, b) => a.atMs - b.atMs);
}

function readAnswer(profile: Profile, page: PageReading): Reading {
  const { links } = profile;
  const baseUrl = page.url;
  if (profile.read.answer === undefined) return readResults({ results: page.results, baseUrl, links });
  const results = page.results.map(({ url, title }): ListedSource => ({ url, title, role: 'result' }));
  const listed = [...page.listed.map(toListed), ...results];
  return readHtml({ html: page.html, baseUrl, listed, links });
}

function toListed({ url, title, role, ref }: ListedItem): ListedSource {
  return { url, title, role: toRole(role), ...(ref === undefined ? {} : { ref }) };
}

function toRole(name: string): SourceRole {
  return SOURCE_ROLES.find((role) => role === name) ?? 'reference';
}

function toModel({ model }: Profile, shownLabel: string | null): ObservedModel {
  const providerId = model?.providerId ?? null;
  if (shownLabel !== null) return { providerId, observedLabel: shownLabel, inferred: false, confidence: 1 };
  if (model?.label === undefined) return { providerId, observedLabel: null, inferred: false, confidence: null };
  return { providerId, observedLabel: model.label, inferred: true, confidence: 0.5 };
}

/** The language goes into every context; other fields count only where the profile says that its request applies them. */
export function effectiveRegion(profile: Profile, { region }: CaptureTask): Partial<Region> | null {
  if (region === null) return null;
  const effective: Partial<Region> = {};
  for (const field of new Set([...(profile.go.applies ?? []), 'language' as const])) {
    const value = region[field];
    if (value !== undefined) effective[field] = value;
  }
  return Object.keys(effective).length === 0 ? null : effective;
}

/** A proof that is not what it must be is no proof: it is left out, and the operator is told. */
export function checkProof(visit: Visit, html: string | null): string | null {
  if (html === null) return null;
  const fault = findProofFault(html);
  if (fault === null) return html;
  visit.log.warn({ fault, captureId: visit.task.captureId }, 'The proof page was refused');
  return null;
}

/** A refusal, with a picture of it where the page still lets itself be painted. */
export async function refuse(visit: Visit, outcome: 'blocked' | 'unusable', detail: string): Promise<CaptureResult> {
  try {
    const options = { type: 'png', timeout: SCREENSHOT_TIMEOUT_MS } as const;
    const picture = await withDeadline(visit.page.screenshot(options), SCREENSHOT_TIMEOUT_MS, 'the screenshot');
    return { outcome, detail, screenshot: new Uint8Array(picture) };
  } catch (error) {
    visit.log.debug({ reason: explain(error) }, 'No screenshot of a refused page');
    return { outcome, detail };
  }
}
