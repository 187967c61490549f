import { readFile } from 'node:fs/promises';
import { parse } from 'yaml';
import * as yup from 'yup';
import { SURFACES, type Surface } from '../contract/index.ts';

/** Credits for one successful capture. */
export type Prices = (surface: Surface) => number;

const PRICES = yup
  .object(Object.fromEntries(SURFACES.map((surface) => [surface, yup.number().integer().min(1).required()])))
  .noUnknown()
  .strict();

/** Reads the price of every surface; an error names the file and the surface. */
export async function loadPrices(file: string): Promise<Prices> {
  try {
    const prices = new Map(Object.entries(await PRICES.validate(parse(await readFile(file, 'utf8')))));
    return (surface) => {
      const price = prices.get(surface);
      if (typeof price !== 'number') throw new Error(`${surface} has no price`);
      return price;
    };
  } catch (error) {
    throw new Error(`${file}: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
  }
}
