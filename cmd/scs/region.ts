import type { Region } from '../../pkg/contract/index.ts';
import { UsageError } from './usage.ts';

/** `country[:city][:language]`, for example `DE`, `DE:Berlin:de` or `DE::de-AT`. */
export function readRegion(given: string | undefined): Region | null {
  if (given === undefined) return null;
  const [country = '', city = '', language = '', ...rest] = given.split(':').map((part) => part.trim());
  if (!/^[A-Za-z]{2}$/.test(country) || rest.length > 0)
    throw new UsageError('--region must be country[:city][:language], like DE, DE:Berlin:de or DE::de');
  return {
    country: country.toUpperCase(),
    ...(city === '' ? {} : { city }),
    ...(language === '' ? {} : { language: readLanguage(language) }),
  };
}

function readLanguage(tag: string): string {
  try {
    return new Intl.Locale(tag).toString();
  } catch {
    throw new UsageError(`--region: ${tag} is no language, like de or de-AT`);
  }
}
