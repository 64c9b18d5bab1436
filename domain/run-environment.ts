import type { JobSpec } from './job-spec.js';
import type { SliceHost } from './slice.js';

export interface RunPlace {
  readonly job: string;
  readonly attempt: number;
  readonly bucket: string;
  readonly previousEnd?: string;
  readonly slices: readonly { readonly index: number; readonly name: string; readonly hosts: readonly SliceHost[] }[];
}

/** The hosts of one slice that run the command. */
export function commandHosts(spec: Pick<JobSpec, 'command'>, hosts: readonly SliceHost[]): readonly SliceHost[] {
  const chosen = spec.command?.hosts;
  if (chosen === undefined) return [];
  return chosen === 'all' ? hosts : hosts.filter(({ index }) => chosen.includes(index));
}

/**
 * The environment of the command on one host (DESIGN.md 2). The coordinator is the first host that runs the command, on
 * a port that JAX uses by default nowhere else. MEGASCALE_* only where there is more than one slice: stale or needless
 * values make `jax.distributed` hang (failures.md 31).
 * @throws RangeError if `slice` or `host` is not of this attempt.
 */
export function runEnvironment(spec: JobSpec, place: RunPlace, slice: number, host: number): Record<string, string> {
  const own = place.slices.find(({ index }) => index === slice);
  if (!own?.hosts.some(({ index }) => index === host))
    throw new RangeError(`attempt ${place.attempt} has no host ${host} in slice ${slice}`);
  const runners = place.slices.flatMap(({ hosts }) => commandHosts(spec, hosts));
  const coordinator = runners[0] ?? own.hosts[0];
  const slices = place.slices.length;
  return {
    ...spec.env,
    JOBCTL_JOB_ID: place.job,
    JOBCTL_ATTEMPT: String(place.attempt),
    JOBCTL_HOST_INDEX: String(host),
    JOBCTL_NUM_HOSTS: String(own.hosts.length),
    JOBCTL_NUM_TASKS: String(runners.length),
    JOBCTL_HOST_IPS: own.hosts.map(({ internalIp }) => internalIp).join(','),
    JOBCTL_COORDINATOR_ADDRESS: `${coordinator?.internalIp}:${COORDINATOR_PORT}`,
    JOBCTL_SLICE_INDEX: String(slice),
    JOBCTL_NUM_SLICES: String(slices),
    JOBCTL_NODE_NAME: own.name,
    JOBCTL_PREVIOUS_ATTEMPT_END: place.previousEnd ?? '',
    JOBCTL_BUCKET: place.bucket,
    ...(slices > 1
      ? {
          MEGASCALE_COORDINATOR_ADDRESS: `${coordinator?.internalIp}:${MEGASCALE_PORT}`,
          MEGASCALE_NUM_SLICES: String(slices),
          MEGASCALE_SLICE_ID: String(slice),
        }
      : {}),
  };
}

/** Where `jax.distributed` listens; the port that JAX's own cluster detection uses on Cloud TPU. */
export const COORDINATOR_PORT = 8476;
/** As AXLearn's Bastion set it (facts/predecessors.md 2). */
export const MEGASCALE_PORT = 8080;
