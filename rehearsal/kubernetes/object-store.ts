import type { KubeObject, Pod } from './objects.js';
import { apiVersionOf, PODS, RESOURCES, type Resource } from './resources.js';

export interface Change {
  readonly version: number;
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly resource: Resource;
  readonly object: KubeObject;
}

/** The objects as stored on disk. */
export interface StoredObjects {
  readonly version: number;
  readonly objects: Readonly<Record<string, readonly KubeObject[]>>;
}

/**
 * Number of changes that a watch can ask for. A request for older ones gets 410, as from a real API server after its compaction.
 */
const KEPT_CHANGES = 2_000;

/** All objects, as a real API server keeps them in etcd: each change has one number, which is the object's resourceVersion. */
export class ObjectStore {
  readonly #tables = new Map<string, Map<string, KubeObject>>();
  readonly #listeners = new Set<(change: Change) => void>();
  #changes: Change[] = [];
  #version: number;
  /** Changes after this version are known. */
  #since: number;

  constructor(stored: StoredObjects = { version: 0, objects: {} }) {
    this.#version = this.#since = stored.version;
    for (const { plural } of RESOURCES) {
      const objects = stored.objects[plural] ?? [];
      this.#tables.set(plural, new Map(objects.map((object) => [keyOf(object.metadata), object])));
    }
  }

  get version(): number {
    return this.#version;
  }

  get<Kind extends KubeObject = KubeObject>(resource: Resource, namespace: string, name: string): Kind | undefined {
    return this.#table(resource).get(keyOf({ namespace, name })) as Kind | undefined;
  }

  /** Sorted in etcd's order. @param namespace absent: all */
  list<Kind extends KubeObject = KubeObject>(resource: Resource, namespace?: string): readonly Kind[] {
    const all = [...this.#table(resource)];
    const wanted = namespace === undefined ? all : all.filter(([, { metadata }]) => metadata.namespace === namespace);
    return wanted.toSorted(([one], [other]) => (one < other ? -1 : 1)).map(([, object]) => object as Kind);
  }

  /** Pods that this object owns. */
  podsOf({ metadata }: KubeObject): readonly Pod[] {
    return this.list<Pod>(PODS, metadata.namespace).filter((pod) =>
      pod.metadata.ownerReferences?.some(({ uid }) => uid === metadata.uid),
    );
  }

  byUid(resource: Resource, uid: string): KubeObject | undefined {
    return [...this.#table(resource).values()].find(({ metadata }) => metadata.uid === uid);
  }

  /** Creates the object, or replaces the one with its name. @returns the object with its new resourceVersion */
  put<Kind extends KubeObject>(resource: Resource, object: Kind): Kind {
    const table = this.#table(resource);
    const key = keyOf(object.metadata);
    const type = table.has(key) ? 'MODIFIED' : 'ADDED';
    const stored = this.#stamped(resource, object);
    table.set(key, stored);
    this.#tell({ version: this.#version, type, resource, object: stored });
    return stored;
  }

  remove(resource: Resource, { metadata }: KubeObject): void {
    const table = this.#table(resource);
    const object = table.get(keyOf(metadata));
    if (object === undefined) return;
    table.delete(keyOf(metadata));
    const last = this.#stamped(resource, object);
    this.#tell({ version: this.#version, type: 'DELETED', resource, object: last });
  }

  /** Undefined if changes since that version are no longer known. */
  changesAfter(version: number): readonly Change[] | undefined {
    return version < this.#since ? undefined : this.#changes.filter((change) => change.version > version);
  }

  /** @returns a function that unsubscribes */
  onChange(listener: (change: Change) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  stored(): StoredObjects {
    const objects = [...this.#tables].map(([plural, table]) => [plural, [...table.values()]] as const);
    return { version: this.#version, objects: Object.fromEntries(objects) };
  }

  #table({ plural }: Resource): Map<string, KubeObject> {
    const table = this.#tables.get(plural);
    if (table === undefined) throw new TypeError(`no table of ${plural}`);
    return table;
  }

  #stamped<Kind extends KubeObject>(resource: Resource, object: Kind): Kind {
    this.#version += 1;
    const metadata = { ...object.metadata, resourceVersion: String(this.#version) };
    return { ...object, apiVersion: apiVersionOf(resource), kind: resource.kind, metadata };
  }

  #tell(change: Change): void {
    this.#changes.push(change);
    if (this.#changes.length > 2 * KEPT_CHANGES) {
      this.#changes = this.#changes.slice(-KEPT_CHANGES);
      this.#since = (this.#changes[0]?.version ?? 1) - 1;
    }
    for (const listener of this.#listeners) listener(change);
  }
}

/** etcd's order of keys. */
const keyOf = ({ namespace = '', name }: { readonly namespace?: string; readonly name: string }): string =>
  `${namespace}/${name}`;
