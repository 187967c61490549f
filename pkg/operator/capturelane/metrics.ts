import { Counter, Gauge } from 'prom-client';
import type { Registry } from '../../telemetry/index.ts';
import { formatKey, keyOf } from '../kube/index.ts';
import type { CaptureLaneObject } from '../resources/index.ts';
import type { Observed } from './facts.ts';

export type LaneMetrics = {
  observe(resource: CaptureLaneObject, observed: Observed): void;
  countScaling(resource: CaptureLaneObject, direction: 'up' | 'down'): void;
  /** A lane that is gone has no numbers. */
  forget(lane: string): void;
};

/** Numbers of the lanes that serve a surface. Surfaces are few; lanes that serve none are not counted. */
export function createLaneMetrics(registry: Registry): LaneMetrics {
  const registers = [registry];
  const pods = new Gauge({
    name: 'scs_lane_pods',
    help: 'Pods of the lane by what they are',
    labelNames: ['surface', 'state'] as const,
    registers,
  });
  const captures = new Gauge({
    name: 'scs_lane_captures',
    help: 'Captures that wait for the lane, and that run in it',
    labelNames: ['surface', 'state'] as const,
    registers,
  });
  const scalings = new Counter({
    name: 'scs_lane_scalings_total',
    help: 'How often the number of pods was changed',
    labelNames: ['surface', 'direction'] as const,
    registers,
  });
  const failing = new Gauge({
    name: 'scs_lane_demand_unknown',
    help: '1 while what waits for the lane can not be read, so that it is not scaled',
    labelNames: ['surface'] as const,
    registers,
  });
  const surfaces = new Map<string, string>();

  return {
    observe: (resource, observed) => {
      if (observed.takenBy !== null) return;
      const { surface } = observed;
      surfaces.set(formatKey(keyOf(resource)), surface);
      pods.set({ surface, state: 'desired' }, observed.desired);
      pods.set({ surface, state: 'ready' }, observed.ready);
      pods.set({ surface, state: 'busy' }, observed.busyPods);
      if (observed.waiting !== null) captures.set({ surface, state: 'waiting' }, observed.waiting);
      if (observed.running !== null) captures.set({ surface, state: 'running' }, observed.running);
      failing.set({ surface }, observed.databaseProblem === null ? 0 : 1);
    },
    countScaling: ({ spec }, direction) => scalings.inc({ surface: spec.surface, direction }),
    forget: (lane) => {
      const surface = surfaces.get(lane);
      surfaces.delete(lane);
      if (surface === undefined || [...surfaces.values()].includes(surface)) return;
      for (const state of ['desired', 'ready', 'busy']) pods.remove({ surface, state });
      for (const state of ['waiting', 'running']) captures.remove({ surface, state });
      failing.remove({ surface });
    },
  };
}
