import { MAX_QUERY_CHARACTERS, MAX_TARGETS } from '../schemas/fields.ts';
import { MAX_REGIONS } from '../schemas/region.ts';
import { MAX_BATCH_ITEMS } from '../schemas/search.ts';
import { SURFACES } from '../surfaces.ts';
import { closedObject, flag, list, oneOfWords, ref } from './build.ts';
import type { Schema } from './types.ts';

const MAX_NAME_CHARACTERS = 100;
const MAX_KEY_CHARACTERS = 255;
const MAX_URL_CHARACTERS = 2048;

const name = (description: string): Schema => ({
  type: 'string',
  minLength: 1,
  maxLength: MAX_NAME_CHARACTERS,
  description,
});
export const queryText = (description: string): Schema => ({
  type: 'string',
  minLength: 1,
  maxLength: MAX_QUERY_CHARACTERS,
  description,
});
export const regionsInput = (description: string): Schema => ({
  description,
  anyOf: [ref('CountryCode'), list(ref('RegionInput'), { maxItems: MAX_REGIONS })],
});
/** Only its form: where it leads is judged by the destination guard. */
export const destinationUrl: Schema = {
  type: 'string',
  pattern: '^[Hh][Tt][Tt][Pp][Ss]?://[^/\\\\\\s]',
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
  idempotencyKey: {
    type: 'string',
    minLength: 1,
    maxLength: MAX_KEY_CHARACTERS,
    description: 'The same key with the same search gives the first job again, with no new work and no new charge.',
  },
  extract: ref('ExtractInput'),
  include: closedObject({
    markdown: flag('Accepted, and changes nothing: markdown is always there.'),
    html: flag('Asks for a proof page of each capture that is made from a page.'),
  }),
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
          state: name('Sub-national code or name.'),
          city: name('City.'),
          language: name('BCP-47 language tag.'),
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
          description: 'Public https destination. Private, loopback, link-local and metadata addresses are refused.',
        },
        secret: {
          type: 'string',
          minLength: 1,
          maxLength: MAX_KEY_CHARACTERS,
          description: "Signs the deliveries. Omitted: the account's managed secret signs.",
        },
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
      closedObject({ targets: list(name('A brand name or a bare domain.'), { maxItems: MAX_TARGETS }) }),
    ],
  },
  SearchBody: closedObject(
    {
      surfaces: list(ref('Surface'), { minItems: 1, description: 'Each gives one child for each region.' }),
      ...fields,
    },
    ['surfaces'],
  ),
  SurfaceSearchBody: closedObject(fields),
  BatchBody: closedObject({ items: list(ref('SearchBody'), { minItems: 1, maxItems: MAX_BATCH_ITEMS }) }, ['items']),
};
