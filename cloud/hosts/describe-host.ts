import type { PodTarget, SshTarget } from './port.js';

/** "host 2 of slice 0 (10.0.0.5 port 22, user bob)": the beginning of every message about a host. */
export function describeHost(target: SshTarget, port: number): string {
  return `host ${target.index} of slice ${target.slice} (${target.address} port ${port}, user ${target.user})`;
}

/** "host 2 of slice 0 (pod team-a/train-x7-2-abcde)" */
export function describePod({ index, slice, namespace, pod }: PodTarget): string {
  return `host ${index} of slice ${slice} (pod ${namespace}/${pod})`;
}
