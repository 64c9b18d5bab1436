import type { Draws } from '../random.js';
import { answersLost, type DeedDo, lasting, seconds } from './cloud-deeds.js';
import { GOOGLE_PROJECT } from './private-stack.js';
import { VM_TYPE, ZONES } from './sections.js';
import type { RunningVm, Stage } from './stage.js';
import { spanOf } from './tier.js';

/**
 * Google's refusals of a create, as people reported them (docs/compute-engine.md). `as: 'operation'`: the call is accepted, and
 * its operation fails. Z is the zone, R its region.
 */
const REFUSALS: readonly {
  readonly as?: 'operation';
  readonly code: string;
  readonly reason?: string;
  readonly text: string;
}[] = [
  {
    ...{ as: 'operation', code: 'RESOURCE_EXHAUSTED', reason: 'ZONE_RESOURCE_POOL_EXHAUSTED' },
    text: "The zone 'projects/rehearsal/zones/Z' does not have enough resources available to fulfill the request.  Try a different zone, or try again later.",
  },
  {
    ...{ as: 'operation', code: 'RESOURCE_EXHAUSTED', reason: 'QUOTA_EXCEEDED' },
    text: "Quota 'NVIDIA_L4_GPUS' exceeded.  Limit: 1.0 in region R.",
  },
  { code: 'PERMISSION_DENIED', text: "Quota 'IN_USE_ADDRESSES' exceeded.  Limit: 4.0 in region R." },
  { code: 'PERMISSION_DENIED', text: "Quota 'GPUS_ALL_REGIONS' exceeded.  Limit: 1.0 globally." },
  {
    ...{ as: 'operation', code: 'FAILED_PRECONDITION', reason: 'UNSUPPORTED_OPERATION' },
    text: 'Instance failed to start due to preemption.',
  },
  {
    code: 'INVALID_ARGUMENT',
    text: `Invalid value for field 'resource.machineType': 'zones/Z/machineTypes/${VM_TYPE}'. Machine type with name '${VM_TYPE}' does not exist in zone 'Z'.`,
  },
  {
    as: 'operation',
    code: 'INTERNAL',
    reason: 'INTERNAL_ERROR',
    text: 'Internal error. Please try again or contact Google Support.',
  },
];

/** Ends one VM, which may be part of a gang. Noted before the call, because the end may be seen before the answer. */
async function ends(
  stage: Stage,
  draws: Draws,
  by: { readonly text: string; readonly call: (vm: RunningVm) => Promise<void> },
): Promise<boolean> {
  const vms = await stage.runningVms();
  if (vms.length === 0) return false;
  const vm = draws.pick(vms);
  stage.note('preempt', `${by.text} of the VM ${vm.name}`, { resource: vm.name });
  await by.call(vm);
  return true;
}

const force = (stage: Stage, name: string, state: string): Promise<void> => stage.admin.post('force', { name, state });

/** Forces a status for a while, and then another one, unless the VM is gone by then. */
async function forced(
  stage: Stage,
  draws: Draws,
  { state, after, text }: { readonly state: string; readonly after: string; readonly text: string },
): Promise<boolean> {
  const vms = await stage.runningVms();
  if (vms.length === 0) return false;
  const { name } = draws.pick(vms);
  const forMs = lasting(stage, draws) / 2;
  const kind = after === 'READY' ? 'fault' : 'preempt';
  stage.note(kind, `the VM ${name} is ${state} for ${seconds(forMs)}, ${text}`, { resource: name });
  await force(stage, name, state);
  stage.endAfter(forMs, () => force(stage, name, after).catch(() => undefined));
  return true;
}

/** Deletes a VM as a person, under a host name of the cloud that jobctl's worker does not dial. */
async function deleteAsPerson({ stack }: Stage, { name, zone }: RunningVm): Promise<void> {
  const place = `projects/${GOOGLE_PROJECT}/zones/${zone}/instances/${name}`;
  const url = `${stack.restUrl.replace('127.0.0.1', 'localhost')}/compute/v1/${place}`;
  const answer = await fetch(url, { method: 'DELETE' });
  if (!answer.ok) throw new Error(`deleting ${name}: ${answer.status} ${await answer.text()}`);
}

