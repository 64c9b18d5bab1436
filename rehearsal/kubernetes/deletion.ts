import { ApiRefusal, refusals } from './api-status.js';
import type { KubeObject, Pod } from './objects.js';
import { isOver, timestamp } from './objects.js';
import type { ObjectStore } from './object-store.js';
import { NAMESPACES, PODS, type Resource } from './resources.js';

/** The fields of a DeleteOptions that are read, from a body or a query. */
export interface DeleteOptions {
  readonly gracePeriodSeconds?: number;
  readonly propagationPolicy?: string;
  readonly preconditions?: { readonly uid?: string; readonly resourceVersion?: string };
}

export const FOREGROUND = 'foregroundDeletion';
export const ORPHAN = 'orphan';
const POLICIES: Readonly<Record<string, string | undefined>> = { Foreground: FOREGROUND, Orphan: ORPHAN };
const DEFAULT_GRACE_SECONDS = 30;

/**
 * Begins a deletion. An object with a grace period or a finalizer stays, with a deletionTimestamp, until both are gone.
 * @returns the object as it stays, or undefined if it is gone
 * @throws ApiRefusal
 */
export function beginDeletion(
  store: ObjectStore,
  resource: Resource,
  object: KubeObject,
  options: DeleteOptions = {},
): KubeObject | undefined {
  checkPreconditions(resource, object, options);
  const { metadata } = object;
  const { propagationPolicy: policy = 'Background' } = options;
  if (policy !== 'Background' && !Object.hasOwn(POLICIES, policy))
    throw new ApiRefusal(
      422,
      'Invalid',
      `DeleteOptions.meta.k8s.io "" is invalid: propagationPolicy: Unsupported value: "${policy}"`,
    );
  const finalizer = resource === PODS ? undefined : POLICIES[policy];
  const others = metadata.finalizers?.filter((name) => name !== FOREGROUND && name !== ORPHAN) ?? [];
  const finalizers = finalizer === undefined ? others : [...others, finalizer];
  const grace = graceOf(resource, object, options);
  const before = metadata.deletionGracePeriodSeconds;
  // A second deletion can only shorten the time.
  const seconds = before === undefined ? grace : Math.min(before, grace);
  const changed: KubeObject = {
    ...object,
    ...(resource === NAMESPACES && { status: { phase: 'Terminating' } }),
    metadata: {
      ...metadata,
      ...(finalizers.length > 0 ? { finalizers } : { finalizers: [] }),
      deletionTimestamp:
        before === seconds && metadata.deletionTimestamp !== undefined
          ? metadata.deletionTimestamp
          : timestamp(Date.now() + seconds * 1000),
      deletionGracePeriodSeconds: seconds,
    },
  };
  if (isRemovable(resource, changed)) {
    store.remove(resource, object);
    return undefined;
  }
  return store.put(resource, changed);
}

/** Whether nothing holds the object: its grace period is over (0), and no finalizer is left. Namespaces: see garbage.ts. */
const isRemovable = (resource: Resource, { metadata }: KubeObject): boolean =>
  resource !== NAMESPACES && metadata.deletionGracePeriodSeconds === 0 && (metadata.finalizers ?? []).length === 0;

/** Stores an object whose finalizers changed, or removes it if nothing holds it any more. */
export function putOrRemove(store: ObjectStore, resource: Resource, object: KubeObject): void {
  const isGoing = object.metadata.deletionTimestamp !== undefined;
  if (isGoing && isRemovable(resource, object)) store.remove(resource, object);
  else store.put(resource, object);
}

function checkPreconditions(resource: Resource, { metadata }: KubeObject, { preconditions }: DeleteOptions): void {
  const { uid, resourceVersion } = preconditions ?? {};
  const conflict = (what: string, wanted: string, found: string): ApiRefusal =>
    refusals.conflict(
      resource,
      metadata.name,
      `Precondition failed: ${what} in precondition: ${wanted}, ${what} in object meta: ${found}`,
    );
  if (uid !== undefined && uid !== metadata.uid) throw conflict('UID', uid, metadata.uid);
  if (resourceVersion !== undefined && resourceVersion !== metadata.resourceVersion)
    throw conflict('ResourceVersion', resourceVersion, metadata.resourceVersion);
}

/** Grace period in seconds. It is 0 for everything but pods, and for a pod that has no node or has ended. */
function graceOf(resource: Resource, object: KubeObject, { gracePeriodSeconds }: DeleteOptions): number {
  if (resource !== PODS) return 0;
  const pod = object as Pod;
  if (pod.spec.nodeName === undefined || isOver(pod)) return 0;
  return gracePeriodSeconds ?? pod.spec.terminationGracePeriodSeconds ?? DEFAULT_GRACE_SECONDS;
}
