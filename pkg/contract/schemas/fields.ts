import { boolean, lazy, type InferType } from 'yup';
import { ServiceError } from '../errors.ts';
import { isSurface, SURFACES, type Surface } from '../surfaces.ts';
import { closed, filledList, joinPath, list, shortText, text } from './shape.ts';
import { isBlank, isLongerThan, quote } from './text.ts';

/** Brands and domains to look for; an empty list means: whatever brands the answer mentions. */
export type Extraction = { targets: string[] };

export const MAX_QUERY_CHARACTERS = 2000;
export const MAX_TARGETS = 10;
const MAX_TARGET_CHARACTERS = 100;
const MAX_URL_CHARACTERS = 2048;
/** Far above the nine there are, as duplicates collapse. */
const MAX_SURFACES_READ = 1000;

/** The question. Its length has a code of its own (`QUERY_TOO_LONG`) and is checked by `requireShortQuery`. */
export const queryText = text().test(
  'not-blank',
  'must not be empty',
  (value: unknown) => typeof value !== 'string' || !isBlank(value),
);

const SURFACES_RULE = `must be a non-empty array of surfaces: ${SURFACES.join(', ')}`;

/** Strings only; which of them are surfaces is told by `readSurfaces`, as that has a code of its own. */
export const surfacesInput = filledList(
  text('must be a string').defined('must be a string'),
  MAX_SURFACES_READ,
  SURFACES_RULE,
);

const EXTRACT_RULE = 'must be true, false or {targets: string[]}';
const extractObject = closed(
  {
    targets: list(
      shortText(MAX_TARGET_CHARACTERS).defined('must be a string'),
      MAX_TARGETS,
      `must be an array of at most ${MAX_TARGETS} brand names or domains`,
    ),
  },
  EXTRACT_RULE,
);
export const extractInput = lazy((value: unknown) => (typeof value === 'boolean' ? boolean() : extractObject));

const URL_RULE = 'must be an absolute https URL';

/**
 * The syntax of a destination. Where it may lead, and that it is https unless the operator listed the host, is judged
 * by the destination guard of `pkg/webhooks`, which knows that list.
 */
export const destinationUrl = text(URL_RULE)
  .test('url', URL_RULE, (value: unknown) => typeof value !== 'string' || isWebUrl(value))
  .test(
    'short',
    `must be at most ${MAX_URL_CHARACTERS} characters`,
    (value: unknown) => typeof value !== 'string' || value.length <= MAX_URL_CHARACTERS,
  );

/**
 * Stricter than `URL`, which trims, drops line breaks, invents slashes and takes a backslash for one: what is stored is
 * what was meant, and every other reader finds the same host in it.
 */
function isWebUrl(value: string): boolean {
  return /^https?:\/\/[^/]/i.test(value) && !/[\s\p{Cc}\\]/u.test(value) && URL.canParse(value);
}

/** `QUERY_TOO_LONG` above 2000 code points, white space included. */
export function requireShortQuery(query: string, path: string): void {
  if (isLongerThan(query, MAX_QUERY_CHARACTERS)) {
    throw new ServiceError('QUERY_TOO_LONG', `${path} must be at most ${MAX_QUERY_CHARACTERS} characters`);
  }
}

/** The surfaces in the order sent, each once. `UNSUPPORTED_SURFACE` names the first value that is none. */
export function readSurfaces(values: readonly string[], prefix: string): Surface[] {
  const surfaces = new Set<Surface>();
  for (const [index, value] of values.entries()) {
    if (!isSurface(value)) {
      const path = joinPath(prefix, `surfaces[${index}]`);
      throw new ServiceError(
        'UNSUPPORTED_SURFACE',
        `${path} is ${quote(value)}, which is no surface; allowed: ${SURFACES.join(', ')}`,
      );
    }
    surfaces.add(value);
  }
  return [...surfaces];
}

/** `true` and `{}` are the same; `false` and nothing are null (spec 2.2). */
export function normalizeExtract(input: InferType<typeof extractInput>): Extraction | null {
  if (input === undefined || input === false) return null;
  return { targets: input === true ? [] : [...(input.targets ?? [])] };
}
