import type { KnownPod, PodState } from '../../lanes/index.ts';
import { formatKey, isDeleting, keyOf, shorten, type Deployment, type Pod } from '../kube/index.ts';

/** What the cluster knows of a lane's pods, beside what they say of themselves. */
export function describePods(pods: readonly Pod[], known: ReadonlyMap<string, KnownPod>): PodState[] {
  return pods.filter(isAlive).map((pod) => {
    const report = known.get(formatKey(keyOf(pod)));
    return {
      name: pod.metadata.name,
      ready: isReady(pod),
      terminating: isDeleting(pod),
      reports: report !== undefined,
      busy: report?.busy ?? 0,
      drained: report?.drained ?? false,
      cordoned: report?.cordoned ?? false,
    };
  });
}

/** A pod that has ended, evicted for example, is replaced by another and only waits to be cleaned up. */
function isAlive({ status }: Pod): boolean {
  return status?.phase !== 'Succeeded' && status?.phase !== 'Failed';
}

export function isReady({ status }: Pod): boolean {
  return status?.conditions?.some(({ type, status: value }) => type === 'Ready' && value === 'True') === true;
}

/** Reasons that do not pass by themselves; a container that is being created is none. */
const HOPELESS = new Set([
  'CrashLoopBackOff',
  'CreateContainerConfigError',
  'CreateContainerError',
  'ErrImageNeverPull',
  'InvalidImageName',
  'RunContainerError',
]);
/** The kubelet goes from one to the other and back with each attempt; the reason is the same. */
const PULLING = new Set(['ErrImagePull', 'ImagePullBackOff']);
const PULL_BACK_OFF = /^Back-off pulling image "[^"]*"(: ErrImagePull: )?/;
const LOG_LENGTH = 600;

/** Why pods of the lane don't come up, in the cluster's words; null when nothing is known to be wrong. */
export function explainFailure(deployment: Deployment | undefined, pods: readonly Pod[]): string | null {
  const refused = deployment?.status?.conditions?.find(
    ({ type, status }) => type === 'ReplicaFailure' && status === 'True',
  );
  if (refused !== undefined) {
    return `The cluster refuses the pods: ${withStop(refused.message ?? refused.reason ?? 'no reason')} Raise what is in the way, such as a ResourceQuota, or correct spec.pod.`;
  }
  for (const pod of pods) {
    if (isDeleting(pod) || !isAlive(pod) || isReady(pod)) continue;
    const reason = explainPod(pod);
    if (reason !== null) return reason;
  }
  return null;
}

function explainPod({ metadata, status }: Pod): string | null {
  const scheduled = status?.conditions?.find(({ type }) => type === 'PodScheduled');
  if (scheduled?.status === 'False') {
    return `Pod ${metadata.name} can't be placed on a node: ${withStop(scheduled.message ?? scheduled.reason ?? 'no reason')} Add a node that fits, or correct the resources, nodeSelector, tolerations or affinity of spec.pod.`;
  }
  for (const { image, state, lastState, restartCount } of status?.containerStatuses ?? []) {
    const waiting = state?.waiting;
    const ended = lastState?.terminated ?? state?.terminated;
    if (waiting?.reason !== undefined && PULLING.has(waiting.reason)) {
      const words = shorten((waiting.message ?? '').replace(PULL_BACK_OFF, ''), LOG_LENGTH);
      return `Pod ${metadata.name} can't get its image ${withStop(words === '' ? image : `${image}: ${words}`)} ${adviseOn(waiting.reason, ended, metadata.name)}`;
    }
    if (waiting?.reason !== undefined && HOPELESS.has(waiting.reason)) {
      // The kubelet's own message counts its back-off, and would change the condition with every step of it.
      const words = waiting.reason === 'CrashLoopBackOff' ? describeEnd(ended) : (waiting.message ?? '');
      return `Pod ${metadata.name} does not start (${waiting.reason}): ${withStop(shorten(words, LOG_LENGTH))} ${adviseOn(waiting.reason, ended, metadata.name)}`;
    }
    if (restartCount > 1 && ended !== undefined) {
      return `Pod ${metadata.name} starts again and again: ${withStop(describeEnd(ended))} ${adviseOn('CrashLoopBackOff', ended, metadata.name)}`;
    }
  }
  return null;
}

/** What to do next, by the kubelet's reason. */
function adviseOn(reason: string, ended: { reason?: string } | undefined, name: string): string {
  if (ended?.reason === 'OOMKilled')
    return 'Raise spec.pod.resources.limits.memory, or lower spec.browser.concurrency.';
  if (reason.includes('Image'))
    return "Correct laneImage and imagePullSecrets in the chart's values, or see that the registry has the image.";
  if (reason.endsWith('ConfigError')) return 'Create what is missing, in the namespace of the lane.';
  return `See its log: kubectl logs ${name} --previous`;
}

function withStop(text: string): string {
  return /[.!?…]$/.test(text) ? text : `${text}.`;
}

function describeEnd(ended: { exitCode: number; reason?: string; message?: string } | undefined): string {
  if (ended === undefined) return 'its container ends';
  const log = ended.message?.trim() ?? '';
  const how = `exit code ${ended.exitCode}${ended.reason === undefined ? '' : `, ${ended.reason}`}`;
  return log === '' ? how : `${how}, its last words: ${log.slice(-LOG_LENGTH)}`;
}

export type Rollout = 'none' | 'underWay' | 'done';

/** Whether the pods are those that the Deployment asks for now. */
export function followRollout(deployment: Deployment | undefined): Rollout {
  if (deployment === undefined) return 'none';
  const { status, metadata, spec } = deployment;
  const wanted = spec?.replicas ?? 0;
  const seen = (status?.observedGeneration ?? 0) >= (metadata.generation ?? 0);
  const updated = status?.updatedReplicas ?? 0;
  return seen && updated >= wanted && (status?.replicas ?? 0) <= updated ? 'done' : 'underWay';
}

/** The rollout has made no progress for so long that Kubernetes gave it up. */
export function isRolloutStuck(deployment: Deployment | undefined): boolean {
  return (
    deployment?.status?.conditions?.some(
      ({ type, reason }) => type === 'Progressing' && reason === 'ProgressDeadlineExceeded',
    ) === true
  );
}
