import type { Condition, Marker, Profile, Step } from './profile.ts';

/** A selector of a profile, and where it stands in it. */
export type NamedSelector = { path: string; selector: string };

/** What is to be found in the finished page, for whoever looks at why it was not. Steps are told of on their own. */
export function listSelectors({ go, finished, read, classify }: Profile): NamedSelector[] {
  const found: NamedSelector[] = [];
  const add = (path: string, selector: string | undefined): void => {
    if (selector !== undefined) found.push({ path, selector });
  };
  add('go.until', go.until);
  for (const [index, marker] of (finished.markers ?? []).entries())
    add(`finished.markers[${index}]`, selectorOf(marker));
  add('finished.busy', finished.busy);
  add('finished.error', finished.error);
  add('read.answer', read.answer);
  add('read.question', read.question);
  for (const [index, rule] of (read.citations ?? []).entries()) {
    add(`read.citations[${index}].item`, rule.item);
    add(`read.citations[${index}].link`, inside(rule.item, rule.link));
  }
  add('read.fanOut.item', read.fanOut?.item);
  add('read.results.item', read.results?.item);
  for (const key of ['link', 'title', 'snippet', 'date'] as const)
    add(`read.results.${key}`, inside(read.results?.item, read.results?.[key]));
  add('read.model.selector', read.model?.selector);
  add('read.webSearch', read.webSearch);
  for (const kind of ['absent', 'blocked', 'signIn', 'error'] as const) {
    for (const [index, rule] of (classify?.[kind] ?? []).entries())
      addCondition(add, `classify.${kind}[${index}]`, rule);
  }
  for (const [index, { when }] of (classify?.consent ?? []).entries()) add(`classify.consent[${index}].when`, when);
  return found;
}

function addCondition(add: (path: string, selector?: string) => void, path: string, { selector }: Condition): void {
  add(`${path}.selector`, selector);
}

/** Selectors with alternatives can not be put one behind the other. */
function inside(item: string | undefined, selector: string | undefined): string | undefined {
  if (item === undefined || selector === undefined || `${item}${selector}`.includes(',')) return undefined;
  return `${item} ${selector}`;
}

function selectorOf(marker: Marker): string {
  if ('present' in marker) return marker.present;
  if ('gone' in marker) return marker.gone;
  if ('visible' in marker) return marker.visible;
  if ('hidden' in marker) return marker.hidden;
  return marker.of;
}

/** The node that a step is made on. */
export function targetOf(step: Step): string {
  if ('fill' in step) return step.fill;
  if ('type' in step) return step.type;
  if ('press' in step) return step.press;
  if ('click' in step) return step.click;
  if ('hover' in step) return step.hover;
  if ('select' in step) return step.select;
  if ('waitFor' in step) return step.waitFor;
  if ('waitGone' in step) return step.waitGone;
  return step.scroll;
}

const VERBS = ['fill', 'type', 'press', 'click', 'hover', 'select', 'waitFor', 'waitGone', 'scroll'];

/** The step as its author wrote it, in short. */
export function describeStep(step: Step): string {
  return `${VERBS.find((verb) => verb in step) ?? ''} ${targetOf(step)}`;
}
