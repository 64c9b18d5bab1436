import { objectName } from '../../../domain/machine-kinds/kubernetes/names.js';
import type { KubernetesPlan } from '../../../domain/machine-kinds/kubernetes/words.js';
import type { CreateAnswer } from '../../../domain/slice.js';
import { createAnswerOf, read } from './api-failure.js';
import type { Cluster } from './cluster.js';
import { isOf } from './condition.js';
import { type Manifest, manifestOf } from './manifest.js';
import { deleteOnly } from './namespace-api.js';
import { kueueKeys, seenPart, type SeenPart } from './observation.js';

/** OpenShift's build of Kueue, beside Kueue's own `kueue.x-k8s.io/..`. */
const KUEUE_LABELS = ['kueue.openshift.io/managed'];

/**
 * Makes the ConfigMap and the Service, which cost nothing, and then the Job. After a lost answer what is there is kept by the next
 * call, if it is of the same ownership; after a refusal nothing is left.
 */
export async function createPods(cluster: Cluster, plan: KubernetesPlan): Promise<CreateAnswer> {
  let manifest: Manifest;
  try {
    manifest = manifestOf(plan);
  } catch (error) {
    if (error instanceof RangeError) return { kind: 'refused', scope: 'request', message: error.message };
    throw error;
  }
  const { core, batch } = cluster;
  const { namespace } = plan.ref;
  const barred = await whatBars(cluster, namespace);
  if (barred !== undefined) return barred;
  const made: SeenPart[] = [];
  const parts = [
    { what: 'ConfigMap', create: () => core.createNamespacedConfigMap({ namespace, body: manifest.configMap }) },
    { what: 'Service', create: () => core.createNamespacedService({ namespace, body: manifest.service }) },
  ] as const;
  for (const { what, create } of parts) {
    const answer = await create().then(
      ({ metadata }) => seenPart(what, metadata),
      (error: unknown) => createAnswerOf(error),
    );
    if ('what' in answer) made.push(answer);
    else if (answer.kind !== 'exists' || !(await isOwnPart(cluster, what, plan)))
      return undo(cluster, plan, made, answer);
  }
  const answer = await batch.createNamespacedJob({ namespace, body: manifest.job }).then(
    (): CreateAnswer => ({ kind: 'accepted' }),
    (error: unknown) => createAnswerOf(error),
  );
  return answer.kind === 'refused' ? undo(cluster, plan, made, answer) : answer;
}

/** A namespace that does not exist, or whose Jobs somebody else would hold back. */
async function whatBars({ core }: Cluster, name: string): Promise<CreateAnswer | undefined> {
  // Who may not read namespaces learns it from the next calls.
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

/** Of an earlier call for the same plan, whose answer was lost. */
async function isOwnPart({ core }: Cluster, what: SeenPart['what'], plan: KubernetesPlan): Promise<boolean> {
  const { namespace } = plan.ref;
  const name = objectName(plan.ref.name);
  const found = await read((): Promise<{ metadata?: { labels?: Record<string, string> } }> =>
    what === 'ConfigMap'
      ? core.readNamespacedConfigMap({ namespace, name })
      : core.readNamespacedService({ namespace, name }),
  ).catch(() => undefined);
  const part = found && seenPart(what, found.metadata ?? {});
  return part?.ownership !== undefined && !part.isDeleting && isOf(part.ownership, plan.ownership);
}

/** Takes back what this call has made. What cannot be taken back is removed with the slice, by its owner. */
async function undo(
  cluster: Cluster,
  { ref }: KubernetesPlan,
  made: readonly SeenPart[],
  answer: CreateAnswer,
): Promise<CreateAnswer> {
  if (answer.kind === 'unanswered') return answer;
  const place = { namespace: ref.namespace, name: objectName(ref.name) };
  await Promise.all(made.map(({ what, uid }) => deleteOnly(cluster, what, { ...place, uid })));
  return answer;
}
