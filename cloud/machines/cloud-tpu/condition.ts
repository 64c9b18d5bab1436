import type { Adoption } from '../../../domain/machine-kinds/cloud-tpu/adoption.js';
import { smallest } from '../../../domain/extremes.js';
import type { Condition, Owner, Ownership, ReadyCondition, SliceHost } from '../../../domain/slice.js';
import { durationValue } from '../../../domain/job-file/fields.js';
import type { EpochMs } from '../../../domain/units.js';
import { TELL_AFTER_MS } from '../port.js';
import { refusalScope } from './classify-error.js';

/** Google's names (Cloud TPU v2 protos). A state that this version does not know is passed on unchanged. */
type QueuedResourceState =
  | 'CREATING'
  | 'ACCEPTED'
  | 'WAITING_FOR_RESOURCES'
  | 'PROVISIONING'
  | 'ACTIVE'
  | 'SUSPENDING'
  | 'SUSPENDED'
  | 'FAILED'
  | 'DELETING'
  | (string & {});
type NodeState =
  | 'CREATING'
  | 'READY'
  | 'RESTARTING'
  | 'REIMAGING'
  | 'DELETING'
  | 'REPAIRING'
  | 'STOPPED'
  | 'STOPPING'
  | 'STARTING'
  | 'PREEMPTED'
  | 'TERMINATED'
  | 'HIDING'
  | 'HIDDEN'
  | 'UNHIDING'
  | 'UNKNOWN'
  | (string & {});

interface ApiFailure {
  readonly code: number;
  readonly message: string;
}

/**
 * The API's answers about one node and its queued resource at one time. A failed call is no observation: the adapter throws
 * instead, so that "unknown" can never be read as "gone".
 */
export interface Observation {
  readonly at: EpochMs;
  /** `unused` in tpu-vm mode. */
  readonly queuedResource:
    | 'unused'
    | 'not-found'
    | {
        readonly state: QueuedResourceState;
        readonly error?: ApiFailure;
        readonly ownership?: Ownership;
        /** Google grants the resource only until then; absent if the request had no deadline. */
        readonly validUntil?: EpochMs;
        /** Flex-start only, and absent if a user initiated the state: Google deletes the nodes after this many seconds. */
        readonly runSeconds?: number;
      };
  readonly node:
    | 'not-found'
    | {
        readonly state: NodeState;
        readonly health: string;
        readonly healthDescription?: string;
        /** The node's own int64 id, as a string. A recreated node of the same name has another id. */
        readonly nodeId: string;
        readonly hosts: readonly SliceHost[];
        /** The number of hosts of its type. Absent: the type is not in our table. */
        readonly hostCount?: number;
        readonly ownership?: Ownership;
        /** The job that has adopted it. */
        readonly adoption?: Adoption;
        readonly createdAt?: EpochMs;
      };
  /**
   * The create operation, if it was asked about and its resource does not exist: tells why an accepted create failed. Also absent
   * if Google has forgotten the operation, which says nothing about the resource.
   */
  readonly operation?: { readonly isDone: boolean; readonly error?: ApiFailure };
}

/** The nodes of one request, in their order: one, or the slices of an atomic job. All contain the same queued resource. */
export type Observations = readonly [Observation, ...Observation[]];

/**
 * Reads the observation of a request as evidence. Several nodes are one gang: the request is `ready` only if all of them are, and
 * `lost` if one is lost. If one node is missing, being deleted or foreign, the others must still be deleted. Then the condition
 * is `missing` with `isRequestLeft`, and never plain `missing`, `deleting` or `foreign`.
 */
