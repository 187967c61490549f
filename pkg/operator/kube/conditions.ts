import { secondsTime, shorten } from './text.ts';

/** One line of `status.conditions`, as in metav1.Condition. */
export type Condition = {
  readonly type: string;
  readonly status: 'True' | 'False' | 'Unknown';
  /** PascalCase, for programs. */
  readonly reason: string;
  /** What is so and what to do next, for people. */
  readonly message: string;
  readonly lastTransitionTime: string;
  /** The generation of the object that this speaks of. */
  readonly observedGeneration?: number;
};

export type Verdict = Pick<Condition, 'type' | 'status' | 'reason' | 'message'>;

// metav1.Condition allows 32768; a person reads a tenth of that.
const MESSAGE_BYTES = 3_000;

/**
 * The conditions with each verdict in its place. `lastTransitionTime` moves only where the status changes, so that a
 * pass that finds the same writes nothing. Conditions not named stay as they are.
 */
export function setConditions(
  conditions: readonly Condition[] | undefined,
  verdicts: readonly Verdict[],
  at: { generation: number; nowMs: number },
): readonly Condition[] {
  const result = new Map((conditions ?? []).map((condition) => [condition.type, condition]));
  for (const verdict of verdicts) {
    const before = result.get(verdict.type);
    const sameStatus = before !== undefined && before.status === verdict.status;
    result.set(verdict.type, {
      type: verdict.type,
      status: verdict.status,
      reason: verdict.reason,
      message: shorten(verdict.message, MESSAGE_BYTES),
      lastTransitionTime: sameStatus ? before.lastTransitionTime : secondsTime(at.nowMs),
      observedGeneration: at.generation,
    });
  }
  return [...result.values()];
}

export function conditionOf(conditions: readonly Condition[] | undefined, type: string): Condition | undefined {
  return conditions?.find((condition) => condition.type === type);
}
