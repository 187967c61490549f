import { expect, it } from '@jest/globals';
import fc from 'fast-check';
import { destinationUrl as checked } from '../schemas/fields.ts';
import { destinationUrl as told } from './request-schemas.ts';

it('every destination that the document allows is accepted', async () => {
  const pattern = new RegExp(String(told.pattern), 'u');
  // What begins like a coded name of another script must be one, which no pattern can tell.
  const urls = fc.stringMatching(pattern, { size: 'small' }).filter((url) => !/xn--/i.test(url));
  await fc.assert(
    fc.asyncProperty(urls, async (url) => {
      expect(await checked.isValid(url)).toBe(true);
    }),
    { numRuns: 2_000 },
  );
});
