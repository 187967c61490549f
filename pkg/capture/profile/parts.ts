import type { PagePart } from '../page/messages.ts';
import { globToRegExp } from './glob.ts';
import type { CitationRule, Condition, Marker, Profile } from './profile.ts';
import { splitFrames } from './selector.ts';

/** What the profile says about one document, and the iframes that lead there, outermost first. */
export type PlacedPart = { frames: string[]; part: PagePart };

/**
 * A profile, document by document: first the page itself, then the iframes that its selectors lead into. Exactly one
 * part holds the answer.
 */
export function splitByFrame(profile: Profile): PlacedPart[] {
  const { go, finished, read, classify = {} } = profile;
  const places = new Map<string, PlacedPart>();
  const at = (frames: string[]): PagePart => {
    const key = frames.join(' >>> ');
    const known = places.get(key);
    if (known !== undefined) return known.part;
    const part = emptyPart(finished, frames.length === 0);
    places.set(key, { frames, part });
    return part;
  };
  at([]);
  const place = (selector: string, put: (part: PagePart, inside: string) => void): void => {
    const { frames, inside } = splitFrames(selector);
    put(at(frames), inside);
  };
  const maybe = (selector: string | undefined, put: (part: PagePart, inside: string) => void): void => {
    if (selector !== undefined) place(selector, put);
  };

  const { frames } = splitFrames(read.answer ?? read.results?.item ?? '');
  const home = at(frames);
  home.holdsAnswer = true;
  maybe(read.answer, (_, answer) => {
    home.read.answer = answer;
    if (read.join !== undefined) home.read.join = read.join;
    if (read.drop !== undefined) home.read.drop = read.drop;
  });
  maybe(read.question, (_, question) => (home.read.question = question));
  maybe(read.results?.item, (part, item) => (part.read.results = { ...read.results, item }));
  maybe(read.fanOut?.item, (part, item) => (part.read.fanOut = { ...read.fanOut, item }));
  maybe(read.model?.selector, (part, selector) => (part.read.model = { ...read.model, selector }));
  maybe(read.webSearch, (part, webSearch) => (part.read.webSearch = webSearch));
  for (const rule of read.citations ?? []) placeCitation(rule, home, place);

  maybe(go.until, (part, until) => (part.until = until));
  maybe(finished.busy, (part, busy) => (part.busy = busy));
  maybe(finished.error, (part, error) => (part.error = error));
  for (const [index, marker] of (finished.markers ?? []).entries()) placeMarker(marker, index, place);

  const condition = (rule: Condition, put: (part: PagePart, local: Condition) => void): void => {
    const local = rule.url === undefined ? rule : { ...rule, url: globToRegExp(rule.url).source };
    if (rule.selector === undefined) put(at([]), local);
    else place(rule.selector, (part, selector) => put(part, { ...local, selector }));
  };
  for (const rule of classify.absent ?? []) condition(rule, (part, local) => part.absent.push(local));
  for (const kind of ['blocked', 'signIn', 'error'] as const) {
    for (const rule of classify[kind] ?? [])
      condition(rule, (part, local) => part.refusals.push({ condition: local, kind }));
  }
  for (const [index, rule] of (classify.consent ?? []).entries())
    place(rule.when, (part, when) => part.consent.push({ index, when }));
  return [...places.values()];
}

type Place = (selector: string, put: (part: PagePart, inside: string) => void) => void;

function emptyPart({ quietMs, graceMs }: Profile['finished'], isTop: boolean): PagePart {
  return {
    isTop,
    holdsAnswer: false,
    markers: [],
    quietMs,
    ...(graceMs === undefined ? {} : { graceMs }),
    read: {},
    absent: [],
    refusals: [],
    consent: [],
  };
}

/** Links in the text stand where the text stands; a list beside it may stand in another document. */
function placeCitation(rule: CitationRule, home: PagePart, place: Place): void {
  place(rule.item, (part, item) => {
    const { reveal } = rule;
    const local = { ...rule, item, ...(reveal && { reveal: { ...reveal, shows: splitFrames(reveal.shows).inside } }) };
    const owner = rule.where === 'inline' ? home : part;
    owner.read.citations = [...(owner.read.citations ?? []), local];
  });
}

function placeMarker(marker: Marker, index: number, place: Place): void {
  const put = (of: string, describe: (inside: string) => Marker): void =>
    place(of, (part, inside) =>
      part.markers.push({ name: `marker ${index + 1} (${describeMarker(marker)})`, marker: describe(inside) }),
    );
  if ('present' in marker) put(marker.present, (present) => ({ present }));
  else if ('gone' in marker) put(marker.gone, (gone) => ({ gone }));
  else if ('visible' in marker) put(marker.visible, (visible) => ({ visible }));
  else if ('hidden' in marker) put(marker.hidden, (hidden) => ({ hidden }));
  else put(marker.of, (of) => ({ ...marker, of }));
}

function describeMarker(marker: Marker): string {
  if ('attribute' in marker) return `${marker.attribute}="${marker.is}" of ${marker.of}`;
  if ('text' in marker) return `text "${marker.text}" of ${marker.of}`;
  const [verb = '', selector = ''] = Object.entries(marker)[0] ?? [];
  return `${verb} ${selector}`;
}
