import type { Profile } from '../profile/profile.ts';

/** What the scripts in the page are told. Plain data: it crosses into the page as JSON. */
export type PageOrder = {
  profile: Pick<Profile, 'finished' | 'read' | 'classify'> & { go: Pick<Profile['go'], 'until'> };
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
export type PageVerdict = { signals: PageSignal[] } & (
  | { kind: 'ready' }
  | { kind: 'consent'; index: number }
  | { kind: 'blocked' | 'failed' | 'unusable'; detail: string }
  | { kind: 'absent'; proofHtml: string | null }
  | { kind: 'finished' | 'late'; reading: PageReading }
);
