import type { CityData } from 'city-timezones';
import type { Region } from '../../contract/index.ts';

/** Where a browser pretends to nothing, but shows what a person there would have set. */
export type Place = {
  timeZone: string | null;
  /** The middle of the city; null where no city is known. */
  position: { latitude: number; longitude: number } | null;
};

/** About the size of a city: what a browser would tell that knows no more than that. */
export const CITY_ACCURACY_M = 5_000;

/**
 * Time zone and position of a region. A country with several zones has that of its largest city, unless state or city
 * say otherwise; a city that is not known (its name is looked up in English) leaves the position open.
 */
export async function findPlace({ country, state, city }: Region): Promise<Place> {
  // A megabyte of names, which only lanes need.
  const { cityMapping } = (await import('city-timezones')).default;
  const inCountry = cityMapping.filter(({ iso2 }) => iso2 === country);
  const inState = state === undefined ? [] : inCountry.filter((entry) => isIn(entry, state));
  const around = inState.length > 0 ? inState : inCountry;
  const named = city === undefined ? [] : around.filter((entry) => isNamed(entry, city));
  const found = largest(named);
  return {
    timeZone: (found ?? largest(around))?.timezone ?? null,
    position: found === null ? null : { latitude: found.lat, longitude: found.lng },
  };
}

function isIn({ province, state_ansi }: CityData, state: string): boolean {
  return [province, state_ansi].some((name) => fold(name) === fold(state));
}

function isNamed({ city, city_ascii, exactCity }: CityData, wanted: string): boolean {
  return [city, city_ascii, exactCity].some((name) => fold(name) === fold(wanted));
}

/** Without accents, case, signs: people write "São Paulo" and "sao-paulo". */
function fold(name: string | undefined): string {
  return (name ?? '')
    .normalize('NFKD')
    .replace(/[^\p{L}\p{N}]/gu, '')
    .toLowerCase();
}

function largest(entries: readonly CityData[]): CityData | null {
  return entries.reduce<CityData | null>((best, entry) => (best === null || entry.pop > best.pop ? entry : best), null);
}
