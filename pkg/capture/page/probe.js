// Watching the page until the answer is there. Runs inside the page, from its first moment.

/** @typedef {import('./messages.ts').PageVerdict} PageVerdict */
/** @typedef {import('./messages.ts').PageReading} PageReading */
/** A verdict before anything is read. @typedef {Exclude<PageVerdict, {reading: PageReading}> | {kind: 'over', how: 'finished' | 'late', signals: PageVerdict['signals']}} Glance */

const DEFAULT_GRACE_MS = 2000;
/** Changes that come together are looked at together. */
const LOOK_AFTER_CHANGE_MS = 12;
/** For what changes without a mutation: a style, a page that ages. */
const LOOK_EVERY_MS = 100;
/** A page may say "nothing here" for a moment before its answer comes. */
const ABSENT_FOR_MS = 250;

const seen = {
  observing: false,
  /** @type {string[]} */ before: [],
  /** By element, so that a search that is typed letter by letter is one. @type {Map<Element, string>} */
  searches: new Map(),
  webSearch: false,
  text: '',
  changedAtMs: 0,
  mutatedAtMs: 0,
  lookedAtMs: 0,
  /** Goes up with each order; an order that is no longer the latest ends. */
  turn: 0,
  busy: false,
  /** @type {number | null} */ absentSinceMs: null,
  leaving: false,
  /** @type {Map<string, number>} */ signals: new Map(),
  onChange: () => {},
};

/** What is collected from the first moment on. @type {ReadRules[]} */
const collected = [];

/** Called before anything of the page runs, where something may be shown for a moment only.
 * @param {PageOrder['part'][]} parts */
function begin(parts) {
  const isTop = window.top === window;
  // Which iframe this is nobody knows yet: what is read of it later is what its own part asks for.
  for (const part of parts) if (part.isTop === isTop) collected.push(part.read);
  if (collected.length > 0) observe();
}

function observe() {
  if (seen.observing) return;
  seen.observing = true;
  seen.changedAtMs = performance.now();
  const options = { childList: true, subtree: true, characterData: true, attributes: true };
  const observer = new MutationObserver((records) => {
    seen.mutatedAtMs = performance.now();
    for (const { addedNodes } of records) for (const node of addedNodes) findRoots(node);
    for (const read of collected) collect(read);
    seen.onChange();
  });
  rootListeners.push((root) => observer.observe(root, options));
  for (const root of shadowRoots) observer.observe(root, options);
  findRoots(document);
  observer.observe(document, options);
  // A page that is about to be replaced may be idle until then: that is no finished answer.
  addEventListener('beforeunload', () => (seen.leaving = true));
}

/** Collects what may be gone in the next moment. @param {ReadRules} read */
function collect(read) {
  if (read.webSearch !== undefined && !seen.webSearch) seen.webSearch = findFirst(read.webSearch) !== undefined;
  if (!read.fanOut) return;
  for (const item of findAll(read.fanOut.item)) {
    const holder = read.fanOut.text === undefined ? item : findInside(item, read.fanOut.text);
    const text = holder ? foldSpace(textOf(holder, '')) : '';
    if (text !== '') seen.searches.set(item, text);
  }
}

/** Searches in the order they came; one that was re-rendered while it was typed shows up with its last text only. */
function listSearches() {
  const texts = [...new Set(seen.searches.values())];
  return texts.filter((text, index) => !texts[index + 1]?.startsWith(text));
}

/** @param {PageOrder['part']['markers'][number]['marker']} marker */
function holds(marker) {
  if ('present' in marker) return findFirst(marker.present) !== undefined;
  if ('gone' in marker) return findFirst(marker.gone) === undefined;
  if ('visible' in marker) return findAll(marker.visible).some(isVisible);
  if ('hidden' in marker) return !findAll(marker.hidden).some(isVisible);
  const last = findAll(marker.of).at(-1);
  if (!last) return false;
  if ('attribute' in marker) return last.getAttribute(marker.attribute) === marker.is;
  return foldSpace(allText(last)).toLowerCase().includes(foldSpace(marker.text).toLowerCase());
}

function pageStatus() {
  const [entry] = performance.getEntriesByType('navigation');
  return entry instanceof PerformanceNavigationTiming ? entry.responseStatus : 0;
}

function pageText() {
  let text = document.body ? document.body.innerText : '';
  for (const root of shadowRoots) if (root.host.isConnected) text += '\n' + textOf(root, '');
  return foldSpace(text).toLowerCase();
}

