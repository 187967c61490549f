import type { PodLimits } from './pod-limits.ts';

export type Capacity = {
  /** Pages at a time. */
  concurrency: number;
  /** A browser over this is replaced. */
  memoryMiB: number;
};

/** Node, and a browser that shows nothing (measured: 130 and 230 MiB), with some air. */
const BASE_MIB = 512;
/** A light page was measured at 85 MiB; answer pages are not always light. */
const PER_PAGE_MIB = 128;
/** More pages at once than this only slow each other down, as a page's own work is what takes the time. */
const PAGES_PER_CPU = 2;
/** While a browser drains, its successor is there already: neither may take the whole pod. */
const SHARE_OF_BROWSER = 0.6;

/** How much of what a lane asks for its pod can carry; one page at least, however small the pod. */
export function planCapacity(limits: PodLimits, asked: Capacity): Capacity {
  const byMemory = Math.floor((limits.memoryMiB - BASE_MIB) / PER_PAGE_MIB);
  const byCpu = Math.floor(limits.cpus * PAGES_PER_CPU);
  return {
    concurrency: Math.max(1, Math.min(asked.concurrency, byMemory, byCpu)),
    memoryMiB: Math.min(asked.memoryMiB, Math.round(limits.memoryMiB * SHARE_OF_BROWSER)),
  };
}
