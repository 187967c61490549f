import type { BrowserContextOptions } from 'playwright-core';
import { CITY_ACCURACY_M, findPlace } from '../../browser/place.ts';
import type { PageRecipe } from '../../browser/pages.ts';
import type { EgressRoute } from '../../egress/egress.ts';
import type { CaptureTask } from '../../outcome.ts';

/** The page that a person in the task's region would have: its language, time zone, position and way out. */
export async function toRecipe(
  { region }: CaptureTask,
  locale: string | null,
  { proxyUrl }: EgressRoute,
  initScript: string,
): Promise<PageRecipe> {
  const options: BrowserContextOptions = { proxy: { server: proxyUrl } };
  if (locale !== null) options.locale = locale;
  if (region !== null) {
    const { timeZone, position } = await findPlace(region);
    if (timeZone !== null) options.timezoneId = timeZone;
    if (position !== null) {
      options.geolocation = { ...position, accuracy: CITY_ACCURACY_M };
      options.permissions = ['geolocation'];
    }
  }
  return { key: JSON.stringify(options), options, initScript };
}