/** @param {PageOrder['part']['absent'][number]} condition */
function meets({ selector, status, title, text, url }) {
  if (url !== undefined && !new RegExp(url, 's').test(location.href)) return false;
  if (status !== undefined && !status.includes(pageStatus())) return false;
  if (title !== undefined && !document.title.toLowerCase().includes(title.toLowerCase())) return false;
  if (selector !== undefined && findFirst(selector) === undefined) return false;
  return text === undefined || pageText().includes(foldSpace(text).toLowerCase());
}

/** @type {Record<'blocked' | 'signIn' | 'error', {kind: 'blocked' | 'unusable', says: string}>} */
const REFUSALS = {
  blocked: { kind: 'blocked', says: 'The page shows a refusal' },
  signIn: { kind: 'blocked', says: 'The page asks to sign in' },
  error: { kind: 'unusable', says: 'The page shows an error' },
};

/** What kind of page this is, when it is none that could hold an answer. @param {PageOrder} order @returns {Glance | null} */
function classify({ part, ignoredConsent }) {
  const signals = listSignals();
  const status = pageStatus();
  const title = `title "${document.title.slice(0, 100)}"`;
  const at = status > 0 ? `HTTP ${status}, ${title}` : title;
  const refusal = part.refusals.find(({ condition }) => meets(condition));
  if (refusal) {
    const { kind, says } = REFUSALS[refusal.kind];
    return { kind, detail: `${says} (${at}).`, signals };
  }
  const now = performance.now();
  if (part.absent.some(meets)) {
    seen.absentSinceMs ??= now;
    const since = Math.max(seen.absentSinceMs, seen.changedAtMs);
    return now - since >= ABSENT_FOR_MS ? { kind: 'absent', proofHtml: null, signals } : null;
  }
  seen.absentSinceMs = null;
  // Of other documents the profile alone knows what their status means.
  if (part.isTop || part.holdsAnswer) {
    if (status === 403 || status === 429) return { kind: 'blocked', detail: `The page was refused (${at}).`, signals };
    if (status >= 400) return { kind: 'unusable', detail: `The page answered with an error (${at}).`, signals };
  }
  const overlay = part.consent.find(
    ({ when, index }) => !ignoredConsent.includes(index) && findAll(when).some(isVisible),
  );
  return overlay ? { kind: 'consent', index: overlay.index, signals } : null;
}

function listSignals() {
  return [...seen.signals].map(([name, atMs]) => ({ name, atMs }));
}

/** @param {string} name @param {number} atMs @param {boolean} [again] keep the latest moment instead of the first */
function signal(name, atMs, again = false) {
  if (again || !seen.signals.has(name)) seen.signals.set(name, Math.round(atMs));
}

/** What must have come to rest: the text, and how many sources stand in it and beside it, which often come last.
 * @param {PageOrder} order */
function answerState({ part: { read }, question }) {
  const text = answerText(read, seen.before, question);
  const sources = (read.citations ?? []).map(({ item }) => findAll(item).length);
  return { text, state: [text, ...sources].join('\0') };
}

/** Whether all that this document shows for the end is there. @param {PageOrder} order @param {number} askedForMs */
function isHeld({ part }, askedForMs) {
  const busy = part.busy !== undefined && findAll(part.busy).some(isVisible);
  if (busy) {
    seen.busy = true;
    signal('busy', askedForMs);
    seen.signals.delete('idle');
  } else if (seen.busy) signal('idle', askedForMs);
  let all = !busy;
  for (const { name, marker } of part.markers) {
    if (holds(marker)) signal(name, askedForMs);
    else {
      seen.signals.delete(name);
      all = false;
    }
  }
  return all && (part.until === undefined || findFirst(part.until) !== undefined);
}

/** @param {PageOrder} order @param {number} startedAtMs @returns {{done: boolean, nextMs: number}} */
function lookAtAnswer(order, startedAtMs) {
  const { quietMs, graceMs } = order.part;
  const now = performance.now();
  const askedForMs = now - startedAtMs + order.askedAgoMs;
  const { text, state } = answerState(order);
  if (state !== seen.text) {
    // The first look only says what stands there.
    if (seen.text !== '') signal('last change', askedForMs, true);
    seen.text = state;
    // What changes without a mutation, as by a style, may have changed just now.
    seen.changedAtMs = seen.mutatedAtMs > seen.lookedAtMs ? seen.mutatedAtMs : now;
    seen.leaving = false;
  }
  seen.lookedAtMs = now;
  const hasText = text.trim() !== '';
  if (hasText) signal('text', askedForMs);
  const held = isHeld(order, askedForMs);
  const waits = [quietMs - (now - seen.changedAtMs), order.settleMs - (now - startedAtMs)];
  if (!hasText && !seen.busy) waits.push((graceMs ?? DEFAULT_GRACE_MS) - askedForMs);
  const waitMs = Math.max(...waits);
  const possible = document.readyState !== 'loading' && !seen.leaving && held;
  if (possible && waitMs <= 0) signal('quiet', askedForMs, true);
  return {
    done: possible && waitMs <= 0,
    nextMs: possible ? Math.max(1, Math.min(waitMs, LOOK_EVERY_MS)) : LOOK_EVERY_MS,
  };
}

