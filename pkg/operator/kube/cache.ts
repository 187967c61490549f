import { formatKey, keyOf, type Key, type KubeObject } from './object.ts';

/** `before` is absent for a new object, `after` for one that is gone. */
export type Change<T> = { readonly key: Key; readonly before: T | undefined; readonly after: T | undefined };

export type Indexers<T, Index extends string> = Readonly<Record<Index, (object: T) => readonly string[]>>;

/** Objects by key and by index. Each method that changes it returns the changes that it made. */
export class Cache<T extends KubeObject, Index extends string> {
  readonly #objects = new Map<string, T>();
  readonly #indexes: ReadonlyMap<
    string,
    { values: (object: T) => readonly string[]; found: Map<string, Map<string, T>> }
  >;

  constructor(indexers: Partial<Indexers<T, Index>>) {
    const entries = Object.entries<Indexers<T, Index>[Index] | undefined>(indexers);
    this.#indexes = new Map(
      entries.flatMap(([name, values]) => (values === undefined ? [] : [[name, { values, found: new Map() }]])),
    );
  }

  get size(): number {
    return this.#objects.size;
  }

  get(key: Key): T | undefined {
    return this.#objects.get(formatKey(key));
  }

  list(): readonly T[] {
    return [...this.#objects.values()];
  }

  byIndex(index: Index, value: string): readonly T[] {
    return [...(this.#indexes.get(index)?.found.get(value)?.values() ?? [])];
  }

  /** No change when the version is the one that is held. */
  put(object: T): Change<T> | undefined {
    const id = formatKey(keyOf(object));
    const before = this.#objects.get(id);
    if (before !== undefined && isSameVersion(before, object)) return undefined;
    if (before !== undefined) this.#unindex(id, before);
    this.#objects.set(id, object);
    for (const { values, found } of this.#indexes.values()) {
      for (const value of values(object)) {
        const holders = found.get(value) ?? new Map<string, T>();
        found.set(value, holders.set(id, object));
      }
    }
    return { key: keyOf(object), before, after: object };
  }

  remove(key: Key): Change<T> | undefined {
    const id = formatKey(key);
    const before = this.#objects.get(id);
    if (before === undefined) return undefined;
    this.#objects.delete(id);
    this.#unindex(id, before);
    return { key, before, after: undefined };
  }

  /** Makes the cache what a full list says. Objects that the list lacks went while nobody looked. */
  replaceAll(objects: readonly T[]): readonly Change<T>[] {
    const listed = new Set(objects.map((object) => formatKey(keyOf(object))));
    const gone = this.list().filter((object) => !listed.has(formatKey(keyOf(object))));
    const changes = [...gone.map((object) => this.remove(keyOf(object))), ...objects.map((object) => this.put(object))];
    return changes.filter((change) => change !== undefined);
  }

  #unindex(id: string, object: T): void {
    for (const { values, found } of this.#indexes.values()) {
      for (const value of values(object)) {
        const holders = found.get(value);
        holders?.delete(id);
        if (holders?.size === 0) found.delete(value);
      }
    }
  }
}

function isSameVersion(one: KubeObject, other: KubeObject): boolean {
  return one.metadata.uid === other.metadata.uid && one.metadata.resourceVersion === other.metadata.resourceVersion;
}
