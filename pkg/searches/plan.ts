import { childId, regionKey, type Region, type SearchMethod, type Surface } from '../contract/index.ts';

/** One child that a search fans out into. */
export type PlannedChild = {
  id: string;
  position: number;
  surface: Surface;
  region: Region | null;
  regionKey: string;
  price: number;
};

export type SearchPlan = { children: PlannedChild[]; creditsToCharge: number };

/** One child for each surface and region, surfaces outermost; none targeted gives one `GLOBAL` child each (spec 2.2). */
export function planSearch(
  jobId: string,
  request: { surfaces: readonly Surface[]; regions: readonly Region[] },
  priceOf: (surface: Surface) => number,
): SearchPlan {
  const regions: readonly (Region | null)[] = request.regions.length === 0 ? [null] : request.regions;
  const children = request.surfaces
    .flatMap((surface) =>
      regions.map((region) => ({ surface, region, regionKey: regionKey(region), price: priceOf(surface) })),
    )
    .map((child, position) => ({ ...child, position, id: childId(jobId, child.surface, child.regionKey) }));
  return { children, creditsToCharge: children.reduce((sum, { price }) => sum + price, 0) };
}

/** How many children a search fans out into, and what they cost together, without making them. */
export function measureSearch(
  { surfaces, regions }: { surfaces: readonly Surface[]; regions: readonly Region[] },
  priceOf: (surface: Surface) => number,
): { captures: number; credits: number } {
  const each = Math.max(1, regions.length);
  const credits = surfaces.reduce((sum, surface) => sum + priceOf(surface), 0);
  return { captures: surfaces.length * each, credits: credits * each };
}

export type Wanted = {
  mode: 'sync' | 'async' | null;
  preferWaitSeconds: number | null;
  surfaceCount: number;
  hasWebhook: boolean;
  /** `POST /v1/search/{surface}`: synchronous unless asked otherwise. */
  alias: boolean;
};

/** The four mode rules of spec 4.1, strongest first. */
export function chooseMethod(wanted: Wanted): SearchMethod & ('sync' | 'async') {
  if (wanted.hasWebhook || wanted.mode === 'async') return 'async';
  if (wanted.mode === 'sync' || wanted.preferWaitSeconds !== null) return 'sync';
  return wanted.alias || wanted.surfaceCount === 1 ? 'sync' : 'async';
}