async function refuseFor(stage: Stage, draws: Draws, fault: object, text: string): Promise<boolean> {
  const forMs = lasting(stage, draws);
  for (const method of ['instances.*', 'zoneOperations.*'])
    await stage.admin.post('refuse', { method, forMs, ...fault });
  stage.note('fault', `${text} for ${seconds(forMs)}`);
  return true;
}

/** Faults of single VMs of Compute Engine, and of their API. */
export const VM_DEEDS: Readonly<Record<string, DeedDo>> = {
  'a VM is preempted with notice': (stage, draws) =>
    ends(stage, draws, {
      text: 'preemption, with notice,',
      call: ({ name }) => stage.admin.post('preempt', { name, noticeMs: Math.round(spanOf(stage.tier, 'notice')) }),
    }),
  'a VM is preempted without notice': (stage, draws) =>
    ends(stage, draws, {
      text: 'preemption, without notice,',
      call: ({ name }) => stage.admin.post('preempt', { name, notice: false }),
    }),
  'a VM is TERMINATED or SUSPENDED': (stage, draws) => {
    const state = draws.pick(['TERMINATED', 'TERMINATED', 'SUSPENDED']);
    return ends(stage, draws, { text: `${state}: the end`, call: ({ name }) => force(stage, name, state) });
  },
  'a VM is STOPPING': (stage, draws) =>
    forced(stage, draws, { state: 'STOPPING', after: 'TERMINATED', text: 'then TERMINATED' }),
  'a VM is REPAIRING': (stage, draws) =>
    forced(stage, draws, { state: 'REPAIRING', after: 'READY', text: 'and its host is silent' }),
  'a VM is deleted by a person': (stage, draws) =>
    ends(stage, draws, { text: "a person's deletion", call: (vm) => deleteAsPerson(stage, vm) }),
  'a zone has no VMs': async (stage, draws) => {
    const zone = draws.pick(ZONES);
    const forMs = lasting(stage, draws);
    const place = { zone, generation: VM_TYPE };
    const chips = draws.pick([0, 1, 2]);
    await stage.admin.post('capacity', { ...place, chips });
    stage.endAfter(forMs, () => stage.admin.post('capacity', { ...place, chips: null }));
    stage.note('fault', `${zone} has no more than ${chips} VMs of ${VM_TYPE} for ${seconds(forMs)}`);
    return true;
  },
  'a create of VMs is refused': async (stage, draws) => {
    const zone = draws.pick(ZONES);
    const { text, ...fault } = draws.pick(REFUSALS);
    const times = draws.between(1, 4);
    const message = text.replaceAll(/(?<=zones\/|')Z\b/gu, zone).replaceAll(/\bR\b/gu, zone.replace(/-[a-z]$/u, ''));
    await stage.admin.post('refuse', { method: 'instances.insert', ...fault, message, zone, times });
    stage.note('fault', `the next ${times} creates of VMs in ${zone} come to nothing: ${message}`);
    return true;
  },
  'an answer of Compute Engine is lost': (stage, draws) =>
    answersLost(stage, draws, ['instances.insert', 'instances.insert', 'instances.delete']),
  'Compute Engine is down': (stage, draws) => {
    const fault = draws.pick([
      { code: 'UNAVAILABLE', message: 'The service is currently unavailable.' },
      { code: 'UNAUTHENTICATED', message: 'Request had invalid authentication credentials.' },
      { code: 'PERMISSION_DENIED', message: 'Rate Limit Exceeded', reason: 'rateLimitExceeded' },
    ]);
    return refuseFor(stage, draws, fault, `Compute Engine answers ${fault.code}: ${fault.message}`);
  },
  'Compute Engine lies: NOT_FOUND': async (stage) => {
    const message = "The resource 'projects/rehearsal/zones/z/instances/it' was not found";
    await stage.admin.post('refuse', { method: 'instances.get', code: 'NOT_FOUND', message, times: 1 });
    stage.note('fault', 'the next instances.get is told NOT_FOUND, whatever is there');
    return true;
  },
};
