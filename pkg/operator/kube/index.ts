/**
 * What every controller needs and Kubernetes' JavaScript client lacks: a client on the server's own JSON, an informer
 * that survives any network, a work queue, the control loop, leader election, events, conditions, finalizers and
 * server-side apply. Knows no kind of ours.
 *
 *     const connection = connect({ kubeConfig: loadKubeConfig(), userAgent });
 *     const leader = createLeader({ connection, lease, identity, log });
 *     const guarded = connection.guardedBy(leader.isLeading);
 *     const lanes = createInformer({ resources: resourceClient(guarded, captureLanes), log, transform: keepManagedFieldsOf(manager) });
 *     lanes.start();
 *     await leader.run(signal, async (term) => {
 *       const controller = controllerFor({ name: 'capture-lane', informer: lanes, reconcile, log })
 *         .owns(deployments).watches(pods, laneOfPod).triggeredBy(queueChanged).start();
 *       await aborted(term);
 *       await controller.stop();
 *     });
 */
export {
  controllerReference,
  formatKey,
  keyOf,
  parseKey,
  type Desired,
  type Key,
  type Kind,
  type KubeObject,
  type Metadata,
  type OwnerReference,
  type Stored,
} from './object.ts';
export {
  core,
  defineKind,
  type ConfigMap,
  type CustomResourceDefinition,
  type Deployment,
  type EventObject,
  type Lease,
  type Namespace,
  type NetworkPolicy,
  type Pod,
  type PodDisruptionBudget,
  type Secret,
  type Service,
  type ServiceAccount,
} from './kinds.ts';
export { KubeError, TerminalError, isFailure, judgeError, type Failure, type FieldProblem } from './errors.ts';
export { connect, type Connection, type ConnectionOptions } from './connection.ts';
export { loadKubeConfig } from './credentials.ts';
export {
  resourceClient,
  type ApplyOptions,
  type CallOptions,
  type DeleteOptions,
  type JsonPatchStep,
  type Listed,
  type Patch,
  type PatchOptions,
  type ResourceClient,
  type Scope,
  type WatchEvent,
  type WatchOptions,
} from './resources.ts';
export {
  createInformer,
  keepManagedFieldsOf,
  type Informer,
  type InformerOptions,
  type InformerTiming,
} from './informer.ts';
export type { Change } from './cache.ts';
export { createWorkQueue, type WorkQueue, type WorkQueueOptions } from './queue.ts';
export {
  controllerFor,
  type Controller,
  type ControllerBuilder,
  type ControllerOptions,
  type Reconcile,
  type Result,
  type Trigger,
} from './controller.ts';
export { createLeader, type Ending, type Leader, type LeaderOptions, type LeaderTiming } from './leader.ts';
export { createEventRecorder, type EventNote, type EventRecorder, type EventRecorderOptions } from './events.ts';
export { conditionOf, isConditionTrue, setConditions, type Condition, type Verdict } from './conditions.ts';
export { secondsTime, shorten } from './text.ts';
export { addFinalizer, hasFinalizer, isDeleting, removeFinalizer } from './finalizers.ts';
export { createApplier, type Applied, type Applier } from './apply.ts';
export { aborted, jitter, systemTimers, type Random, type Timers } from './time.ts';
