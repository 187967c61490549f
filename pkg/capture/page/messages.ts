import type { Condition, Marker, Profile } from '../profile/profile.ts';

/** What a profile says about one document: the page itself, or that of an iframe in it. Selectors are local to it. */
export type PagePart = {
  /** The page itself, not an iframe. */
  isTop: boolean;
  holdsAnswer: boolean;
  until?: string;
  markers: { name: string; marker: Marker }[];
  quietMs: number;
  graceMs?: number;
  busy?: string;
  error?: string;
  read: Omit<Profile['read'], 'before' | 'leave'>;
  /** Here `url` is the source of a regular expression. */
  absent: Condition[];
  refusals: { condition: Condition; kind: 'blocked' | 'signIn' | 'error' }[];
  /** `index` is the rule's place in the profile. */
  consent: { index: number; when: string }[];
};

/** What the scripts in the page are told. Plain data: it crosses into the page as JSON. */
export type PageOrder = {
  part: PagePart;
  /** What was asked in the page, to tell our own words from an answer. Null where the URL has asked. */
  question: string | null;
  /** The page looks until then, at most. */
  budgetMs: number;
  /** Since the question was sent, 0 where it is sent later. */
  askedAgoMs: number;
  /** Text must also have been quiet for so long after this order came: something outside has just changed. */
  settleMs: number;
  /** Indexes of consent overlays that could not be dismissed. */
  ignoredConsent: number[];
  wantsProof: boolean;
};

export type PageSignal = { name: string; atMs: number };

export type ListedItem = { url: string; title: string; role: string; ref?: string };
export type ResultItem = { url: string; title: string; snippet: string; date: string };

/** Everything that is read, in one moment. */
export type PageReading = {
  url: string;
  html: string;
  listed: ListedItem[];
  results: ResultItem[];
  fanOut: string[];
  modelLabel: string | null;
  webSearch: boolean | null;
  hasText: boolean;
  proofHtml: string | null;
};

/** Why the page stopped looking. */
export type PageVerdict = { signals: PageSignal[] } &
  /** `held`: everything that this document has to show for the end is there. */
  (
    | { kind: 'ready'; held: boolean }
    /** A later order took its place. */
    | { kind: 'superseded' }
    | { kind: 'consent'; index: number }
    | { kind: 'blocked' | 'failed' | 'unusable'; detail: string }
    | { kind: 'absent'; proofHtml: string | null }
    | { kind: 'finished' | 'late'; reading: PageReading }
  );

/** The calls that the script in the page answers. */
export type PageCall = 'arrive' | 'mark' | 'check' | 'wait' | 'watch' | 'hold' | 'read';