/** Says what the end still lacked when the time was over, for whoever reads the signals. @param {PageOrder} order */
function tellMissing(order) {
  const { busy, markers, until, quietMs } = order.part;
  const now = performance.now();
  const missing = markers.filter(({ marker }) => !holds(marker)).map(({ name }) => name);
  if (busy !== undefined && findAll(busy).some(isVisible)) missing.push(`busy (${busy}) is still to be seen`);
  if (until !== undefined && findFirst(until) === undefined) missing.push(`until (${until})`);
  if (answerState(order).text.trim() === '') missing.push('text');
  else if (now - seen.changedAtMs < quietMs) missing.push(`${quietMs} ms without a change`);
  for (const name of missing) signal(`missing: ${name}`, order.askedAgoMs + order.budgetMs);
}

/** @param {PageOrder} order @param {boolean} wantsProof @returns {Promise<PageReading>} everything in one moment */
async function readPage(order, wantsProof) {
  const { read } = order.part;
  collect(read);
  const answers = findAnswers(read, seen.before, order.question);
  const fanOut = listSearches();
  const searched = seen.webSearch || fanOut.length > 0;
  const snapshot = wantsProof ? takeSnapshot() : null;
  const reading = {
    url: location.href,
    html: cloneAnswers(read, answers),
    listed: readListed(read),
    results: readResultItems(read),
    fanOut,
    modelLabel: readModelLabel(read),
    webSearch: read.webSearch !== undefined || searched ? searched : null,
    hasText: answerText(read, seen.before, order.question).trim() !== '',
  };
  return { ...reading, proofHtml: snapshot === null ? null : await finishSnapshot(snapshot) };
}

/**
 * Looks at the page whenever it changes and from time to time, until `look` has a verdict.
 * @param {(startedAtMs: number) => {verdict: Glance | null, nextMs: number}} look
 * @returns {Promise<Glance>}
 */
function lookUntil(look) {
  const startedAtMs = performance.now();
  const turn = (seen.turn += 1);
  return new Promise((resolve, reject) => {
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    let timer;
    let dueAtMs = Infinity;
    /** @param {number} delayMs */
    const plan = (delayMs) => {
      const atMs = performance.now() + delayMs;
      if (atMs >= dueAtMs) return;
      clearTimeout(timer);
      dueAtMs = atMs;
      timer = setTimeout(run, delayMs);
    };
    const run = () => {
      dueAtMs = Infinity;
      if (turn !== seen.turn) {
        resolve({ kind: 'superseded', signals: [] });
        return;
      }
      try {
        const { verdict, nextMs } = look(startedAtMs);
        if (verdict === null) plan(nextMs);
        else {
          seen.onChange = () => {};
          resolve(verdict);
        }
      } catch (error) {
        seen.onChange = () => {};
        reject(error);
      }
    };
    seen.onChange = () => plan(LOOK_AFTER_CHANGE_MS);
    run();
  });
}

/** Reads what the verdict calls for, in the moment of the verdict. @param {Glance} verdict @param {PageOrder} order @returns {Promise<PageVerdict>} */
async function conclude(verdict, order) {
  if (verdict.kind === 'absent')
    return { ...verdict, proofHtml: order.wantsProof ? await finishSnapshot(takeSnapshot()) : null };
  if (verdict.kind !== 'over') return verdict;
  return { kind: verdict.how, signals: verdict.signals, reading: await readPage(order, order.wantsProof) };
}

/** @param {boolean} held @returns {Glance} */
function ready(held) {
  return { kind: 'ready', held, signals: listSignals() };
}

/** Remembers what stands there before the question: it can't be the answer. @param {PageOrder} order */
function rememberBefore({ part: { read } }) {
  const drop = dropSelector(read);
  if (read.answer !== undefined) seen.before = findAll(read.answer).map((element) => textOf(element, drop) || '\0');
}

