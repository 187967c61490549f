import { lazy, type InferType } from 'yup';
import { ServiceError } from '../errors.ts';
import { regionKey, sameRegion, type Region } from '../regions.ts';
import { refuse } from './issues.ts';
import { closed, joinPath, list, shortText, text } from './shape.ts';
import { quote } from './text.ts';

export const MAX_REGIONS = 10;
/** Of more regions than this none is looked at: they are too many, whatever they hold. */
const MAX_REGIONS_READ = 100;
const MAX_NAME_CHARACTERS = 100;
const LETTER_OR_DIGIT = /[\p{L}\p{N}]/u;

const COUNTRY_RULE = 'must be an ISO 3166-1 alpha-2 country code: two letters, for example "US"';
const REGION_RULE = 'must be a country code or an object of country, state, city, language';

/** A country code alone: the sugar for `{country}`. */
export const countryCode = text(COUNTRY_RULE).matches(/^[A-Za-z]{2}$/, COUNTRY_RULE);

const placeName = shortText(MAX_NAME_CHARACTERS).test(
  'has-letters',
  'must hold a letter or digit',
  // The region key keeps letters and digits only: a city without any would not show in it.
  (value: unknown) => typeof value !== 'string' || LETTER_OR_DIGIT.test(value),
);

const language = shortText(MAX_NAME_CHARACTERS).test(
  'bcp-47',
  'must be a BCP-47 language tag, for example "de-DE"',
  (value: unknown) => typeof value !== 'string' || canonicalLanguage(value) !== null,
);

const regionObject = closed(
  { country: countryCode.defined('is required'), state: placeName, city: placeName, language },
  REGION_RULE,
);

/** One region in any form that the spec accepts. */
export const regionInput = lazy((value: unknown) => (typeof value === 'string' ? countryCode : regionObject));

const regionArray = list(
  lazy((value: unknown) => (typeof value === 'string' ? countryCode.defined() : regionObject.defined(REGION_RULE))),
  MAX_REGIONS_READ,
  `must be a country code or an array of at most ${MAX_REGIONS} regions`,
);

/** What stands in `regions`: one code, or an array of codes and objects. */
export const regionsInput = lazy((value: unknown) => (typeof value === 'string' ? countryCode : regionArray));

export type RegionsInput = InferType<typeof regionsInput>;
export type RegionInput = NonNullable<InferType<typeof regionInput>>;

/** Refuses an array too long to be read. Called before the shape is checked. */
export function refuseAbsurdlyManyRegions(body: unknown, prefix: string): void {
  if (typeof body !== 'object' || body === null || !('regions' in body)) return;
  if (Array.isArray(body.regions) && body.regions.length > MAX_REGIONS_READ) {
    throw tooManyRegions(body.regions.length, prefix);
  }
}

/** `TOO_MANY_REGIONS` for more than ten, counted as they were sent, duplicates included (spec 2.2). */
export function requireFewRegions(inputs: readonly unknown[], prefix: string): void {
  if (inputs.length > MAX_REGIONS) throw tooManyRegions(inputs.length, prefix);
}

function tooManyRegions(count: number, prefix: string): ServiceError {
  const path = joinPath(prefix, 'regions');
  return new ServiceError('TOO_MANY_REGIONS', `${path} has ${count} regions; at most ${MAX_REGIONS} are allowed`);
}

/**
 * Normalized regions in the order sent, exact duplicates once. Two regions that differ but share a key would share a
 * child id, so that is `VALIDATION_FAILED` with both indexes.
 */
export function normalizeRegions(inputs: readonly RegionInput[], prefix: string): Region[] {
  const kept = new Map<string, { region: Region; index: number }>();
  for (const [index, input] of inputs.entries()) {
    const region = normalizeRegion(input);
    const key = regionKey(region);
    const before = kept.get(key);
    if (before === undefined) kept.set(key, { region, index });
    else if (!sameRegion(before.region, region))
      throw refuseSharedKey({ first: before.index, second: index, key, prefix });
  }
  return [...kept.values()].map(({ region }) => region);
}

type SharedKey = { first: number; second: number; key: string; prefix: string };

function refuseSharedKey({ first, second, key, prefix }: SharedKey): ServiceError {
  const a = joinPath(prefix, `regions[${first}]`);
  const b = joinPath(prefix, `regions[${second}]`);
  const why = `differ but share the region key ${quote(key)}, which is made of country, city and language`;
  return refuse([{ path: b, message: `${a} and ${b} ${why}` }]);
}

function normalizeRegion(input: RegionInput): Region {
  if (typeof input === 'string') return { country: input.toUpperCase() };
  const { country, state, city, language: tag } = input;
  return {
    country: country.toUpperCase(),
    ...(state === undefined ? {} : { state }),
    ...(city === undefined ? {} : { city }),
    ...(tag === undefined ? {} : { language: canonicalLanguage(tag) ?? tag }),
  };
}

/**
 * The tag in its usual letter case, so that `de-de` and `de-DE` are one region; null when it is no BCP-47 tag. A tag
 * that the runtime would replace by another (`iw` by `he`) stays as the caller wrote it.
 */
function canonicalLanguage(tag: string): string | null {
  try {
    const canonical = new Intl.Locale(tag).toString();
    return canonical.toLowerCase() === tag.toLowerCase() ? canonical : tag;
  } catch (error) {
    if (error instanceof RangeError) return null;
    throw error;
  }
}
