import { errorOfSilence, errorOfStatus, isStatus } from './answers.ts';
import type { Connection } from './connection.ts';
import { KubeError, isFailure } from './errors.ts';
import type { Kind, KubeObject } from './object.ts';
import type { CallOptions, Listed, Scope, WatchEvent, WatchOptions } from './resources.ts';
import { collectionOf, isRecord, readItem, readObject } from './wire.ts';

const PAGE_SIZE = 500;
const PAGE_TIMEOUT_MS = 30_000;

/** Reads all pages. When the pages' moment has been compacted away half-way, reads everything in one answer. */
export async function listAll<T extends KubeObject>(
  connection: Connection,
  kind: Kind<T>,
  scope: Scope & { pageSize?: number },
  options: CallOptions,
): Promise<Listed<T>> {
  const { pageSize = PAGE_SIZE, namespace, ...selectors } = scope;
  const path = collectionOf(kind, namespace);
  const read = async (page: { limit?: string; continue?: string }): Promise<Page<T>> => {
    const query = { ...selectors, ...page };
    const answer = await connection.call({ method: 'GET', path, query, timeoutMs: PAGE_TIMEOUT_MS, ...options });
    return readPage(kind, path, answer);
  };
  let page = await read({ limit: String(pageSize) });
  const items = [...page.items];
  while (page.continue !== '') {
    try {
      page = await read({ limit: String(pageSize), continue: page.continue });
    } catch (error) {
      if (isFailure(error, 'expired')) return read({});
      throw error;
    }
    items.push(...page.items);
  }
  return { items, resourceVersion: page.resourceVersion };
}

type Page<T> = Listed<T> & { readonly continue: string };

function readPage<T extends KubeObject>(kind: Kind<T>, path: string, answer: unknown): Page<T> {
  const metadata = isRecord(answer) ? answer['metadata'] : undefined;
  const items = isRecord(answer) ? answer['items'] : undefined;
  if (
    !isRecord(metadata) ||
    typeof metadata['resourceVersion'] !== 'string' ||
    !(Array.isArray(items) || items === null)
  )
    throw new KubeError(`GET ${path}: the answer is no list`, { failure: 'other', status: 200 });
  const next = metadata['continue'];
  return {
    items: (items ?? []).filter(isRecord).map((item) => readItem(kind, item)),
    resourceVersion: metadata['resourceVersion'],
    continue: typeof next === 'string' ? next : '',
  };
}

/** One watch, until it ends. */
export async function* watchChanges<T extends KubeObject>(
  connection: Connection,
  kind: Kind<T>,
  options: WatchOptions,
): AsyncGenerator<WatchEvent<T>> {
  const { namespace, labelSelector, fieldSelector, resourceVersion, timeoutSeconds, signal } = options;
  const path = collectionOf(kind, namespace);
  const query = {
    watch: '1',
    allowWatchBookmarks: 'true',
    timeoutSeconds: String(timeoutSeconds),
    resourceVersion,
    labelSelector,
    fieldSelector,
  };
  for await (const line of connection.lines({ method: 'GET', path, query, signal })) {
    yield readEvent(kind, `watch ${path}`, line);
  }
}

function readEvent<T extends KubeObject>(kind: Kind<T>, name: string, line: string): WatchEvent<T> {
  let event: unknown;
  try {
    event = JSON.parse(line);
  } catch (error) {
    throw errorOfSilence(name, error);
  }
  const type = isRecord(event) ? event['type'] : undefined;
  const object = isRecord(event) ? event['object'] : undefined;
  switch (type) {
    case 'ADDED':
    case 'MODIFIED':
    case 'DELETED':
      return { type, object: readObject(kind, object) };
    case 'BOOKMARK': {
      const metadata = isRecord(object) ? object['metadata'] : undefined;
      const version = isRecord(metadata) ? metadata['resourceVersion'] : undefined;
      if (typeof version !== 'string') throw errorOfSilence(name, 'a bookmark without a version');
      return { type, resourceVersion: version };
    }
    default:
      if (isStatus(object)) throw errorOfStatus(name, object);
      throw errorOfSilence(name, `an event of unknown type ${String(type)}`);
  }
}
