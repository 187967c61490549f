import type { SelectorFacts } from '../../pkg/capture/index.ts';
import type { CaptureLane, Trial, TriedSelector, TriedStep } from '../../pkg/lanes/index.ts';
import { previewEnvelope } from '../../pkg/searches/index.ts';

const MOST_TEXT = 2_000;

/** A trial for programs. */
export function toData({ metadata, spec }: CaptureLane, trial: Trial): unknown {
  const { result, steps, selectors, complaints, files } = trial;
  return {
    lane: metadata.name,
    surface: spec.surface,
    driver: spec.driver,
    outcome: result.outcome,
    ...('detail' in result ? { detail: result.detail } : {}),
    tookMs: tookMs(trial),
    steps: steps.map(({ list, index, text, tookMs: stepMs, failure, facts }) => ({
      ...{ path: `${list}[${index}]`, step: text, tookMs: Math.round(stepMs), failure },
      ...{ matches: facts?.matches ?? 0, nearby: facts?.nearby ?? [] },
    })),
    selectors: selectors.map(({ path, selector, facts }) => ({ path, selector, ...facts })),
    complaints,
    signals: result.signals ?? [],
    envelope: previewEnvelope(trial.task, result, trial),
    files,
  };
}

/** The same for a person. */
export function reportTrial({ metadata, spec }: CaptureLane, trial: Trial): string {
  const { task, result, steps, selectors, complaints, files } = trial;
  const ended = `${result.outcome} after ${tookMs(trial)} ms${'detail' in result ? `: ${result.detail}` : ''}`;
  return [
    `Lane ${metadata.name} (${spec.surface}, driver ${spec.driver}), asked ${JSON.stringify(task.query)}`,
    ...section('Steps', steps.flatMap(describeStep)),
    ...section('What the selectors found at the end', selectors.flatMap(describeSelector)),
    ...section('What the page complained of', complaints),
    ...section('Signals, in ms after the question', describeSignals(trial)),
    ...section('Outcome', [ended]),
    ...('answer' in result ? section('Text', [cut(result.answer.text)]) : []),
    ...section('Envelope', [JSON.stringify(previewEnvelope(task, result, trial), null, 2)]),
    ...section('Files', files),
  ].join('\n');
}

function tookMs({ startedAt, endedAt }: Trial): number {
  return endedAt.getTime() - startedAt.getTime();
}

function section(title: string, lines: readonly string[]): string[] {
  return lines.length === 0
    ? []
    : ['', `${title}:`, ...lines.flatMap((line) => line.split('\n')).map((line) => `  ${line}`)];
}

function describeStep({ list, index, text, tookMs: stepMs, failure, facts }: TriedStep): string[] {
  const verdict = failure === null ? 'ok' : 'FAILED';
  const head = `${list}[${index}] ${text}: ${verdict} after ${Math.round(stepMs)} ms, ${describeMatches(facts)}`;
  return [head, ...(failure === null ? [] : [`    ${failure}`]), ...describeNearby(facts)];
}

function describeSelector({ path, selector, facts }: TriedSelector): string[] {
  return [`${path} ${selector}: ${describeMatches(facts)}`, ...describeNearby(facts)];
}

function describeMatches(facts: SelectorFacts | null): string {
  if (facts === null) return 'the page could not be asked';
  if (facts.matches === 0) return 'no match';
  return `${facts.matches} ${facts.matches === 1 ? 'match' : 'matches'} (${facts.visible} visible), first ${facts.first ?? ''}`;
}

function describeNearby(facts: SelectorFacts | null): string[] {
  if (facts === null || facts.matches > 0) return [];
  const { holds, fails, nearby } = facts;
  return [
    ...(holds === null ? [] : [`    "${holds}" matches, "${fails ?? ''}" in it does not`]),
    ...(nearby.length === 0
      ? []
      : [`    nearest in the page: ${nearby.map(({ selector, matches }) => `${selector} (${matches})`).join(', ')}`]),
  ];
}

function describeSignals({ result }: Trial): string[] {
  return (result.signals ?? []).map(({ name, atMs }) => `${String(Math.round(atMs)).padStart(6)}  ${name}`);
}

function cut(text: string): string {
  return text.length > MOST_TEXT ? `${text.slice(0, MOST_TEXT)}…` : text;
}
