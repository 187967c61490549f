export {
  findShortage,
  grant,
  readLoad,
  reserve,
  settle,
  STARTING_CREDITS,
  type AccountLoad,
  type Ceilings,
  type Reservation,
} from './ledger.ts';
export { loadPrices, type Prices } from './prices.ts';
export { readUsage } from './usage.ts';
