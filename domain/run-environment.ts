import type { JobSpec } from './job-spec.js';
import type { AttemptSlice } from './machine-kinds/kind.js';
import { kindOfJob, machineKind } from './machines.js';
import { type OwnHost, ownHostAt, ownHostOf, type SliceHost } from './slice.js';
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
    ...slotEnvironment(ownHostAt(own.hosts, host)),
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
 * CUDA sees the slot's GPUs alone. The job's own `env` cannot say otherwise: other GPUs of the machine are another job's. By
 * UUID, since an index may be another GPU's after a reboot (docs/adr/0177).
 */
function slotEnvironment({ slot, uuids }: Pick<OwnHost, 'slot' | 'uuids'> = {}): Record<string, string> {
  if (slot === undefined) return {};
  const visible = (uuids ?? slot.gpus).join(',');
  // Containers by NVIDIA's runtime get these devices alone. An index would be another one inside.
  const inContainers = uuids === undefined ? {} : { NVIDIA_VISIBLE_DEVICES: visible };
  return { CUDA_DEVICE_ORDER: 'PCI_BUS_ID', CUDA_VISIBLE_DEVICES: visible, ...inContainers };
}

/** The port of `jax.distributed`: JAX's own cluster detection uses it on Cloud TPU. */
export const COORDINATOR_PORT = 8476;
