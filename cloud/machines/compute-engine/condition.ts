import { contentHash } from '../../../domain/content-hash.js';
import { ownershipFrom } from '../../../domain/identity.js';
import type { Condition, Owner, Ownership, SliceHost } from '../../../domain/slice.js';
import { TELL_AFTER_MS } from '../port.js';
import { type ApiInstance, type ApiOperation, type ComputeFailure, refusalScope } from './compute-api.js';

/** One VM of a slice as observed. A failed call is no observation: the adapter throws instead. */
export type SeenVm = { readonly name: string } & (
  | { readonly kind: 'present'; readonly instance: ApiInstance }
  /** `isPreempted`: the provider's own operation says that it took the VM. `failure`: its create ended with this. */
  | {
      readonly kind: 'absent';
      readonly isBeingMade?: true;
      readonly isPreempted?: true;
      readonly failure?: ComputeFailure;
    }
);

/**
 * Reads the observed VMs of a slice, in the order of its hosts, as evidence (docs/design.md, "Unknown is not dead"; states of
 * docs/compute-engine.md). The VMs are one gang: the slice is `ready` only if all of them are, and lost if one is lost. If one VM
 * is missing, being deleted or foreign, the others must still be deleted: for a deleter the condition is then `missing` with
 * `isRequestLeft`. For other callers a foreign VM ends the gang, which can never be whole.
 */
export function conditionOf(vms: readonly SeenVm[], ownership: Owner | Ownership): Condition {
  const seen = vms.map((vm) => vmCondition(vm, ownership));
  const first = (kind: VmCondition['kind']) => seen.find((condition) => condition.kind === kind);
  const has = (kind: VmCondition['kind']): boolean => first(kind) !== undefined;
  const all = (...kinds: readonly VmCondition['kind'][]): boolean => seen.every(({ kind }) => kinds.includes(kind));
  if (has('foreign') && all('foreign', 'missing')) return first('foreign') as Condition;
  // A failed create explains more than the preemption of another VM beside it.
  const lost = seen.find((condition) => condition.kind === 'lost' && condition.cause === 'refused') ?? first('lost');
  if (lost !== undefined) return lost as Condition;
  if (has('foreign') && !isDeleter(ownership)) return first('foreign') as Condition;
  if (has('deleting') && all('deleting', 'missing')) return { kind: 'deleting' };
  if (all('missing')) return { kind: 'missing' };
  if (has('missing') || has('deleting') || has('foreign')) return { kind: 'missing', isRequestLeft: true };
  if (has('waiting')) return first('waiting') as Condition;
  return readyOf(seen as readonly RunningVm[]);
}

/** A deleter names no generation and no spec. */
const isDeleter = (ownership: Owner | Ownership): boolean => !('spec' in ownership);

/** A VM that runs, before its index is known. */
interface RunningVm {
  readonly kind: 'running';
  readonly id: string;
  readonly internalIp: string;
  readonly externalIp?: string;
  readonly warning?: string;
}
type VmCondition = Exclude<Condition, { readonly kind: 'ready' }> | RunningVm;

function readyOf(vms: readonly RunningVm[]): Condition {
  const hosts = vms.map(({ internalIp, externalIp }, index): SliceHost => {
    return { reach: 'ssh', index, internalIp, ...(externalIp !== undefined && { externalIp }) };
  });
  const warning = vms.find((vm) => vm.warning !== undefined)?.warning;
  const [first] = vms;
  // If any VM is recreated, it is another slice.
  const uid = vms.length === 1 ? (first?.id ?? '') : contentHash(vms.map(({ id }) => id)).slice(0, 16);
  return { kind: 'ready', uid, hosts, ...(warning !== undefined && { warning }) };
}

