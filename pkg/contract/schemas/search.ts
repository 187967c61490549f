import { array, boolean, ValidationError } from 'yup';
import type { Region } from '../regions.ts';
import type { Surface } from '../surfaces.ts';
import {
  destinationUrl,
  extractInput,
  normalizeExtract,
  queryText,
  readSurfaces,
  requireShortQuery,
  surfacesInput,
  type Extraction,
} from './fields.ts';
import {
  countryCode,
  normalizeRegions,
  refuseAbsurdlyManyRegions,
  regionInput,
  regionsInput,
  requireFewRegions,
  type RegionInput,
  type RegionsInput,
} from './region.ts';
import { checkShape, closed, fault, joinPath, textUpTo } from './shape.ts';

/** A validated search, in the one form that the rest of the service knows. */
export type SearchRequest = {
  query: string;
  /** In the order asked, each once, at least one. */
  surfaces: Surface[];
  /** In the order asked, each once. Empty: one untargeted child per surface. */
  regions: Region[];
  /** A null secret means the account's managed one. */
  webhook: { url: string; secret: string | null } | null;
  idempotencyKey: string | null;
  extract: Extraction | null;
  include: { html: boolean };
};

export type SearchBodyOptions = {
  /** The surface that the path names; the body must then name none (spec 4.2). */
  surface?: Surface;
  /** Stands before the paths of faults, for example `items[3]`. */
  path?: string;
};

export const MAX_BATCH_ITEMS = 500;
const MAX_KEY_CHARACTERS = 255;

const WHAT = 'must be a JSON object';
const BATCH_RULE = `must be an array of 1 to ${MAX_BATCH_ITEMS} searches`;
const REGION_FIELDS = ['regions', 'region', 'country'];

const flag = boolean().typeError('must be true or false').nonNullable('must be true or false');
/** A key or secret: any characters, as long as there is one. */
const opaqueText = textUpTo(MAX_KEY_CHARACTERS).min(1, 'must not be empty');

const fields = {
  query: queryText,
  prompt: queryText,
  regions: regionsInput,
  region: regionInput,
  country: countryCode,
  webhook: closed(
    { url: destinationUrl.defined('is required'), secret: opaqueText },
    'must be an object of url and secret',
  ),
  idempotencyKey: opaqueText,
  extract: extractInput,
  include: closed({ markdown: flag, html: flag }, 'must be an object of markdown and html'),
};

/** Rules between fields. A field that is there but wrong counts as there, so that one fault is told once. */
function checkTogether(value: unknown, { path }: { path: string }): true | ValidationError {
  if (typeof value !== 'object' || value === null) return true;
  const given = new Set(Object.entries(value).flatMap(([key, member]) => (member === undefined ? [] : [key])));
  const faults: ValidationError[] = [];
  if (given.has('query') && given.has('prompt'))
    faults.push(fault(path, 'prompt', 'is an alias of query; send one of them, not both'));
  if (!given.has('query') && !given.has('prompt'))
    faults.push(fault(path, 'query', 'is required (or its alias prompt)'));
  const [first, second] = REGION_FIELDS.filter((name) => given.has(name));
  if (first !== undefined && second !== undefined)
    faults.push(fault(path, second, `can't be sent beside ${first}; send one of ${REGION_FIELDS.join(', ')}`));
  return faults.length === 0 ? true : new ValidationError(faults);
}

const searchBody = closed({ surfaces: surfacesInput, ...fields }, WHAT)
  .test('together', checkTogether)
  .defined(WHAT);
const aliasBody = closed(fields, WHAT).test('together', checkTogether).defined(WHAT);
const batchBody = closed(
  {
    items: array()
      .typeError(BATCH_RULE)
      .nonNullable(BATCH_RULE)
      .defined(BATCH_RULE)
      .min(1, BATCH_RULE)
      .max(MAX_BATCH_ITEMS, BATCH_RULE),
  },
  WHAT,
).defined(WHAT);

/**
 * The body of `POST /v1/search`, of its per-surface alias and of a batch item (spec 2.2, 4.1 to 4.3).
 *
 * Of several faults the first of these is told: `VALIDATION_FAILED` (all faults of form at once),
 * `UNSUPPORTED_SURFACE`, `TOO_MANY_REGIONS`, `QUERY_TOO_LONG`, and last `VALIDATION_FAILED` for regions that share a
 * key. Only an array of more than 100 regions is `TOO_MANY_REGIONS` before anything else is read.
 */
export function parseSearchBody(body: unknown, { surface, path = '' }: SearchBodyOptions = {}): SearchRequest {
  refuseAbsurdlyManyRegions(body, path);
  const checked =
    surface === undefined
      ? checkShape(searchBody, body, path)
      : { ...checkShape(aliasBody, body, path), surfaces: [surface] };
  const surfaces = readSurfaces(checked.surfaces, path);
  const inputs = readRegionInputs(checked);
  requireFewRegions(inputs, path);
  const { query, prompt = '' } = checked;
  requireShortQuery(query ?? prompt, joinPath(path, query === undefined ? 'prompt' : 'query'));
  return {
    query: query ?? prompt,
    surfaces,
    regions: normalizeRegions(inputs, path),
    webhook:
      checked.webhook === undefined ? null : { url: checked.webhook.url, secret: checked.webhook.secret ?? null },
    idempotencyKey: checked.idempotencyKey ?? null,
    extract: normalizeExtract(checked.extract),
    // `markdown` is accepted and changes nothing (design, "Region key").
    include: { html: checked.include?.html ?? false },
  };
}

type RegionFields = { regions?: RegionsInput; region?: RegionInput | undefined; country?: string | undefined };

function readRegionInputs({ regions, region, country }: RegionFields): RegionInput[] {
  if (typeof regions === 'string') return [regions];
  if (regions !== undefined) return regions;
  const only = region ?? country;
  return only === undefined ? [] : [only];
}

/** The body of `POST /v1/search/batch`; every item still is to be parsed by `parseSearchBody` (spec 4.3). */
export function parseBatchBody(body: unknown): { items: unknown[] } {
  const items: unknown[] = checkShape(batchBody, body).items;
  return { items };
}
