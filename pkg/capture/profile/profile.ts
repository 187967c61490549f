import type { SourceRole } from '../../contract/index.ts';

/**
 * A profile is data: it tells the browser driver how to ask one engine and how to read its answer. The driver knows
 * no engine.
 *
 * Selectors are CSS; they reach through open shadow roots, know `:has-text("…")` and `:visible`, and lead into an iframe
 * by `>>>`. A template holds `{query}`, `{language}`, `{country}`, `{state}`, `{city}`; in a URL the values are
 * percent-encoded, and a parameter or path segment whose placeholder has no value is dropped.
 */
export type Profile = {
  go: {
    /** Where to start, for example `https://engine.example/search?q={query}`. */
    url: string;
    /** Default GET. A body is sent with the first request only. */
    method?: 'GET' | 'POST';
    /** Fields of a form; one whose placeholder has no value is left out. */
    form?: Record<string, string>;
    /** Any JSON; every text in it is a template, and what holds one without a value is left out. */
    json?: unknown;
    /** Templates go with every request of the page, secrets to the origin of `url` only. */
    headers?: Record<string, string | FromEnv>;
    cookies?: Cookie[];
    /** What the browser asks in. Default `{language}`. */
    locale?: string;
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
    /** What carries the answer and must have ended, where the page makes such requests at all. */
    streams?: (string | StreamRule)[];
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
    /** Our own question as the page shows it: only what stands after its last match can be the answer. */
    question?: string;
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
    /** What to do before the page is left, for example to press stop; nothing depends on whether it works. */
    leave?: Step[];
  };
  /**
   * Looked at when the page has come up, and from then on until the end. What `blocked` matches is a refusal at once;
   * what `absent` matches must hold for a quarter of a second. Where neither matches, HTTP 403 and 429 are refusals and
   * every other status from 400 is no answer page.
   */
  classify?: {
    absent?: Condition[];
    blocked?: Condition[];
    /** The engine wants an account: a refusal too. */
    signIn?: Condition[];
    /** The engine failed: no answer page. */
    error?: Condition[];
    /** Overlays to dismiss whenever they show up. */
    consent?: ConsentRule[];
  };
  /** Links: hosts whose redirect parameter (or else path) holds the real target, and parameters that only track. */
  links?: { unwrap?: { host: string; parameter?: string | undefined }[]; strip?: string[] };
  /** What the page may load. Default: anything the lane's egress allows. */
  fetch?: { abortTypes?: ResourceType[]; abortUrls?: string[]; allowUrls?: string[] };
  /** What is known about the engine beforehand. */
  model?: { providerId: string; label?: string };
};

export type RegionField = 'country' | 'state' | 'city' | 'language';

/** A value that stands in no document: the environment variable of this name holds it. */
export type FromEnv = { env: string };

/** For the site of `go.url`, unless `domain` says otherwise. */
export type Cookie = { name: string; value: string | FromEnv; domain?: string; path?: string };

/** Glob of the URL. A web socket is taken as idle when nothing came for `quietMs`, or by a message that holds `ends`. */
export type StreamRule = { url: string; ends: string };

/** `optional`: left out where its target is not to be seen. */
export type Step = { optional?: boolean } & (
  | { fill: string; with: string }
  | { type: string; with: string }
  | { press: string; key: string }
  /** `all` clicks every match that is to be seen. */
  | { click: string; all?: boolean }
  | { hover: string }
  | { select: string; option: string }
  | { waitFor: string }
  | { waitGone: string }
  /** `all` goes on as long as the page grows by it. */
  | { scroll: string; all?: boolean }
);

/** One observable fact of the page. Where a node is asked for what it says, the last match counts. */
export type Marker =
  | { present: string }
  | { gone: string }
  | { visible: string }
  | { hidden: string }
  | { attribute: string; of: string; is: string }
  | { text: string; of: string };

/**
 * All given parts must hold: `selector` matches anything, `status` holds the document's HTTP status, `title` and `text`
 * stand in the page's title or visible text, whatever the case, and the page's address matches the glob `url`.
 */
export type Condition = { selector?: string; status?: number[]; title?: string; text?: string; url?: string };

/** Of several selectors in `dismiss` the first that is to be seen is clicked, so `reject` stands before all others. */
export type ConsentRule = { when: string } & ({ dismiss: string | string[] } | { steps: Step[] });

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
   * Brackets around a name do not count; a chip may name several (`1, 3`). A listed item without such a name is named by its place, from 1.
   */
  refersBy?: string;
  /**
   * The URL shows up only when the item is clicked (or pointed at): `shows` is where, as a link or with links inside.
   * `title` is then looked for there too.
   */
  reveal?: { by?: 'click' | 'hover'; shows: string };
};

export type ResultRule = {
  item: string;
  /** Default `a[href]`. */
  link?: string;
  /** Where the URL stands, in the link or the item; where neither has it, and by default, `href` of the link. */
  attribute?: string;
  title?: string;
  snippet?: string;
  date?: string;
};

export type ResourceType = 'image' | 'media' | 'font' | 'stylesheet';
