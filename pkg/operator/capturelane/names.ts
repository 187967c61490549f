import type { Key } from '../kube/index.ts';
import { LABELS } from '../resources/index.ts';

const APP = 'search-capture-lane';
export const MANAGED_BY = 'search-capture-controller';

/** Everything of a lane has this name, each in its own kind. */
export function childKey(lane: Key): Key {
  return { namespace: lane.namespace, name: `lane-${lane.name}` };
}

/** What selects the pods of a lane. It never changes: a Deployment's selector can't. */
export function podSelector(lane: Key): Readonly<Record<string, string>> {
  return { [LABELS.name]: APP, [LABELS.lane]: lane.name };
}

/** Labels of everything of a lane. */
export function laneLabels(lane: Key, surface: string): Readonly<Record<string, string>> {
  return {
    ...podSelector(lane),
    [LABELS.instance]: lane.name,
    [LABELS.component]: 'lane',
    [LABELS.managedBy]: MANAGED_BY,
    [LABELS.surface]: surface,
  };
}

/** A selector in the API server's syntax. */
export function formatSelector(labels: Readonly<Record<string, string>>): string {
  return Object.entries(labels)
    .map(([name, value]) => `${name}=${value}`)
    .join(',');
}
