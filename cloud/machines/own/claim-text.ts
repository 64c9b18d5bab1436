import { labelsOf, ownershipFrom } from '../../../domain/identity.js';
import type { Ownership } from '../../../domain/slice.js';

/** What a claim on a machine says. */
export interface MachineClaim {
  /** Random, of one create call: what is given back is not claimed late. */
  readonly uid: string;
  /** The slice's name. */
  readonly slice: string;
  readonly ownership: Ownership;
}

/** The same claim always makes the same text: that is how a machine knows it again. */
export function claimText({ slice, uid, ownership }: MachineClaim): string {
  const lines = Object.entries({ ...labelsOf(ownership), slice }).map(([key, value]) => `${key}=${value}`);
  return `${[uid, ...lines].join('\n')}\n`;
}

/** Undefined: the text is no claim of jobctl's. */
export function readClaim(text: string): MachineClaim | undefined {
  const [uid = '', ...lines] = text.trim().split('\n');
  const values = Object.fromEntries(lines.map((line) => splitAt(line, line.indexOf('='))));
  const ownership = ownershipFrom(values);
  const slice = values['slice'];
  return uid === '' || ownership === undefined || slice === undefined ? undefined : { slice, uid, ownership };
}

const splitAt = (line: string, at: number): readonly [string, string] => [line.slice(0, at), line.slice(at + 1)];
