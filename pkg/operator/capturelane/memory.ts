import type { ScalingMemory } from '../../lanes/index.ts';
import type { Look } from './look.ts';
import type { Scaled } from './scaler.ts';

/** What the passes of one lane hand on to each other. None of it must survive: a new leader starts without. */
export type LaneMemory = {
  scaling: ScalingMemory;
  /** The last look, what was done about it, and the spec that it was done for. */
  last: { look: Look; scaled: Scaled; atMs: number; generation: number } | null;
};
