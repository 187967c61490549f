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
export { KubeError, TerminalError, isFailure, type Failure, type FieldProblem } from './errors.ts';
export { connect, type Connection, type ConnectionOptions } from './connection.ts';
export { loadKubeConfig } from './credentials.ts';
export { resourceClient } from './client.ts';
export type {
  ApplyOptions,
  CallOptions,
  DeleteOptions,
  JsonPatchStep,
  Listed,
  Patch,
  PatchOptions,
  ResourceClient,
  Scope,
  WatchEvent,
  WatchOptions,
} from './resources.ts';
export {
  createInformer,
  keepManagedFieldsOf,
  type Informer,
  type InformerOptions,
  type InformerTiming,
} from './informer.ts';
export type { Change } from './cache.ts';
export { controllerFor, type Controller, type ControllerBuilder, type Trigger } from './controller.ts';
export type { ControllerOptions, Reconcile, Result } from './reconcile.ts';
export { createLeader, type Ending, type Leader, type LeaderOptions, type LeaderTiming } from './leader.ts';
export { createEventRecorder, type EventNote, type EventRecorder, type EventRecorderOptions } from './events.ts';
export { conditionOf, setConditions, type Condition, type Verdict } from './conditions.ts';
export { secondsTime, shorten } from './text.ts';
export { addFinalizer, hasFinalizer, isDeleting, removeFinalizer } from './finalizers.ts';
export { createApplier, type Applied, type Applier } from './apply.ts';
export { aborted, type Random, type Timers } from './time.ts';
