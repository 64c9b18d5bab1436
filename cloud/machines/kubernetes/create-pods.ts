import type { V1ObjectMeta } from '@kubernetes/client-node';
import {
  objectName,
  type KubernetesPlan,
  type PodFields,
  type PodsRef,
} from '../../../domain/machine-kinds/kubernetes/words.js';
import { type CreateAnswer, isOf, type Ownership } from '../../../domain/slice.js';
import { createAnswerOf, read } from './api-failure.js';
import type { Cluster } from './cluster.js';
import { manifestOf } from './manifest.js';
import { deleteOnly } from './namespace-api.js';
import { kueueKeys, seenPart, type SeenPart } from './observation.js';

/** OpenShift's build of Kueue has this label beside Kueue's own `kueue.x-k8s.io/..`. */
const KUEUE_LABELS = ['kueue.openshift.io/managed'];

/** An object that is created before the one that costs money. A lost answer may leave it behind. */
export interface Part {
  readonly what: SeenPart['what'];
  readonly create: () => Promise<{ readonly metadata?: V1ObjectMeta }>;
}

export interface SliceObjects {
  readonly parts: readonly Part[];
  /** The owner of the pods. */
  readonly owner: { readonly name: string; readonly create: () => Promise<unknown> };
}

/** Pods that ran under jobctl's own account could exec into the pods of every job (docs/kubernetes.md, "Rights"). */
function ownAccountProblem({ ownAccount }: Cluster, { ref, pods }: PodsPlan): string | undefined {
  const { serviceAccount } = pods;
  if (serviceAccount === undefined || ownAccount?.namespace !== ref.namespace || ownAccount.name !== serviceAccount)
    return undefined;
  return `service account ${serviceAccount} of namespace ${ref.namespace} is jobctl's own, and no job's: name another one`;
}

/** Creates the ConfigMap and the Service, and then the Job. */
export const createPods = (cluster: Cluster, plan: KubernetesPlan): Promise<CreateAnswer> =>
  createObjects(cluster, plan, () => {
    const { core, batch } = cluster;
    const { namespace } = plan.ref;
    const manifest = manifestOf(plan);
    return {
      parts: [
        { what: 'ConfigMap', create: () => core.createNamespacedConfigMap({ namespace, body: manifest.configMap }) },
        { what: 'Service', create: () => core.createNamespacedService({ namespace, body: manifest.service }) },
      ],
      owner: {
        name: objectName(plan.ref.name),
        create: () => batch.createNamespacedJob({ namespace, body: manifest.job }),
      },
    };
  });

/**
 * Creates the parts, which cost nothing, and then the owner of the pods. After a lost answer the next call keeps existing parts
 * if they have the same ownership. After a refusal nothing is left.
 * @param objects throws a RangeError if the plan has no manifest
 */
export async function createObjects(
  cluster: Cluster,
  plan: PodsPlan,
  objects: () => SliceObjects,
): Promise<CreateAnswer> {
  const own = ownAccountProblem(cluster, plan);
  if (own !== undefined) return { kind: 'refused', scope: 'request', message: own };
  let slice: SliceObjects;
  try {
    slice = objects();
  } catch (error) {
    if (error instanceof RangeError) return { kind: 'refused', scope: 'request', message: error.message };
    throw error;
  }
  const { namespace } = plan.ref;
  const place = { namespace, name: slice.owner.name };
  const barred = await whatBars(cluster, namespace);
  if (barred !== undefined) return barred;
  const made: SeenPart[] = [];
  for (const { what, create } of slice.parts) {
    const answer = await create().then(
      ({ metadata }) => seenPart(what, metadata),
      (error: unknown) => createAnswerOf(error),
    );
    if ('what' in answer) made.push(answer);
    else if (answer.kind !== 'exists' || !(await isOwnPart(cluster, what, place, plan.ownership)))
      return undo(cluster, place, made, answer);
  }
  const answer = await slice.owner.create().then(
    (): CreateAnswer => ({ kind: 'accepted' }),
    (error: unknown) => createAnswerOf(error),
  );
  return answer.kind === 'refused' ? undo(cluster, place, made, answer) : answer;
}

interface PodsPlan {
  readonly ref: PodsRef;
  readonly ownership: Ownership;
  readonly pods: Pick<PodFields, 'serviceAccount'>;
}
interface ObjectPlace {
  readonly namespace: string;
  readonly name: string;
}

/** Refuses a namespace that does not exist, or in which Kueue would hold back Jobs. */
export async function whatBars({ core }: Cluster, name: string): Promise<CreateAnswer | undefined> {
  // An account that may not read namespaces gets its refusal from the next calls.
  const namespace = await read(() => core.readNamespace({ name })).catch(() => 'unknown' as const);
  if (namespace === 'unknown') return undefined;
  if (namespace === undefined) {
    const message = `namespace ${name} does not exist: make it with 'kubectl create namespace ${name}', and give the worker its role there`;
    return { kind: 'refused', scope: 'request', message };
  }
  const { labels = {} } = namespace.metadata ?? {};
  const kueue = [...kueueKeys({ labels }), ...KUEUE_LABELS.filter((key) => labels[key] === 'true')];
  if (kueue.length === 0) return undefined;
  const message = `namespace ${name} is managed by Kueue (its label ${kueue[0]}): jobctl's quota is the only authority over what it starts. Use another namespace`;
  return { kind: 'refused', scope: 'request', message };
}

/** Returns whether the part is from an earlier call for the same plan, whose answer was lost. */
async function isOwnPart(
  { core }: Cluster,
  what: SeenPart['what'],
  { namespace, name }: ObjectPlace,
  ownership: Ownership,
): Promise<boolean> {
  const found = await read((): Promise<{ metadata?: { labels?: Record<string, string> } }> =>
    what === 'ConfigMap'
      ? core.readNamespacedConfigMap({ namespace, name })
      : core.readNamespacedService({ namespace, name }),
  ).catch(() => undefined);
  const part = found && seenPart(what, found.metadata ?? {});
  return part?.ownership !== undefined && !part.isDeleting && isOf(part.ownership, ownership);
}

/** Deletes the parts that this call has made. A part that cannot be deleted is removed later with the slice. */
async function undo(
  cluster: Cluster,
  place: ObjectPlace,
  made: readonly SeenPart[],
  answer: CreateAnswer,
): Promise<CreateAnswer> {
  if (answer.kind === 'unanswered') return answer;
  const undone = await Promise.all(made.map(({ what, uid }) => deleteOnly(cluster, what, { ...place, uid })));
  const isUndone = undone.every(({ kind }) => kind === 'accepted' || kind === 'gone');
  return isUndone || answer.kind !== 'refused' ? answer : { ...answer, isPartial: true };
}
