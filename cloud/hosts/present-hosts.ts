import type { MachineRef } from '../../domain/machines.js';
import type { SliceHost } from '../../domain/slice.js';
import { type HostTarget, targetOf } from './port.js';

/** One host of an open job, as people reach it. */
export interface JobHost<Target extends HostTarget = HostTarget> {
  /** Position among all hosts of all slices, from 0: what logs are named by. */
  readonly number: number;
  /** Of Google's resource. */
  readonly node: string;
  readonly target: Target;
}

/** A slice, as its job shows it. */
export interface ShownSlice {
  readonly index: number;
  readonly state: string;
  /** The provider's id. Absent: it has none yet. */
  readonly uid?: string;
  readonly ref: MachineRef;
  readonly hosts: readonly SliceHost[];
}

/**
 * Of the slices that are ready; a host's number counts those of all slices, whether they are there or not.
 * @param spec with how many slices the job has @param login whose user the hosts were made for
 */
export function presentHosts(
  { slices, spec }: { readonly slices: readonly ShownSlice[]; readonly spec: { readonly slices: number } },
  { user }: { readonly user: string },
): readonly JobHost[] {
  const perSlice = Math.max(0, ...slices.map(({ hosts }) => hosts.length));
  return Array.from({ length: spec.slices }, (_, index) => slices.find((each) => each.index === index)).flatMap(
    (slice, at) => {
      if (slice?.state !== 'ready' || slice.uid === undefined) return [];
      const { ref, uid, hosts } = slice;
      return hosts.map((host) => ({
        number: at * perSlice + host.index,
        node: ref.name,
        target: targetOf(host, { ref, uid, slice: slice.index, user }),
      }));
    },
  );
}
