import type { Profile, RegionField } from '../../profile/profile.ts';

/**
 * The profile of the `http` driver is data too: what to send to a JSON search API, and where in its answer things
 * stand.
 *
 * Templates are those of the browser driver's profile. Expressions are JMESPath; those of an entry are evaluated in
 * the entry, all others in the whole answer.
 */
export type HttpProfile = {
  go: {
    method: 'GET' | 'POST';
    /** Its origin is fixed: no placeholder stands before the path. */
    url: string;
    headers: Record<string, string>;
    /** The body. Every text in it is a template; an entry whose placeholder has no value is left out. */
    form?: Record<string, string>;
    json?: unknown;
    /** Region fields that this request really applies, so that `effective` may name them. */
    applies: RegionField[];
    secret?: HttpSecret;
  };
  read: {
    results?: ResultMapping;
    answer?: { text: string; format: TextFormat };
    sources?: EntryMapping;
    /** Follow-up searches: a text or a list of texts. */
    fanOut?: string;
    /** The label of the model that answered. */
    model?: string;
    /** True or false where the API tells whether it searched the web. */
    webSearch?: string;
  };
  /** Expressions that hold (JMESPath truth) when the answer is none, asked in this order. */
  classify: { blocked?: string; error?: string; absent?: string };
  links?: Profile['links'];
  model?: Profile['model'];
};

/** The key of the API, in an environment variable, sent as a header or as a parameter of the URL. */
export type HttpSecret = { env: string; prefix: string } & ({ header: string } | { parameter: string });

export const TEXT_FORMATS = ['text', 'markdown', 'html'] as const;
export type TextFormat = (typeof TEXT_FORMATS)[number];

export type EntryMapping = { items: string; url: string; title?: string };

export type ResultMapping = EntryMapping & {
  snippet?: string;
  date?: string;
  /** A number by which the entries are put in order; without it they stay as they come. */
  rank?: string;
  /** Text that a person sees above the list. */
  summary?: string;
  /** How titles, snippets and the summary are written. */
  format: 'text' | 'html';
};
