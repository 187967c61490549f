import type { KubeObject } from './object.ts';
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
export declare function addFinalizer<T extends KubeObject>(
  resources: ResourceClient<T>,
  object: T,
  finalizer: string,
  options?: CallOptions,
): Promise<T>;

/**
 * Lets the object go, after the clean-up succeeded. Removes no other's finalizer, even when the list has changed since:
 * then it rejects with `conflict`. An object that is gone already is fine.
 */
export declare function removeFinalizer<T extends KubeObject>(
  resources: ResourceClient<T>,
  object: T,
  finalizer: string,
  options?: CallOptions,
): Promise<void>;
