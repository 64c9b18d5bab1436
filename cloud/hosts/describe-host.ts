import type { HostTarget } from './port.js';

/** "host 2 of slice 0 (10.0.0.5 port 22, user bob)": begins every message about a host. */
export function describeHost(target: HostTarget, port: number): string {
  return `host ${target.index} of slice ${target.slice} (${target.address} port ${port}, user ${target.user})`;
}