export function conditionOfAll([first, ...rest]: Observations, ownership: Owner | Ownership): Condition {
  if (rest.length === 0) return conditionOf(first, ownership);
  const slices = [first, ...rest].map((seen, index) => conditionOf(seen, ownership, `node ${index}`));
  const has = (...kinds: readonly Condition['kind'][]): boolean => slices.some(({ kind }) => kinds.includes(kind));
  const all = (...kinds: readonly Condition['kind'][]): boolean => slices.every(({ kind }) => kinds.includes(kind));
  const ofKind = (kind: Condition['kind']): Condition | undefined => slices.find((slice) => slice.kind === kind);
  if (has('foreign') && all('foreign', 'missing')) return ofKind('foreign') as Condition;
  if (has('lost')) return ofKind('lost') as Condition;
  if (has('deleting') && all('deleting', 'missing')) return { kind: 'deleting' };
  if (all('missing') && !isThere(first)) return { kind: 'missing' };
  if (has('missing', 'deleting', 'foreign')) return { kind: 'missing', isRequestLeft: true };
  return ofKind('waiting') ?? readyOf(slices as readonly ReadyCondition[]);
}

const isThere = ({ queuedResource }: Observation): boolean => typeof queuedResource === 'object';

function readyOf([first, ...rest]: readonly ReadyCondition[]): Condition {
  const { uid, hosts } = first as ReadyCondition;
  const warning = [first, ...rest].find((slice) => slice?.warning !== undefined)?.warning;
  const others = rest.map((slice) => ({ uid: slice.uid, hosts: slice.hosts }));
  const ends = [first, ...rest].flatMap((slice) => slice?.endsAt ?? []);
  const endsAt = ends.length === 0 ? {} : { endsAt: smallest(ends) };
  return { kind: 'ready', uid, hosts, others, ...endsAt, ...(warning !== undefined && { warning }) };
}

/**
 * Reads an observation as evidence (docs/design.md, "Unknown is not dead": only these states cost a slice). The states are in
 * docs/facts.md, "Cloud TPU". An unknown state is `waiting`, never `lost`.
 * @param ownership the owner that the slice must have. A resource whose labels differ in one of its fields is `foreign`.
 * @param which names the node if there are several
 */
export function conditionOf(observation: Observation, ownership: Owner | Ownership, which = 'node'): Condition {
  return foreign(observation, ownership) ?? lost(observation, which) ?? present(observation, which);
}

function foreign({ queuedResource, node }: Observation, wanted: Owner | Ownership): Condition | undefined {
  for (const [what, resource] of [
    ['queued resource', queuedResource],
    ['node', node],
  ] as const) {
    if (typeof resource === 'string') continue;
    if (resource.ownership && isOf(resource.ownership, wanted)) continue;
    const whose = resource.ownership ? `job ${resource.ownership.job}, run ${resource.ownership.run}` : 'somebody else';
    return { kind: 'foreign', message: `the ${what} of this name belongs to ${whose}` };
  }
  return undefined;
}

/** Returns whether all fields of `wanted` match. An `Owner` has no generation and no spec. */
const isOf = (found: Ownership, wanted: Owner | Ownership): boolean =>
  Object.entries(wanted).every(([key, value]) => found[key as keyof Ownership] === value);

const LOST_STATES: readonly NodeState[] = ['PREEMPTED', 'TERMINATED', 'STOPPED'];

function lost({ at, queuedResource, node, operation }: Observation, which: string): Condition | undefined {
  if (typeof node === 'object' && LOST_STATES.includes(node.state)) {
    const message = `${which === 'node' ? 'the node' : which} is ${node.state}`;
    return { kind: 'lost', cause: 'preempted', message };
  }
  if (typeof queuedResource === 'object') {
    const { state, error, validUntil = Infinity } = queuedResource;
    if (state === 'FAILED') {
      const message = `the queued resource is FAILED: ${error?.message || 'no reason given'}`;
      return at < validUntil ? failed(message, error) : expired(message, error);
    }
    if (state === 'SUSPENDED' || state === 'SUSPENDING') {
      return {
        kind: 'lost',
        cause: 'preempted',
        message: `the queued resource is ${state}${endOfRun(queuedResource)}`,
      };
    }
  }
  if (operation?.error && node === 'not-found')
    return failed(`the create failed: ${operation.error.message}`, operation.error);
  return undefined;
}

/**
 * request-using-flex-start (2025-09-04): "the TPU VMs are deleted and the queued resource transitions to the SUSPENDED state".
 */
