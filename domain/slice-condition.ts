import type { Ownership, SliceHost, SliceObservation } from './slice.js';

/** What an observation of a slice amounts to. */
export type SliceCondition =
  /** Asked for, not there yet; `detail` is Google's state in words. */
  | { readonly kind: 'waiting'; readonly detail: string }
  | { readonly kind: 'ready'; readonly nodeId: string; readonly hosts: readonly SliceHost[]; readonly warning?: string }
  /** Positive evidence that it will not serve any more. */
  | {
      readonly kind: 'lost';
      readonly cause: 'preempted' | 'failed' | 'no-capacity' | 'quota';
      readonly message: string;
    }
  | { readonly kind: 'deleting' }
  /** NOT_FOUND, of both or of the node of an ACTIVE request: evidence only if seen twice, apart. */
  | { readonly kind: 'missing' }
  /** A resource of this name that is not this plan's. */
  | { readonly kind: 'foreign'; readonly message: string };

/**
 * Reads an observation as evidence (DESIGN.md 2, "Unknown is not dead": only these states cost a slice). States of
 * facts/cloud-tpu.md 1.4; an unknown state is `waiting`, never `lost`.
 * @param ownership whose the slice must be; a resource that carries other labels is `foreign`.
 */
export function sliceCondition(observation: SliceObservation, ownership: Ownership): SliceCondition {
  return foreign(observation, ownership) ?? lost(observation) ?? present(observation);
}

function foreign({ queuedResource, node }: SliceObservation, wanted: Ownership): SliceCondition | undefined {
  for (const [what, resource] of [
    ['queued resource', queuedResource],
    ['node', node],
  ] as const) {
    if (typeof resource === 'string') continue;
    if (resource.ownership && sameOwnership(resource.ownership, wanted)) continue;
    const whose = resource.ownership ? `job ${resource.ownership.job}, run ${resource.ownership.run}` : 'somebody else';
    return { kind: 'foreign', message: `the ${what} of this name belongs to ${whose}` };
  }
  return undefined;
}

export function sameOwnership(a: Ownership, b: Ownership): boolean {
  return (
    a.owner === b.owner && a.job === b.job && a.run === b.run && a.generation === b.generation && a.spec === b.spec
  );
}

function lost({ queuedResource, node, operation }: SliceObservation): SliceCondition | undefined {
  if (typeof node === 'object') {
    if (node.state === 'PREEMPTED') return { kind: 'lost', cause: 'preempted', message: 'the node is PREEMPTED' };
    if (node.state === 'TERMINATED' || node.state === 'STOPPED') {
      return { kind: 'lost', cause: 'preempted', message: `the node is ${node.state}` };
    }
  }
  if (typeof queuedResource === 'object') {
    const { state, error } = queuedResource;
    if (state === 'FAILED')
      return failed(`the queued resource is FAILED: ${error?.message ?? 'no reason given'}`, error);
    if (state === 'SUSPENDED' || state === 'SUSPENDING') {
      return { kind: 'lost', cause: 'preempted', message: `the queued resource is ${state}` };
    }
  }
  if (operation?.error && node === 'not-found')
    return failed(`the create failed: ${operation.error.message}`, operation.error);
  return undefined;
}

/** Field rule: code 8 for capacity means "elsewhere or later"; quota and addresses need a person. */
function failed(
  message: string,
  error: { readonly code: number; readonly message: string } | undefined,
): SliceCondition {
  const text = error?.message ?? '';
  if (/quota|IN_USE_ADDRESSES/i.test(text)) return { kind: 'lost', cause: 'quota', message };
  if (/no more capacity|stockout|insufficient.*capacity/i.test(text))
    return { kind: 'lost', cause: 'no-capacity', message };
  return { kind: 'lost', cause: 'failed', message };
}

function present({ queuedResource, node }: SliceObservation): SliceCondition {
  const isQueued = typeof queuedResource === 'object';
  if (!isQueued && node === 'not-found') return { kind: 'missing' };
  if (isQueued && queuedResource.state === 'DELETING') return { kind: 'deleting' };
  if (node === 'not-found') {
    const state = isQueued ? queuedResource.state : 'UNKNOWN';
    return state === 'ACTIVE' ? { kind: 'missing' } : { kind: 'waiting', detail: state };
  }
  if (node.state === 'DELETING') return { kind: 'deleting' };
  const isGranted = !isQueued || queuedResource.state === 'ACTIVE';
  if (node.state !== 'READY' || !isGranted || node.hosts.length === 0) {
    return { kind: 'waiting', detail: isQueued && !isGranted ? queuedResource.state : `node ${node.state}` };
  }
  const warning = node.health === 'HEALTHY' || node.health === '' ? {} : { warning: node.health };
  return { kind: 'ready', nodeId: node.nodeId, hosts: node.hosts, ...warning };
}
