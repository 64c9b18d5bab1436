import type { Reach } from '../../domain/slice.js';
import type { Fleet } from './host-fleet.js';
import type { HostsPort, HostTarget, TargetBy } from './port.js';
import { formatExitRecord, parseExitRecord } from './run-status.js';

/** Passes each host to the fleet that reaches its kind. */
export function hostsByReach(fleets: { readonly [R in Reach]: Fleet<TargetBy<R>> }): HostsPort {
  const fleetOf = (reach: Reach): Fleet<HostTarget> => fleets[reach];
  return {
    connect: (target, key, signal) => fleetOf(target.reach).connect(target, key, signal),
    readExitRecord: parseExitRecord,
    exitRecord: formatExitRecord,
    release: (targets) => {
      for (const reach of Object.keys(fleets) as Reach[])
        fleetOf(reach).release(targets?.filter((target) => target.reach === reach));
    },
  };
}
