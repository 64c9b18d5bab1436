import { labelsOf, ownershipFrom } from '../../../domain/identity.js';
import type { Ownership } from '../../../domain/slice.js';

/** What a claim on a machine says. */
export interface MachineClaim {
  /** Random, of one create call: what is given back is not claimed late. */
  readonly uid: string;
  /** The slice's name. */
  readonly slice: string;
  /** In whose inventory the machine is: two pools may name one machine by mistake. */
  readonly pool: string;
  readonly ownership: Ownership;
}

/** The same claim always makes the same text: that is how a machine knows it again. */
export function claimText({ slice, uid, pool, ownership }: MachineClaim): string {
  const lines = Object.entries({ ...labelsOf(ownership), slice, pool }).map(([key, value]) => `${key}=${value}`);
  return `${[uid, ...lines].join('\n')}\n`;
}

/** Undefined: the text is no claim of jobctl's. */
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

/** Whether a claim that the pool's record does not know was left behind by this installation and this pool: nobody else's is removed. */
export const isOurs = (claim: MachineClaim | undefined, owner: string, pool: string): claim is MachineClaim =>
  claim !== undefined && claim.ownership.owner === owner && claim.pool === pool;