/** Before asking: until the page is there, or turns out to be another kind of page. @param {PageOrder} order */
async function arrive(order) {
  observe();
  const { until } = order.part;
  const verdict = await lookUntil((startedAtMs) => {
    const parsed = document.readyState !== 'loading';
    const verdict = parsed ? classify(order) : null;
    if (verdict) return { verdict, nextMs: 0 };
    const late = performance.now() - startedAtMs >= order.budgetMs;
    const here = parsed && seen.absentSinceMs === null && (until === undefined || findFirst(until) !== undefined);
    if (!here && !late) return { verdict: null, nextMs: 50 };
    rememberBefore(order);
    return { verdict: ready(here), nextMs: 0 };
  });
  return await conclude(verdict, order);
}

/** Right before the question. @param {PageOrder} order */
function mark(order) {
  observe();
  rememberBefore(order);
  return ready(true);
}

/** After asking: until the answer is finished, the time is over, or it turns out that there will be none.
 * @param {PageOrder} order @returns {Promise<PageVerdict>} */
async function wait(order) {
  observe();
  collect(order.part.read);
  let classifiedAtMs = -Infinity;
  const verdict = await lookUntil((startedAtMs) => {
    const now = performance.now();
    const { done, nextMs } = lookAtAnswer(order, startedAtMs);
    const late = now - startedAtMs >= order.budgetMs;
    // Conditions may ask for the whole page's text, which is too dear for every change of a stream.
    if (done || late || now - classifiedAtMs >= LOOK_EVERY_MS) {
      classifiedAtMs = now;
      const found = document.readyState === 'loading' && !late ? null : interrupted(order);
      if (found) return { verdict: found, nextMs: 0 };
    }
    if (late) {
      tellMissing(order);
      return { verdict: { kind: 'over', how: 'late', signals: listSignals() }, nextMs: 0 };
    }
    const finished = done && seen.absentSinceMs === null;
    return {
      verdict: finished ? { kind: 'over', how: 'finished', signals: listSignals() } : null,
      nextMs: Math.min(nextMs, order.budgetMs),
    };
  });
  return await conclude(verdict, order);
}

/** @param {PageOrder} order @returns {Glance | null} */
function interrupted(order) {
  const { error } = order.part;
  if (error === undefined || !findAll(error).some(isVisible)) return classify(order);
  return { kind: 'failed', detail: 'The page shows its marker of failure.', signals: listSignals() };
}

/**
 * In a document beside the answer's: until something in it ends the capture or, where `forHold`, until it shows all that
 * it has to show for the end. @param {PageOrder} order @param {boolean} forHold
 */
async function attend(order, forHold) {
  observe();
  collect(order.part.read);
  const verdict = await lookUntil((startedAtMs) => {
    const found = document.readyState === 'loading' ? null : interrupted(order);
    if (found) return { verdict: found, nextMs: 0 };
    const pastMs = performance.now() - startedAtMs;
    const held = isHeld(order, pastMs + order.askedAgoMs) && seen.absentSinceMs === null;
    return { verdict: (held && forHold) || pastMs >= order.budgetMs ? ready(held) : null, nextMs: LOOK_EVERY_MS };
  });
  return await conclude(verdict, order);
}

/** @param {PageOrder} order @returns {Promise<PageVerdict>} */
async function read(order) {
  return { kind: 'finished', signals: listSignals(), reading: await readPage(order, false) };
}

/** Between two steps: what kind of page this is now. @param {PageOrder} order */
async function check(order) {
  const verdict = await lookUntil(() => {
    const verdict = classify(order);
    const undecided = verdict === null && seen.absentSinceMs !== null;
    return { verdict: verdict ?? (undecided ? null : ready(true)), nextMs: 50 };
  });
  return await conclude(verdict, order);
}

/** How much there is, once a frame was painted: a page sees only then what came into view and what left it. */
async function measurePage() {
  for (let frame = 0; frame < 2; frame += 1) await new Promise(requestAnimationFrame);
  const roots = [document, ...shadowRoots].map((root) => root.querySelectorAll('*').length);
  return roots.reduce((sum, count) => sum + count, document.documentElement.scrollHeight);
}

/** Pages that load when something comes into view must have seen it out of view before, wherever they grew.
 * @param {string} selector */
function leaveView(selector) {
  for (let around = findAll(selector).at(-1) ?? null; around; around = parentOf(around)) around.scrollTop = 0;
}

Object.defineProperty(globalThis, Symbol.for('search-capture'), {
  value: {
    begin,
    arrive,
    mark,
    check,
    wait,
    watch: (/** @type {PageOrder} */ order) => attend(order, false),
    hold: (/** @type {PageOrder} */ order) => attend(order, true),
    read,
    findRevealing,
    learnRevealed,
    measurePage,
    leaveView,
    explainSelector,
  },
});
