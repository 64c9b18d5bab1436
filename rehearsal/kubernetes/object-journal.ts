import { requestsOf } from './nodes.js';
import type { Job, KubeObject, Pod } from './objects.js';
import { isOver, isTrue } from './objects.js';
import type { ObjectStore } from './object-store.js';
import { CONFIG_MAPS, EVENTS, JOBS, PODS, type Resource, SERVICES } from './resources.js';

/** Label of a pod with its Job's name. */
const JOB_LABEL = 'batch.kubernetes.io/job-name';

type RecordLine = (kind: string, subject: string, details: Readonly<Record<string, unknown>>) => void;

/**
 * Journals Jobs, pods, ConfigMaps and Services: one line for each new state, with the subject `namespaces/NAMESPACE/PLURAL/NAME`.
 * The states of a pod are its phases, those of a Job `Active`, `Complete` and `Failed`; any other object is `Active`. An object
 * that is being deleted is `Terminating`, and then `gone`. Events of the cluster's components are journalled too, as
 * `kubernetes-event`.
 */
export function recordObjects(store: ObjectStore, record: RecordLine): void {
  const states = new Map<string, string>();
  store.onChange(({ type, resource, object }) => {
    if (resource === EVENTS && type === 'ADDED') recordEvent(object, record);
    const stateOf = STATES.get(resource);
    if (stateOf === undefined) return;
    const { uid, name, namespace } = object.metadata;
    const to = type === 'DELETED' ? 'gone' : isLeaving(resource, object) ? 'Terminating' : stateOf(object);
    const from = states.get(uid);
    if (to === from) return;
    if (to === 'gone') states.delete(uid);
    else states.set(uid, to);
    record('kubernetes-state', `namespaces/${namespace}/${resource.plural}/${name}`, {
      ...{ from: from ?? 'absent', to, uid },
      ...(resource === PODS && podDetails(object as Pod)),
    });
  });
}

const isLeaving = (resource: Resource, object: KubeObject): boolean =>
  object.metadata.deletionTimestamp !== undefined && !(resource === PODS && isOver(object as Pod));

function recordEvent(event: KubeObject, record: RecordLine): void {
  const { kind, name } = event['involvedObject'] as { readonly kind: string; readonly name: string };
  const subject = `namespaces/${event.metadata.namespace}/${kind.toLowerCase()}s/${name}`;
  record('kubernetes-event', subject, { type: event['type'], reason: event['reason'], message: event['message'] });
}

const STATES: ReadonlyMap<Resource, (object: KubeObject) => string> = new Map<Resource, (object: KubeObject) => string>(
  [
    [PODS, (object) => (object as Pod).status.phase],
    [JOBS, (object) => jobState(object as Job)],
    [CONFIG_MAPS, () => 'Active'],
    [SERVICES, () => 'Active'],
  ],
);

const jobState = ({ status }: Job): string =>
  ['Complete', 'Failed'].find((type) => isTrue(status.conditions, type)) ?? 'Active';

function podDetails(pod: Pod): object {
  const { labels } = pod.metadata;
  const exitCode = pod.status.containerStatuses?.[0]?.state.terminated?.exitCode;
  return {
    ...(labels?.[JOB_LABEL] !== undefined && { job: labels[JOB_LABEL] }),
    cpus: requestsOf(pod).get('cpu') ?? 0,
    ...(pod.spec.nodeName !== undefined && { node: pod.spec.nodeName }),
    ...(exitCode !== undefined && { exitCode }),
  };
}
