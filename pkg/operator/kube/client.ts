import type { Call, Connection } from './connection.ts';
import { isFailure } from './errors.ts';
import { listAll, watchChanges } from './listing.ts';
import { keyOf, type Desired, type Kind, type KubeObject } from './object.ts';
import type { ApplyOptions, ResourceClient } from './resources.ts';
import { collectionOf, pathOf, readObject } from './wire.ts';

/** The client of one kind. Makes no call itself. */
export function resourceClient<T extends KubeObject>(connection: Connection, kind: Kind<T>): ResourceClient<T> {
  const read = (value: unknown): T => readObject(kind, value);
  const write = async (object: object, call: Call): Promise<T> =>
    read(await connection.call({ ...call, body: { apiVersion: kind.apiVersion, kind: kind.kind, ...object } }));

  const apply = (object: Desired<T>, options: ApplyOptions, subresource: '' | 'status'): Promise<T> => {
    const { fieldManager, force = true, ...limits } = options;
    const path = pathOf(kind, keyOf(object), subresource);
    const query = { fieldManager, force: String(force) };
    return write(object, { method: 'PATCH', path, query, contentType: CONTENT_TYPES.apply, ...limits });
  };

  const client: ResourceClient<T> = {
    kind,
    get: async (key, options) => read(await connection.call({ method: 'GET', path: pathOf(kind, key), ...options })),
    find: async (key, options) => {
      try {
        return await client.get(key, options);
      } catch (error) {
        if (isFailure(error, 'notFound')) return undefined;
        throw error;
      }
    },
    list: (scope, options) => listAll(connection, kind, scope ?? {}, options ?? {}),
    watch: (options) => watchChanges(connection, kind, options),
    create: (object, options) => {
      const { fieldManager, ...limits } = options ?? {};
      const path = collectionOf(kind, object.metadata.namespace);
      return write(object, { method: 'POST', path, query: { fieldManager }, ...limits });
    },
    replace: (object, options) => {
      const { fieldManager, ...limits } = options ?? {};
      return write(object, { method: 'PUT', path: pathOf(kind, keyOf(object)), query: { fieldManager }, ...limits });
    },
    apply: (object, options) => apply(object, options, ''),
    applyStatus: (object, options) => apply(object, options, 'status'),
    scale: async (key, replicas, { fieldManager, ...limits }) => {
      // Applied, not patched: only so does the server note whose the replicas are.
      const query = { fieldManager, force: 'true' };
      const body = { apiVersion: 'autoscaling/v1', kind: 'Scale', metadata: key, spec: { replicas } };
      const contentType = CONTENT_TYPES.apply;
      await connection.call({ method: 'PATCH', path: pathOf(kind, key, 'scale'), query, contentType, body, ...limits });
    },
    patch: async (key, { type, body }, options) => {
      const { fieldManager, subresource, ...limits } = options ?? {};
      const path = pathOf(kind, key, subresource);
      const contentType = CONTENT_TYPES[type];
      return read(
        await connection.call({ method: 'PATCH', path, query: { fieldManager }, contentType, body, ...limits }),
      );
    },
    delete: async (key, options) => {
      const { propagation, uid, resourceVersion, ...limits } = options ?? {};
      const body = { propagationPolicy: propagation, preconditions: { uid, resourceVersion } };
      try {
        await connection.call({ method: 'DELETE', path: pathOf(kind, key), body, ...limits });
        return true;
      } catch (error) {
        if (isFailure(error, 'notFound')) return false;
        throw error;
      }
    },
  };
  return client;
}

const CONTENT_TYPES = {
  apply: 'application/apply-patch+yaml',
  merge: 'application/merge-patch+json',
  json: 'application/json-patch+json',
} as const;