function vmCondition(vm: SeenVm, wanted: Owner | Ownership): VmCondition {
  if (vm.kind === 'absent') return absentCondition(vm);
  const { name, instance } = vm;
  const found = ownershipFrom(instance.labels);
  if (found === undefined || !isOf(found, wanted)) {
    const whose = found === undefined ? 'somebody else' : `job ${found.job}, run ${found.run}`;
    return { kind: 'foreign', message: `the VM ${name} belongs to ${whose}` };
  }
  // For a deleter, a VM that is stopping counts as being deleted.
  return stateCondition(name, instance, isDeleter(wanted));
}

/** Returns whether all fields of `wanted` match. An `Owner` has no generation and no spec. */
export const isOf = (found: Ownership, wanted: Owner | Ownership): boolean =>
  Object.entries(wanted).every(([key, value]) => found[key as keyof Ownership] === value);

function absentCondition({
  name,
  isBeingMade,
  isPreempted,
  failure,
}: Extract<SeenVm, { kind: 'absent' }>): VmCondition {
  if (failure !== undefined) {
    const message = `the create of VM ${name} failed: ${failure.message}`;
    return { kind: 'lost', cause: 'refused', scope: refusalScope(failure), message };
  }
  if (isPreempted) return { kind: 'lost', cause: 'preempted', message: `the VM ${name} was preempted and deleted` };
  return isBeingMade ? { kind: 'waiting', detail: `VM ${name} is asked for` } : { kind: 'missing' };
}

function stateCondition(name: string, instance: ApiInstance, isToGo: boolean): VmCondition {
  const { id = '', status = 'UNKNOWN' } = instance;
  switch (status) {
    case 'RUNNING':
      return runningCondition(name, id, instance);
    // The system shuts down, within 30 s after a preemption, and processes may still save. The loss is proved only by TERMINATED.
    case 'STOPPING':
    case 'PENDING_STOP':
      return isToGo ? { kind: 'deleting' } : runningCondition(name, id, instance, `VM ${name} is ${status}`);
    case 'TERMINATED':
    case 'STOPPED':
      return { kind: 'lost', cause: isSpot(instance) ? 'preempted' : 'failed', message: `the VM ${name} is ${status}` };
    case 'SUSPENDED':
      return { kind: 'lost', cause: 'failed', message: `the VM ${name} is SUSPENDED` };
    case 'DEPROVISIONING':
      return { kind: 'deleting' };
    // PENDING, PROVISIONING, STAGING; REPAIRING and SUSPENDING, from which a VM may return; states unknown to this version.
    default:
      return { kind: 'waiting', detail: `VM ${name} ${status}`, tellAfterMs: TELL_AFTER_MS };
  }
}

function runningCondition(name: string, id: string, instance: ApiInstance, stopping?: string): VmCondition {
  const [nic] = instance.networkInterfaces ?? [];
  const internalIp = nic?.networkIP;
  if (!internalIp) return { kind: 'waiting', detail: `VM ${name} RUNNING, without an address`, isIncomplete: true };
  const externalIp = nic?.accessConfigs?.[0]?.natIP;
  const maintenance = instance.resourceStatus?.upcomingMaintenance?.maintenanceStatus;
  const warning = stopping ?? (maintenance && `maintenance of VM ${name} is ${maintenance}`);
  return { kind: 'running', id, internalIp, ...(externalIp && { externalIp }), ...(warning && { warning }) };
}

/** A VM bought as preemptible. If it has ended, that counts as a preemption. */
const isSpot = ({ scheduling }: ApiInstance): boolean =>
  scheduling?.provisioningModel === 'SPOT' || scheduling?.preemptible === true;

/** The failure of an operation; undefined while it runs, or if it succeeded. */
export function failureOf({ error }: ApiOperation): ComputeFailure | undefined {
  const errors = error?.errors ?? [];
  if (errors.length === 0) return undefined;
  // The first error may be a summary, such as VM_MIN_COUNT_NOT_REACHED. The cause is the error with a known scope.
  const known = errors.map(({ code, message }): ComputeFailure => ({
    message: message || code || 'no reason given',
    ...(code !== undefined && { errorCode: code }),
  }));
  return known.find((failure) => refusalScope(failure) !== 'unknown') ?? known[0];
}
