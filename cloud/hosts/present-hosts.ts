import type { MachineRef } from '../../domain/machines.js';
import { quotedName } from '../../domain/outside-text.js';
import { MOST_HOSTS, type SliceHost } from '../../domain/slice.js';
import type { HostTarget } from './port.js';
import { type HostClaims, targetOf, UID, wayOf } from './reaches.js';
import { largest } from '../../domain/extremes.js';

/** One host of an open job, in the form in which people reach it. */
export interface JobHost<Target extends HostTarget = HostTarget> {
  /** Position among all hosts of all slices, from 0; logs are named by it. */
  readonly number: number;
  /** Name of Google's resource. */
  readonly node: string;
  readonly target: Target;
}

/** A slice as its job shows it. */
export interface ShownSlice {
  readonly index: number;
  readonly state: string;
  /** The provider's id. Absent: there is none yet. */
  readonly uid?: string;
  readonly ref: MachineRef;
  readonly hosts: readonly SliceHost[];
}

/**
 * The hosts of slices that are ready. A host's number counts the hosts of all slices, including slices that do not exist.
 * @param spec contains the job's number of slices
 * @param login contains the user that the hosts were made for
 */
export function presentHosts(
  { slices, spec }: { readonly slices: readonly ShownSlice[]; readonly spec: { readonly slices: number } },
  { user }: { readonly user: string },
): readonly JobHost[] {
  const perSlice = largest(
    slices.map(({ hosts }) => hosts.length),
    0,
  );
  // Only the slices in the answer, not as many as the spec claims.
  const first = new Map(slices.toReversed().map((slice) => [slice.index, slice]));
  const inOrder = [...first.values()].toSorted((a, b) => a.index - b.index);
  return inOrder.flatMap(({ index, state, ref, uid, hosts }) => {
    if (!(index >= 0 && index < spec.slices) || state !== 'ready' || uid === undefined) return [];
    return hosts.map((host) => ({
      number: index * perSlice + host.index,
      node: ref.name,
      target: targetOf(host, { ref, uid, slice: index, user }),
    }));
  });
}

/**
 * Checks what a job or a server claims about a host before it becomes an argument of ssh, a line of known_hosts or part of a
 * URL: a user who may start a workflow can claim anything (docs/adr/0092).
 * @returns the reason not to connect to the host, or undefined
 */
export function hostProblem({ number, target }: JobHost): string | undefined {
  const { uid, index } = target;
  const isNumber = (value: number, least: number, most: number): boolean =>
    Number.isInteger(value) && value >= least && value <= most;
  const claims: HostClaims = [
    ['id', uid, UID.test(uid)],
    ['position', index, isNumber(index, 0, MOST_HOSTS) && isNumber(number, 0, MOST_HOSTS)],
    ...wayOf(target).claims(target),
  ];
  const wrong = claims.find(([, , isGood]) => !isGood);
  return wrong && `its ${wrong[0]} is said to be ${quotedName(String(wrong[1]))}, which is none`;
}
