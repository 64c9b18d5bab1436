import type { V1DeleteOptions, V1Status } from '@kubernetes/client-node';
import { objectName } from '../../../domain/machine-kinds/kubernetes/names.js';
import type { KubernetesRef } from '../../../domain/machine-kinds/kubernetes/words.js';
import type { RemoveAnswer } from '../port.js';
import { listed, read, removeAnswerOf } from './api-failure.js';
import type { Cluster } from './cluster.js';
import { JOB_NAME_LABEL, OURS } from './manifest.js';
import {
  type Observation,
  type SeenEvent,
  seenEvent,
  seenJob,
  type SeenJob,
  seenPart,
  type SeenPart,
  seenPod,
} from './observation.js';

/** What jobctl asks the API server about one namespace. Reads reject as the port's `Machines` does. */

/** Objects of a page; a namespace of 5,000 pods is ten pages. */
const PAGE = 500;

interface Page<Item> {
  readonly items: readonly Item[];
  readonly metadata?: { readonly _continue?: string };
}

/** Which page of a listing: its size, and where the one before ended. */
interface PageOf {
  readonly limit: number;
  readonly _continue?: string;
}

/** All pages. A continuation that has expired (410) is an unavailable listing: it begins anew at the next period. */
export async function allOf<Item>(call: (page: PageOf) => Promise<Page<Item>>): Promise<readonly Item[]> {
  const all: Item[] = [];
  for (let next: PageOf | undefined = { limit: PAGE }; next !== undefined;) {
    const page: PageOf = next;
    const { items, metadata }: Page<Item> = await listed(() => call(page));
    all.push(...items);
    const { _continue } = metadata ?? {};
    next = _continue ? { limit: PAGE, _continue } : undefined;
  }
  return all;
}

/** Everything of one slice, each by its name; pods by their label. */
export async function lookAt({ core, batch }: Cluster, ref: KubernetesRef): Promise<Observation> {
  const at = Date.now();
  const { namespace } = ref;
  const name = objectName(ref.name);
  const labelSelector = `${OURS},${JOB_NAME_LABEL}=${name}`;
  const [job, configMap, service, pods] = await Promise.all([
    read(() => batch.readNamespacedJob({ namespace, name })),
    read(() => core.readNamespacedConfigMap({ namespace, name })),
    read(() => core.readNamespacedService({ namespace, name })),
    allOf((page) => core.listNamespacedPod({ namespace, labelSelector, ...page })),
  ]);
  return {
    at,
    job: job ? seenJob(job) : 'not-found',
    parts: [
      ...(configMap ? [seenPart('ConfigMap', configMap.metadata)] : []),
      ...(service ? [seenPart('Service', service.metadata)] : []),
    ],
    pods: pods.map(seenPod),
    events: [],
    neighbours: [],
  };
}

export async function jobsOf({ batch }: Cluster, namespace: string): Promise<readonly SeenJob[]> {
  const jobs = await allOf((page) => batch.listNamespacedJob({ namespace, labelSelector: OURS, ...page }));
  return jobs.map(seenJob);
}

/** The warnings of a namespace: one call for all pods of a gang. */
export async function warningsOf({ core }: Cluster, namespace: string): Promise<readonly SeenEvent[]> {
  const fieldSelector = 'type=Warning';
  const events = await allOf((page) => core.listNamespacedEvent({ namespace, fieldSelector, ...page }));
  return events.map(seenEvent);
}

export type Deletable = SeenPart['what'] | 'Job' | 'Pod';

/** Deletes this very object: another of its name is left alone. A Job goes when its pods are gone. */
export async function deleteOnly(
  { core, batch }: Cluster,
  what: Deletable,
  { namespace, name, uid }: { readonly namespace: string; readonly name: string; readonly uid: string },
): Promise<RemoveAnswer> {
  const body: V1DeleteOptions = {
    preconditions: { uid },
    ...(what === 'Job' && { propagationPolicy: 'Foreground' }),
  };
  const calls: Record<Deletable, () => Promise<unknown>> = {
    Job: (): Promise<V1Status> => batch.deleteNamespacedJob({ namespace, name, body }),
    Pod: () => core.deleteNamespacedPod({ namespace, name, body }),
    ConfigMap: () => core.deleteNamespacedConfigMap({ namespace, name, body }),
    Service: () => core.deleteNamespacedService({ namespace, name, body }),
  };
  try {
    await calls[what]();
    return { kind: 'accepted' };
  } catch (error) {
    return removeAnswerOf(error);
  }
}