const endOfRun = ({ runSeconds }: { readonly runSeconds?: number }): string =>
  runSeconds === undefined
    ? ''
    : `: Google deletes a flex-start slice when its run duration, ${durationValue(runSeconds)}, is over, which counts as a preemption`;

function failed(message: string, error: ApiFailure | undefined): Condition {
  if (error === undefined || error.message === '') return { kind: 'lost', cause: 'failed', message };
  return { kind: 'lost', cause: 'refused', scope: refusalScope(error), message };
}

/** Google has not documented its words for this. A known reason counts; otherwise the deadline passed. */
function expired(message: string, error: ApiFailure | undefined): Condition {
  const read = failed(message, error);
  if (read.kind === 'lost' && read.cause === 'refused' && read.scope !== 'unknown') return read;
  return {
    kind: 'lost',
    cause: 'refused',
    scope: 'moment',
    message: `${message} (its deadline, tpu.valid_until, is past)`,
  };
}

/** docs.cloud.google.com/tpu/docs/queued-resources, "Queued resource states", read 2026-11-21. */
const IN_WORDS: Readonly<Record<string, string>> = {
  ACCEPTED: 'Google has accepted the request, and looks for chips',
  WAITING_FOR_RESOURCES: 'Google has queued it until there are chips',
  PROVISIONING: 'Google has chosen chips for it, and makes its nodes',
};

/** @param state the state by Google's name */
function waitingFor(state: string): Condition {
  const words = IN_WORDS[state];
  const detail = words === undefined ? state : `${words} (${state})`;
  return { kind: 'waiting', detail, tellAfterMs: TELL_AFTER_MS, ...placeOf(state) };
}

function placeOf(state: string): Pick<Extract<Condition, { kind: 'waiting' }>, 'place'> {
  if (state === 'PROVISIONING') return { place: { granted: state } };
  return state === 'ACCEPTED' || state === 'WAITING_FOR_RESOURCES' ? { place: 'queued' } : {};
}

function present({ queuedResource, node }: Observation, which: string): Condition {
  const isQueued = typeof queuedResource === 'object';
  if (!isQueued && node === 'not-found') return { kind: 'missing' };
  if (isQueued && queuedResource.state === 'DELETING') return { kind: 'deleting' };
  if (node === 'not-found') {
    const state = isQueued ? queuedResource.state : 'UNKNOWN';
    return state === 'ACTIVE' ? { kind: 'missing', isRequestLeft: true } : waitingFor(state);
  }
  if (node.state === 'DELETING') return { kind: 'deleting' };
  const isGranted = !isQueued || queuedResource.state === 'ACTIVE';
  if (node.state !== 'READY' || !isGranted || node.hosts.length === 0) {
    return waitingFor(isQueued && !isGranted ? queuedResource.state : `${which} ${node.state}`);
  }
  // With a shorter list, hosts would get the indices of others, and a command fewer hosts than it was written for.
  if (node.hostCount !== undefined && node.hosts.length < node.hostCount) {
    const detail = `${which} READY, with addresses of ${node.hosts.length} of its ${node.hostCount} hosts`;
    return { kind: 'waiting', detail, isIncomplete: true };
  }
  const warning = node.health === 'HEALTHY' || node.health === '' ? {} : { warning: node.health };
  return { kind: 'ready', uid: node.nodeId, hosts: node.hosts, ...endOf({ queuedResource, node }), ...warning };
}

/**
 * The end of a flex-start slice. Google does not say from which moment on it counts the run duration: not before it made the
 * node. request-using-flex-start (2025-09-04): "provisions the TPU VMs to run for the duration that you specified".
 */
function endOf({ queuedResource, node }: Pick<Observation, 'queuedResource' | 'node'>): Pick<ReadyCondition, 'endsAt'> {
  const { runSeconds } = typeof queuedResource === 'object' ? queuedResource : {};
  const { createdAt } = typeof node === 'object' ? node : {};
  return runSeconds === undefined || createdAt === undefined ? {} : { endsAt: createdAt + runSeconds * 1000 };
}
