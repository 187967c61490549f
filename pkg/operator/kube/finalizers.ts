import { isFailure } from './errors.ts';
import { keyOf, type KubeObject } from './object.ts';
import type { CallOptions, ResourceClient } from './resources.ts';

export function isDeleting(object: KubeObject): boolean {
  return object.metadata.deletionTimestamp !== undefined;
}

export function hasFinalizer(object: KubeObject, finalizer: string): boolean {
  return object.metadata.finalizers?.includes(finalizer) === true;
}

/**
 * Makes the object wait for us before it goes; resolves to the object as it is then. Do it before anything is created
 * that must be cleaned up. Writes nothing when it is there. Rejects with `conflict` when the object has changed since.
 */
export async function addFinalizer<T extends KubeObject>(
  resources: ResourceClient<T>,
  object: T,
  finalizer: string,
  options?: CallOptions,
): Promise<T> {
  if (hasFinalizer(object, finalizer)) return object;
  return writeFinalizers(resources, object, [...(object.metadata.finalizers ?? []), finalizer], options);
}

/**
 * Lets the object go, after the clean-up succeeded. Removes no other's finalizer, even when the list has changed since:
 * then it rejects with `conflict`. An object that is gone already is fine.
 */
export async function removeFinalizer<T extends KubeObject>(
  resources: ResourceClient<T>,
  object: T,
  finalizer: string,
  options?: CallOptions,
): Promise<void> {
  if (!hasFinalizer(object, finalizer)) return;
  const others = object.metadata.finalizers?.filter((name) => name !== finalizer) ?? [];
  try {
    await writeFinalizers(resources, object, others, options);
  } catch (error) {
    if (!isFailure(error, 'notFound')) throw error;
  }
}

/** The list is written over the version that was read: a merge patch replaces it whole, with what others have added. */
function writeFinalizers<T extends KubeObject>(
  resources: ResourceClient<T>,
  object: T,
  finalizers: readonly string[],
  options: CallOptions | undefined,
): Promise<T> {
  const { uid, resourceVersion } = object.metadata;
  const body = { metadata: { uid, resourceVersion, finalizers } };
  return resources.patch(keyOf(object), { type: 'merge', body }, options);
}
