import type { Fleet } from './host-fleet.js';
import type { HostsPort, PodTarget, SshTarget } from './port.js';
import { formatExitRecord, parseExitRecord } from './run-status.js';

/** Passes each host to the fleet that reaches its kind. */
export function hostsByReach(fleets: { readonly ssh: Fleet<SshTarget>; readonly pod: Fleet<PodTarget> }): HostsPort {
  return {
    connect: (target, key, signal) =>
      target.reach === 'ssh' ? fleets.ssh.connect(target, key, signal) : fleets.pod.connect(target, key, signal),
    readExitRecord: parseExitRecord,
    exitRecord: formatExitRecord,
    release: (targets) => {
      fleets.ssh.release(targets?.filter((target) => target.reach === 'ssh'));
      fleets.pod.release(targets?.filter((target) => target.reach === 'pod'));
    },
  };
}
