import type { SourceRole } from '../../contract/index.ts';

/**
 * A profile is data: it tells the browser driver how to ask one engine and how to read its answer. The driver knows
 * no engine.
 *
 * Selectors are CSS; they reach through open shadow roots. A template holds `{query}`, `{language}`, `{country}`, `{state}`, `{city}`; in a
 * URL the values are percent-encoded, and a parameter or path segment whose placeholder has no value is dropped.
 */
export type Profile = {
  go: {
    /** Where to start, for example `https://engine.example/search?q={query}`. */
    url: string;
    headers?: Record<string, string>;
    /** Region fields that the URL or headers above really apply, so that `effective` may name them. */
    applies?: RegionField[];
    /**
     * What must stand there, beside the whole document, before the first step; without steps, before the answer can
     * be finished.
     */
    until?: string;
  };
  /** How to ask, in order. Empty where the URL already asked. */
  ask: Step[];
  /** The answer is finished when ALL of these hold. */
  finished: {
    markers?: Marker[];
    /** The text of `read.answer` (or `read.results`) has not changed for this long, seen from inside the page. */
    quietMs: number;
    /** Globs of URLs whose requests must have ended, where the page makes such requests at all. */
    streams?: string[];
    /** What shows that the page is busy, for example a stop button; its presence is never the end. */
    busy?: string;
    /** A marker of failure that ends the capture early. */
    error?: string;
    /** How long a page may stay idle after asking before "no text, not busy" counts as finished. Default 2000. */
    graceMs?: number;
  };
  read: {
    /** The answer's node; with several matches the last one after our question, unless `join`. */
    answer?: string;
    /** Read all matches, joined in order. */
    join?: boolean;
    /** Nodes inside the answer that are no answer: buttons, toolbars, labels. */
    drop?: string[];
    citations?: CitationRule[];
    /** Follow-up searches the engine made, observed at any moment of the capture. */
    fanOut?: { item: string; text?: string };
    results?: ResultRule;
    /** The model label that the page shows. */
    model?: { selector: string; attribute?: string };
    /** Something to click before reading, for example to open a collapsed source list. */
    before?: Step[];
    /** Shows that the engine searched the web for this answer. */
    webSearch?: string;
  };
  /**
   * Looked at when the page has come up, and from then on until the end. What `blocked` matches is a refusal at once;
   * what `absent` matches must hold for a quarter of a second. Where neither matches, HTTP 403 and 429 are refusals and
   * every other status from 400 is no answer page.
   */
  classify?: {
    absent?: Condition[];
    blocked?: Condition[];
    /** Overlays to dismiss before asking; by `reject` where the page has one. */
    consent?: { when: string; dismiss: string }[];
  };
  /** Links: hosts whose redirect parameter holds the real target, and query parameters that are only tracking. */
  links?: { unwrap?: { host: string; parameter: string }[]; strip?: string[] };
  /** What the page may load. Default: anything the lane's egress allows. */
  fetch?: { abortTypes?: ResourceType[]; abortUrls?: string[] };
  /** What is known about the engine beforehand. */
  model?: { providerId: string; label?: string };
};

export type RegionField = 'country' | 'state' | 'city' | 'language';

export type Step =
  | { fill: string; with: string }
  | { type: string; with: string }
  | { press: string; key: string }
  | { click: string; optional?: boolean }
  | { select: string; option: string }
  | { waitFor: string }
  | { scroll: string };

/** One observable fact of the page. */
export type Marker =
  | { present: string }
  | { gone: string }
  | { visible: string }
  | { hidden: string }
  | { attribute: string; of: string; is: string };

/**
 * All given parts must hold: `selector` matches anything, `status` holds the document's HTTP status, `title` and `text`
 * stand in the page's title or visible text, whatever the case.
 */
export type Condition = { selector?: string; status?: number[]; title?: string; text?: string };

export type CitationRule = {
  /** Matches inside the answer (a link, a chip) or beside it (an entry of a source list). */
  item: string;
  where: 'inline' | 'listed';
  role: SourceRole;
  /** Where the URL stands: an attribute of the item or of `link` inside it. Default `href`. */
  link?: string;
  attribute?: string;
  /** The title: an attribute of the item, or a selector inside it whose text it is. Default: the listed link's text. */
  title?: string;
  /**
   * Inline: whether the item's own text is only a marker and no part of the answer. Default: it is where the text is
   * a number, the cited host or empty, or where the item has no URL of its own.
   */
  chip?: boolean;
  /**
   * For inline chips that carry no URL: the attribute that names an entry of the source list (where the chip has no
   * such attribute, or for `text`, its text does), and the attribute of the listed item that holds the same name.
   * Brackets around a name do not count. A listed item without such a name is named by its place, from 1.
   */
  refersBy?: string;
};

export type ResultRule = {
  item: string;
  /** Default `a[href]`. */
  link?: string;
  title?: string;
  snippet?: string;
  date?: string;
};

export type ResourceType = 'image' | 'media' | 'font' | 'stylesheet';
