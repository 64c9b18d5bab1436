import { beginDeletion, FOREGROUND, ORPHAN, putOrRemove } from './deletion.js';
import type { KubeObject } from './objects.js';
import type { ObjectStore } from './object-store.js';
import {
  ACCOUNTS,
  CONFIG_MAPS,
  JOBS,
  NAMESPACES,
  PODS,
  RAY_CLUSTERS,
  RESOURCES,
  SECRETS,
  SERVICES,
  type Resource,
} from './resources.js';

/** Resources that may have an owner here. */
const OWNED: readonly Resource[] = [PODS, JOBS, CONFIG_MAPS, SERVICES, SECRETS];

const OWNERS: readonly Resource[] = [JOBS, RAY_CLUSTERS];

/** The garbage collector: deletes the dependents of deleted owners, in the order that the deletion asked for. */
export function collectGarbage(store: ObjectStore): void {
  for (const owner of OWNERS) for (const object of store.list(owner)) endDependents(store, owner, object);
  const uids = new Set(RESOURCES.flatMap((resource) => store.list(resource).map(({ metadata }) => metadata.uid)));
  for (const resource of OWNED) {
    for (const object of store.list(resource)) {
      const owners = object.metadata.ownerReferences ?? [];
      if (owners.length > 0 && !owners.some(({ uid }) => uids.has(uid))) deleteOnce(store, resource, object);
    }
  }
  for (const namespace of store.list(NAMESPACES))
    if (namespace.metadata.deletionTimestamp) emptyNamespace(store, namespace);
}

function endDependents(store: ObjectStore, owner: Resource, object: KubeObject): void {
  const { finalizers = [], deletionTimestamp, uid } = object.metadata;
  if (deletionTimestamp === undefined) return;
  const dependents = dependentsOf(store, uid);
  if (finalizers.includes(ORPHAN)) {
    for (const [resource, dependent] of dependents) store.put(resource, withoutOwner(dependent, uid));
    putOrRemove(store, owner, without(object, ORPHAN));
  } else if (finalizers.includes(FOREGROUND)) {
    for (const [resource, dependent] of dependents) deleteOnce(store, resource, dependent);
    if (dependentsOf(store, uid).length === 0) putOrRemove(store, owner, without(object, FOREGROUND));
  }
}

function emptyNamespace(store: ObjectStore, namespace: KubeObject): void {
  const content = (): readonly (readonly [Resource, KubeObject])[] =>
    RESOURCES.filter(({ isNamespaced }) => isNamespaced).flatMap((resource) =>
      store.list(resource, namespace.metadata.name).map((object) => [resource, object] as const),
    );
  for (const [resource, object] of content()) deleteOnce(store, resource, object);
  if (content().length === 0) store.remove(NAMESPACES, namespace);
}

function deleteOnce(store: ObjectStore, resource: Resource, object: KubeObject): void {
  if (object.metadata.deletionTimestamp === undefined) beginDeletion(store, resource, object);
}

const dependentsOf = (store: ObjectStore, uid: string): readonly (readonly [Resource, KubeObject])[] =>
  OWNED.flatMap((resource) =>
    store
      .list(resource)
      .filter(({ metadata }) => metadata.ownerReferences?.some((owner) => owner.uid === uid))
      .map((object) => [resource, object] as const),
  );

const withoutOwner = (object: KubeObject, uid: string): KubeObject => ({
  ...object,
  metadata: {
    ...object.metadata,
    ownerReferences: object.metadata.ownerReferences?.filter((owner) => owner.uid !== uid) ?? [],
  },
});

export const without = <Kind extends KubeObject>(object: Kind, finalizer: string): Kind => ({
  ...object,
  metadata: { ...object.metadata, finalizers: object.metadata.finalizers?.filter((name) => name !== finalizer) ?? [] },
});

/** Creates the service account that Kubernetes makes in each namespace. */
export function defaultAccount(store: ObjectStore, make: (resource: Resource, object: object) => void): void {
  for (const { metadata } of store.list(NAMESPACES)) {
    const { name: namespace, deletionTimestamp } = metadata;
    if (deletionTimestamp !== undefined || store.get(ACCOUNTS, namespace, 'default')) continue;
    make(ACCOUNTS, { metadata: { name: 'default', namespace } });
  }
}
