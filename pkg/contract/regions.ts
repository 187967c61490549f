/** Where a search is asked from (spec 2.3). `country` is two upper-case letters. */
export type Region = {
  country: string;
  state?: string;
  city?: string;
  language?: string;
};

export const GLOBAL_REGION_KEY = 'GLOBAL';

const NEITHER_LETTER_NOR_DIGIT = /[^\p{L}\p{M}\p{N}]+/gu;

/**
 * The last segment of a child id: `country[:city][:language]` in lower case, or `GLOBAL`. Runs of anything but
 * letters and digits become one `-`, so that the key holds no dot and no colon of its own.
 */
export function regionKey(region: Region | null): string {
  if (region === null) return GLOBAL_REGION_KEY;
  return [region.country, region.city, region.language]
    .filter((part) => part !== undefined)
    .map(slug)
    .filter((part) => part !== '')
    .join(':');
}

function slug(part: string): string {
  return part.normalize('NFC').toLowerCase().replace(NEITHER_LETTER_NOR_DIGIT, '-').replace(/^-|-$/g, '');
}

/** True when two regions ask for the same thing in every field, not only in those that the key shows. */
export function sameRegion(a: Region, b: Region): boolean {
  return a.country === b.country && a.state === b.state && a.city === b.city && a.language === b.language;
}

/** What `GET /v1/regions` tells (spec 2.8). The popular list is a convenience, never an allow-list. */
export const REGION_TARGETING = {
  targeting: {
    country: 'Required. ISO 3166-1 alpha-2 code, for example "US". Any well-formed code is accepted.',
    state: 'Optional. Sub-national code or name, for example "CA".',
    city: 'Optional. City name, for example "Berlin".',
    language: 'Optional. BCP-47 language tag, for example "de-DE".',
  },
  examples: [
    { country: 'US' },
    { country: 'US', state: 'CA', city: 'Los Angeles' },
    { country: 'DE', city: 'Berlin', language: 'de-DE' },
    { country: 'CH', language: 'fr-CH' },
  ] satisfies Region[],
  popularCountries: ['US', 'GB', 'DE', 'FR', 'ES', 'IT', 'NL', 'SE', 'PL', 'CA', 'AU', 'IN', 'JP', 'KR', 'BR', 'MX'],
};
