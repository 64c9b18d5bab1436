/**
 * Columns of a packed lease book (packed-book.ts): many short values as one string, what rows share in tables. Each pair of
 * functions is exact: what was packed comes back as it was.
 */

/** Any words as one string; ids and names of ours cost one byte more than they are long. */
export const packWords = (words: readonly string[]): string => words.map(encodeURIComponent).join(' ');

export function unpackWords(packed: string, count: number): readonly string[] {
  if (count === 0) return [];
  const words = packed.split(' ').map(decodeURIComponent);
  if (words.length !== count) throw new RangeError(`packed lease book: ${words.length} words where ${count} belong`);
  return words;
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const RUN_LENGTH = 25;

/** A run id, which is a UUID, in 25 characters instead of 36; anything else as it is, behind a `!`. */
export function packRun(run: string): string {
  if (!UUID.test(run)) return `!${run}`;
  return BigInt(`0x${run.replaceAll('-', '')}`)
    .toString(36)
    .padStart(RUN_LENGTH, '0');
}

export function unpackRun(packed: string): string {
  if (packed.startsWith('!')) return packed.slice(1);
  // Five digits of base 36 at a time: a big integer for each digit takes six times as long.
  let value = 0n;
  for (let from = 0; from < RUN_LENGTH; from += 5)
    value = value * 60_466_176n + BigInt(Number.parseInt(packed.slice(from, from + 5), 36));
  const hex = value.toString(16).padStart(32, '0');
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
}

/** A slice is named for its job: `jc-*-g1` stands for the name, and is shared by many. Other names stand behind a `=`. */
export function formOf(name: string, job: string): string {
  const at = job === '' ? -1 : name.indexOf(job);
  return at === -1 || /[*=]/.test(name) ? `=${name}` : `${name.slice(0, at)}*${name.slice(at + job.length)}`;
}

export function nameOf(form: string, job: string): string {
  return form.startsWith('=') ? form.slice(1) : form.replace('*', () => job);
}

/** A time, or nothing, as its distance from `from`. */
export const distance = (at: number | undefined, from: number): number | null => (at === undefined ? null : at - from);
export const timeAt = (distanceMs: number | null | undefined, from: number): number | undefined =>
  distanceMs === null || distanceMs === undefined ? undefined : from + distanceMs;
