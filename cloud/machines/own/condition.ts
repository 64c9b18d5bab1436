import type { MachinesRef } from '../../../domain/machine-kinds/machines/words.js';
import { type Condition, isOf, type Owner, type Ownership, type SshHost } from '../../../domain/slice.js';
import type { ChosenMachine, PoolRecord, SliceRecord } from './pool-record.js';

/** The observed claim on one machine of a slice. */
export type Look =
  | { readonly kind: 'held' }
  /** Unclaimed, or given back. */
  | { readonly kind: 'free' }
  | { readonly kind: 'other'; readonly message: string }
  /** The machine did not answer, which says nothing about its claim. */
  | { readonly kind: 'silent'; readonly message: string };

/** A create call ends within a minute; after this time no further machines are claimed. */
export const CREATE_MS = 120_000;

/**
 * Reads the claims of a slice as its condition.
 * @param looks at its machines, by the number of the host
 */
export function conditionOf(
  ref: MachinesRef,
  slice: SliceRecord | undefined,
  looks: readonly Look[],
  wanted: Owner | Ownership,
  now: number,
): Condition {
  if (slice === undefined) return { kind: 'missing' };
  if (!isOf(slice.ownership, wanted)) return { kind: 'foreign', message: `belongs to ${ownerText(slice.ownership)}` };
  const held = looks.filter(({ kind }) => kind === 'held').length;
  if (!slice.isWhole) {
    const detail = `${held} of ${slice.machines.length} machines are claimed`;
    if (now - slice.at < CREATE_MS) return { kind: 'waiting', detail };
    return { kind: 'lost', cause: 'failed', message: `${detail}, and whoever claimed them has stopped` };
  }
  const lost = slice.machines.flatMap((machine, index) => lossOf(machine, looks[index]));
  if (lost.length > 0) return { kind: 'lost', cause: 'failed', message: lost.join('; ') };
  return {
    kind: 'ready',
    uid: slice.uid,
    hosts: slice.machines.map((machine, index) => hostOf(ref, slice.uid, machine, index)),
  };
}

/** A silent machine is still held: its claim ends only when it answers, or when a person says that it is off. */
function lossOf({ name }: ChosenMachine, look: Look | undefined): readonly string[] {
  switch (look?.kind) {
    case 'free':
      return [`machine ${name} is not claimed any more`];
    case 'other':
      return [`machine ${name} ${look.message}`];
    default:
      return [];
  }
}

function hostOf({ pool }: MachinesRef, claim: string, machine: ChosenMachine, index: number): SshHost {
  const { name, address, port, user, key } = machine;
  const own = { pool, name, port, user, claim, ...(key !== undefined && { key }) };
  return { reach: 'ssh', index, internalIp: address, own };
}

/** Returns whether a person has given the machine up, so that the claims on it are not waited for. */
export function isForgotten({ machines }: PoolRecord, { name }: ChosenMachine, slice: SliceRecord): boolean {
  const at = machines[name]?.forgotten?.at;
  return at !== undefined && at > slice.at;
}

export const ownerText = ({ owner, job, run, generation }: Ownership): string =>
  `owner ${owner}, job ${job}, run ${run}, generation ${generation}`;
