import { MAX_QUERY_CHARACTERS, MAX_TARGETS } from '../schemas/fields.ts';
import { MAX_REGIONS } from '../schemas/region.ts';
import { MAX_BATCH_ITEMS } from '../schemas/search.ts';
import { SURFACES } from '../surfaces.ts';
import { closedObject, flag, list, oneOfWords, ref } from './build.ts';
import type { Schema } from './types.ts';

const MAX_NAME_CHARACTERS = 100;
const MAX_KEY_CHARACTERS = 255;
const MAX_URL_CHARACTERS = 2048;

// A NUL is refused in every string: Postgres has no place for one.
export const NO_NUL = '^[^\\u0000]*$';
const NOT_BLANK = '^[^\\u0000]*[^\\s\\u0000][^\\u0000]*$';
const HAS_LETTER_OR_DIGIT = '^[^\\u0000]*[\\p{L}\\p{N}][^\\u0000]*$';
// Language, script, country and variants of BCP-47. Extensions are accepted too, and of no use here.
const LANGUAGE_TAG =
  '^([A-Za-z]{2,3}|[A-Za-z]{5,8})(-[A-Za-z]{4})?(-([A-Za-z]{2}|[0-9]{3}))?(-([A-Za-z0-9]{5,8}|[0-9][A-Za-z0-9]{3}))?$';

const PUBLIC_HTTPS_URL =
  '^[Hh][Tt][Tt][Pp][Ss]://[A-Za-z][A-Za-z0-9-]*(\\.[A-Za-z0-9][A-Za-z0-9-]*)*\\.[A-Za-z]{2,}(:443)?([/?#][!-\\[\\]-~]*)?$';

/** A key or secret: any text. */
const opaqueText = (description: string): Schema => ({
  type: 'string',
  minLength: 1,
  maxLength: MAX_KEY_CHARACTERS,
  pattern: NO_NUL,
  description,
});
const name = (description: string, pattern: string): Schema => ({
  type: 'string',
  minLength: 1,
  maxLength: MAX_NAME_CHARACTERS,
  pattern,
  description,
});
export const queryText = (description: string): Schema => ({
  type: 'string',
  minLength: 1,
  maxLength: MAX_QUERY_CHARACTERS,
  pattern: NOT_BLANK,
  description,
});
export const regionsInput = (description: string): Schema => ({
  description,
  anyOf: [ref('CountryCode'), list(ref('RegionInput'), { maxItems: MAX_REGIONS })],
});
/** Only its form: where it leads is judged by the destination guard. */
export const destinationUrl: Schema = {
  type: 'string',
  pattern: PUBLIC_HTTPS_URL,
  maxLength: MAX_URL_CHARACTERS,
};

const fields: Record<string, Schema> = {
  query: queryText('The exact text sent to each surface. Required, unless prompt is sent.'),
  prompt: queryText('Alias of query. Send one of them, not both.'),
  regions: regionsInput(
    `Where to ask from; at most ${MAX_REGIONS}. Omitted or empty: one untargeted (GLOBAL) child for each surface. Send one of regions, region, country.`,
  ),
  region: ref('RegionInput'),
  country: ref('CountryCode'),
  webhook: ref('WebhookTarget'),
  idempotencyKey: opaqueText(
    'The same key with the same search gives the first job again, with no new work and no new charge.',
  ),
  extract: ref('ExtractInput'),
  include: closedObject({
    markdown: flag('Accepted, and changes nothing: markdown is always there.'),
    html: flag('Asks for a proof page of each capture that is made from a page.'),
  }),
};

const together = (...names: string[]): Schema => ({ required: names });
/** Rules of a search that no field has alone (spec 2.2 and the design's "Region key"). */
const between: Pick<Schema, 'oneOf' | 'not'> = {
  oneOf: [together('query'), together('prompt')],
  not: { anyOf: [together('regions', 'region'), together('regions', 'country'), together('region', 'country')] },
};

/** What clients send (spec 2.2, 2.3, 4.1 to 4.3). The service itself checks with `parseSearchBody`. */
export const REQUEST_SCHEMAS: Record<string, Schema> = {
  Surface: oneOfWords(SURFACES, 'Which of them can be captured now is told by GET /v1/surfaces. More may be added.'),
  CountryCode: { type: 'string', pattern: '^[A-Za-z]{2}$', description: 'ISO 3166-1 alpha-2 code.' },
  RegionInput: {
    description: 'A region, or a country code alone.',
    anyOf: [
      ref('CountryCode'),
      closedObject(
        {
          country: ref('CountryCode'),
          state: name('Sub-national code or name.', HAS_LETTER_OR_DIGIT),
          city: name('City.', HAS_LETTER_OR_DIGIT),
          language: name('BCP-47 language tag.', LANGUAGE_TAG),
        },
        ['country'],
      ),
    ],
  },
  WebhookTarget: {
    ...closedObject(
      {
        url: {
          ...destinationUrl,
          description:
            'Public https destination. Private, loopback, link-local and metadata addresses are refused. An operator may allow others, which this schema does not know.',
        },
        secret: opaqueText("Signs the deliveries. Omitted: the account's managed secret signs."),
      },
      ['url'],
    ),
    description: 'Makes the search asynchronous: each child is delivered here when it ends.',
  },
  ExtractInput: {
    description:
      'Which brands the answer mentions. true or {}: whatever it mentions; targets pin names or bare domains.',
    anyOf: [
      { type: 'boolean' },
      closedObject({ targets: list(name('A brand name or a bare domain.', NOT_BLANK), { maxItems: MAX_TARGETS }) }),
    ],
  },
  SearchBody: {
    ...closedObject(
      {
        surfaces: list(ref('Surface'), { minItems: 1, description: 'Each gives one child for each region.' }),
        ...fields,
      },
      ['surfaces'],
    ),
    ...between,
  },
  SurfaceSearchBody: { ...closedObject(fields), ...between },
  BatchBody: closedObject({ items: list(ref('SearchBody'), { minItems: 1, maxItems: MAX_BATCH_ITEMS }) }, ['items']),
};
