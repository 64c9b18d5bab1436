/** A table of values that many rows share, each stored once. Packed lease books and published pools have such tables. */
export class Table<T> {
  readonly #values: T[] = [];
  readonly #indexes = new Map<string, number>();

  get values(): readonly T[] {
    return this.#values;
  }

  indexOf(value: T): number {
    const key = JSON.stringify(value);
    const known = this.#indexes.get(key);
    if (known !== undefined) return known;
    this.#indexes.set(key, this.#values.length);
    return this.#values.push(value) - 1;
  }
}

/** @throws RangeError if the table has no such entry */
export function entry<T>(table: readonly T[], index: number | undefined): T {
  const value = table[index ?? -1];
  if (value === undefined) throw new RangeError(`packed rows: a table of theirs has no entry ${index}`);
  return value;
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
/** Digits in the order of their values: base64url, which encodeURIComponent leaves unchanged. */
const DIGITS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';

/** Characters of a packed run id. */
export const PACKED_RUN_LENGTH = 22;

/** Packs a run id, which is a UUID, into 22 characters instead of 36; undefined for any other text. */
export function packRunId(run: string): string | undefined {
  if (!UUID.test(run)) return undefined;
  const parts = run.replaceAll('-', '').match(/.{1,3}/g) ?? [];
  // Three hexadecimal digits become two of ours. A big integer took six times as long.
  return parts
    .map((part) => Number.parseInt(part, 16))
    .map((value) => `${DIGITS[value >> 6] ?? ''}${DIGITS[value & 63] ?? ''}`)
    .join('');
}

/** @param packed a result of `packRunId` */
export function unpackRunId(packed: string): string {
  const hex = (packed.match(/../g) ?? []).map((pair, index) => {
    const value = DIGITS.indexOf(pair.charAt(0)) * 64 + DIGITS.indexOf(pair.charAt(1));
    // The last part has two of the 32 digits.
    return value.toString(16).padStart(index === LAST_PART ? 2 : 3, '0');
  });
  return uuidOf(hex.join(''));
}

/** @param digits 32 hexadecimal digits */
const uuidOf = (digits: string): string => UUID_PARTS.map(([from, to]) => digits.slice(from, to)).join('-');

const LAST_PART = 10;
const UUID_PARTS = [
  [0, 8],
  [8, 12],
  [12, 16],
  [16, 20],
  [20, 32],
] as const;
