import { isShownBy } from './difference.ts';
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
export function createApplier(fieldManager: string): Applier {
  return {
    ensure: async (resources, live, desired, options) => {
      if (live !== undefined && isShownBy(live, desired, { fieldManager, subresource: '' }))
        return { object: live, change: 'unchanged' };
      const object = await resources.apply(desired, { fieldManager, ...options });
      return { object, change: changeOf(live, object) };
    },
    ensureStatus: async (resources, live, desired, options) => {
      if (isShownBy(live, desired, { fieldManager, subresource: 'status' }))
        return { object: live, change: 'unchanged' };
      const object = await resources.applyStatus(desired, { fieldManager, ...options });
      return { object, change: changeOf(live, object) };
    },
  };
}

/** An apply that changed nothing leaves the version as it is: the informer was behind, or the server wrote it otherwise. */
function changeOf(live: KubeObject | undefined, object: KubeObject): Applied<KubeObject>['change'] {
  if (live?.metadata.uid !== object.metadata.uid) return 'created';
  return live.metadata.resourceVersion === object.metadata.resourceVersion ? 'unchanged' : 'changed';
}
