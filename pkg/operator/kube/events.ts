import type { Logger } from 'pino';
import type { Connection } from './connection.ts';
import type { KubeObject } from './object.ts';
import type { Timers } from './time.ts';

export type EventNote = {
  regarding: KubeObject;
  type: 'Normal' | 'Warning';
  /** PascalCase constant, for programs: `ScaledUp`. */
  reason: string;
  /** PascalCase, what was done or tried: `Scale`. */
  action: string;
  /** For people; cut at 1024 characters. */
  note: string;
};

export type EventRecorderOptions = {
  connection: Connection;
  /** `searchcapture.io/capture-lane`. */
  reportingController: string;
  /** The pod. */
  reportingInstance: string;
  log: Logger;
  timers?: Timers;
  wallMs?: () => number;
};

/** Writes events.k8s.io/v1. They are for people: a lost one is logged, and nothing waits for them. */
export type EventRecorder = {
  /**
   * Returns at once. The same note again within 6 minutes becomes one series whose count is written at most once a
   * minute; beyond 25 different ones, and one in 20 s after that, of one object, notes are dropped and counted.
   */
  record(note: EventNote): void;
  /** Writes what is pending, as far as `timeoutMs` allows, and ends. */
  stop(timeoutMs?: number): Promise<void>;
};

export declare function createEventRecorder(options: EventRecorderOptions): EventRecorder;
