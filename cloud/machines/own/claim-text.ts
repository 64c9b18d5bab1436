import { labelsOf, ownershipFrom } from '../../../domain/identity.js';
import type { Ownership } from '../../../domain/slice.js';

/** The contents of a claim on a machine. */
export interface MachineClaim {
  /** Random, one per create call. It prevents a late claim for a slice that has been given back. */
  readonly uid: string;
  /** The slice's name. */
  readonly slice: string;
  /** The pool whose inventory contains the machine: two pools may name the same machine by mistake. */
  readonly pool: string;
  readonly ownership: Ownership;
}

/** The same claim always makes the same text, by which a machine recognizes it. */
export function claimText({ slice, uid, pool, ownership }: MachineClaim): string {
  const lines = Object.entries({ ...labelsOf(ownership), slice, pool }).map(([key, value]) => `${key}=${value}`);
  return `${[uid, ...lines].join('\n')}\n`;
}

/** Undefined if the text is not a claim of jobctl's. */
export function readClaim(text: string): MachineClaim | undefined {
  const [uid = '', ...lines] = text.trim().split('\n');
  const values: Readonly<Record<string, string>> = Object.fromEntries(
    lines.map((line) => splitAt(line, line.indexOf('='))),
  );
  const ownership = ownershipFrom(values);
  const { slice, pool } = values as { readonly slice?: string; readonly pool?: string };
  if (uid === '' || ownership === undefined || slice === undefined || pool === undefined) return undefined;
  return { slice, uid, pool, ownership };
}

const splitAt = (line: string, at: number): readonly [string, string] => [line.slice(0, at), line.slice(at + 1)];

/** Returns whether this installation and pool left the claim behind, unknown to the record. Other claims are not removed. */
export const isOurs = (claim: MachineClaim | undefined, owner: string, pool: string): claim is MachineClaim =>
  claim !== undefined && claim.ownership.owner === owner && claim.pool === pool;
