import type { JobSpec } from './job-spec.js';
import type { AttemptSlice } from './machine-kinds/kind.js';
import { kindOfJob, machineKind } from './machines.js';
import { type MachineSlot, ownHostOf, type SliceHost, slotOf } from './slice.js';
import { WrongInput } from './errors.js';

export interface RunPlace {
  readonly job: string;
  readonly attempt: number;
  readonly bucket: string;
  readonly previousEnd?: string;
  readonly slices: readonly AttemptSlice[];
}

/** Names the run of an attempt on each of its hosts. */
export const runIdOf = (job: string, attempt: number): string => `${job}-a${attempt}`;

/** The hosts of one slice that run the command. */
export function commandHosts(spec: Pick<JobSpec, 'command'>, hosts: readonly SliceHost[]): readonly SliceHost[] {
  const chosen = spec.command?.hosts;
  if (chosen === undefined) return [];
  return chosen === 'all' ? hosts : hosts.filter(({ index }) => chosen.includes(index));
}

/**
 * The environment of the command on one host (docs/job-file.md). The coordinator is the first host that runs the command, on a
 * port that JAX by default uses for nothing else.
 * @throws WrongInput if `slice` or `host` is not of this attempt.
 */
export function runEnvironment(spec: JobSpec, place: RunPlace, slice: number, host: number): Record<string, string> {
  const own = place.slices.find(({ index }) => index === slice);
  if (!own?.hosts.some(({ index }) => index === host))
    throw new WrongInput(`attempt ${place.attempt} has no host ${host} in slice ${slice}`);
  const runners = place.slices.flatMap((each) =>
    commandHosts(spec, each.hosts).map((runner) => ({ slice: each.index, ...runner })),
  );
  const first = runners[0] ?? own.hosts[0];
  const coordinator = first?.internalIp ?? '';
  const portOffset = ownHostOf(first)?.slot?.number ?? 0;
  const jaxPort = COORDINATOR_PORT + portOffset;
  const rank = runners.findIndex((runner) => runner.slice === slice && runner.index === host);
  const job = { coordinator, jaxPort, portOffset, tasks: runners.length, ...(rank === -1 ? {} : { rank }) };
  return {
    ...machineKind(kindOfJob(spec)).environment(spec, { own, all: place.slices, ...job }),
    ...spec.env,
    ...slotEnvironment(slotOf(own.hosts, host)),
    JOBCTL_JOB_ID: place.job,
    JOBCTL_ATTEMPT: String(place.attempt),
    JOBCTL_HOST_INDEX: String(host),
    JOBCTL_NUM_HOSTS: String(own.hosts.length),
    JOBCTL_NUM_TASKS: String(runners.length),
    JOBCTL_HOST_IPS: own.hosts.map(({ internalIp }) => internalIp).join(','),
    JOBCTL_COORDINATOR_ADDRESS: `${coordinator}:${jaxPort}`,
    JOBCTL_SLICE_INDEX: String(slice),
    JOBCTL_NUM_SLICES: String(place.slices.length),
    JOBCTL_NODE_NAME: own.name,
    JOBCTL_PREVIOUS_ATTEMPT_END: place.previousEnd ?? '',
    JOBCTL_BUCKET: place.bucket,
  };
}

/**
 * Lets CUDA see the slot's GPUs only. The job's own `env` cannot override it, because the machine's other GPUs belong to other
 * jobs.
 */
function slotEnvironment(slot: MachineSlot | undefined): Record<string, string> {
  return slot === undefined ? {} : { CUDA_DEVICE_ORDER: 'PCI_BUS_ID', CUDA_VISIBLE_DEVICES: slot.gpus.join(',') };
}

/** The port of `jax.distributed`: JAX's own cluster detection uses it on Cloud TPU. */
export const COORDINATOR_PORT = 8476;
