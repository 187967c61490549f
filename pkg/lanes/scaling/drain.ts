import type { PodState } from './pods.ts';

export type Drain = {
  /** Pods that shall take no more captures. Said again at each look, as it holds for a while only. */
  cordon: string[];
  /** Pods that were to go and shall work again. */
  uncordon: string[];
  /** Pods that are idle for good and may be deleted now. */
  leaving: string[];
};

/**
 * Which pods go when there are `excess` too many. A pod is first told to take no more work, and goes once it has said
 * that it is idle: one that looks idle only now could take a capture a moment later, and lose it.
 */
export function chooseDrain(pods: readonly PodState[], excess: number): Drain {
  const idle = pods.filter((pod) => pod.busy === 0 && (pod.reports || !pod.ready));
  // The cluster deletes pods that are not ready before any others, whatever we say: a busy one of them would be lost.
  const unsafe = pods.some((pod) => !pod.ready && pod.busy > 0);
  const chosen = unsafe ? [] : idle.toSorted(byReadinessToGo).slice(0, Math.max(0, excess));
  const names = new Set(chosen.map(({ name }) => name));
  return {
    cordon: chosen.map(({ name }) => name),
    uncordon: pods.filter(({ name, cordoned }) => cordoned && !names.has(name)).map(({ name }) => name),
    leaving: chosen.filter(mayGo).map(({ name }) => name),
  };
}

/** A pod that never came up has nothing to lose. */
function mayGo(pod: PodState): boolean {
  return pod.drained || !pod.ready;
}

function byReadinessToGo(a: PodState, b: PodState): number {
  const rank = (pod: PodState): number => (!pod.ready ? 0 : pod.drained ? 1 : pod.cordoned ? 2 : 3);
  return rank(a) - rank(b) || (a.name < b.name ? -1 : 1);
}
