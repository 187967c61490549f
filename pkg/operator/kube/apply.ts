import type { Desired, KubeObject } from './object.ts';
import type { CallOptions, ResourceClient } from './resources.ts';

/** `unchanged` made no call at all. */
export type Applied<T> = { readonly object: T; readonly change: 'created' | 'changed' | 'unchanged' };

export type Applier = {
  /**
   * Makes the object so, unless `live`, from an informer, shows that it is. Sends no field that `desired` doesn't have;
   * a field that it had before is removed. Undefined `live` means that there is none yet.
   */
  ensure<T extends KubeObject>(
    resources: ResourceClient<T>,
    live: T | undefined,
    desired: Desired<T>,
    options?: CallOptions,
  ): Promise<Applied<T>>;
  /** The same for `/status` of an object that exists; `desired` has nothing but its name and `status`. */
  ensureStatus<T extends KubeObject>(
    resources: ResourceClient<T>,
    live: T,
    desired: Desired<T>,
    options?: CallOptions,
  ): Promise<Applied<T>>;
};

/**
 * Server-side apply that writes only what differs, so that a steady state makes no calls. The informers of the objects
 * must keep what the manager owns: `transform: keepManagedFieldsOf(fieldManager)`; without it every pass writes.
 */
export declare function createApplier(fieldManager: string): Applier;
