import { isDeleting } from '../kube/index.ts';
import type { CaptureLaneObject } from '../resources/index.ts';

/**
 * Which of the lanes of one surface speaks for it: one that is not suspended before one that is, then the older one.
 * So a second lane never takes a surface away from one that works, and takes over when that one goes or is suspended.
 */
export function chooseSpeaker(lanes: readonly CaptureLaneObject[]): CaptureLaneObject | undefined {
  return lanes.filter((lane) => !isDeleting(lane)).toSorted(byClaim)[0];
}

function byClaim(a: CaptureLaneObject, b: CaptureLaneObject): number {
  return rank(a) < rank(b) ? -1 : 1;
}

/** Text that sorts as the claims do; creation times are RFC 3339 in UTC, which sort as text. */
function rank({ spec, metadata }: CaptureLaneObject): string {
  const suspended = spec.suspend ? '1' : '0';
  return [suspended, metadata.creationTimestamp, metadata.namespace ?? '', metadata.name].join('\n');
}
