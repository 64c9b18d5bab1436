import { packRunId, unpackRunId } from '../../quota/packed-values.js';

/**
 * Columns of a packed lease book (packed-book.ts): many short values as one string, shared values in tables. Each pair of
 * functions is exact: unpacking gives back what was packed.
 */

type Cell = number | null;
/** Values of all rows, in order; `[value, count]` stands for a value that repeats `count` times. */
export type Column = readonly (Cell | readonly [value: Cell, count: number])[];

/** Number of equal values from which a run is shorter than the values: `[0,4],` against `0,0,0,0,`. */
const WORTH_A_RUN = 4;

/** Most pools have one tier, one zone, one slice a lease: such a column costs nothing then. */
export function packColumn(values: readonly Cell[]): Column {
  const column: Column[number][] = [];
  for (let from = 0, to = 1; from < values.length; from = to, to = from + 1) {
    const value = values[from] ?? null;
    while (values[to] === value) to++;
    const count = to - from;
    if (count >= WORTH_A_RUN) column.push([value, count]);
    else for (let left = count; left > 0; left--) column.push(value);
  }
  return column;
}

export function unpackColumn(column: Column): Cell[] {
  const values: Cell[] = [];
  for (const cell of column) {
    if (!Array.isArray(cell)) values.push(cell as Cell);
    else for (let left = cell[1] as number; left > 0; left--) values.push(cell[0] as Cell);
  }
  return values;
}

/** Columns of a table as they are carried. */
export type Packed<Columns> = { readonly [Name in keyof Columns]: Column };

export function packColumns<Columns extends { readonly [Name in keyof Columns]: readonly Cell[] }>(
  columns: Columns,
): Packed<Columns> {
  return mapEach(columns, packColumn) as Packed<Columns>;
}

/** The inverse of `packColumns`. The caller's type says which columns have no nulls. */
export function unpackColumns<Columns extends { readonly [Name in keyof Columns]: readonly Cell[] }>(
  packed: Packed<Columns>,
): Columns {
  return mapEach(packed as Readonly<Record<string, Column>>, unpackColumn) as Readonly<
    Record<string, unknown>
  > as Columns;
}

function mapEach<From, To>(record: Readonly<Record<string, From>>, map: (value: From) => To): Record<string, To> {
  return Object.fromEntries(Object.entries(record).map(([name, value]) => [name, map(value)]));
}

/** Packs any words into one string. Our ids and names take one byte more than their length. */
export const packWords = (words: readonly string[]): string => words.map(encodeURIComponent).join(' ');

export function unpackWords(packed: string, count: number): readonly string[] {
  if (count === 0) return [];
  const words = packed.split(' ').map(decodeURIComponent);
  if (words.length !== count) throw new RangeError(`packed lease book: ${words.length} words where ${count} belong`);
  return words;
}

/** A run id in 22 characters instead of 36; anything else as it is, behind a `!`. */
export const packRun = (run: string): string => packRunId(run) ?? `!${run}`;

export function unpackRun(packed: string): string {
  return packed.startsWith('!') ? packed.slice(1) : unpackRunId(packed);
}

/** A slice is named for its job: the form `jc-*-g1` stands for the name, and many slices share it. Other names follow a `=`. */
export function formOf(name: string, job: string): string {
  const at = job === '' ? -1 : name.indexOf(job);
  return at === -1 || /[*=]/.test(name) ? `=${name}` : `${name.slice(0, at)}*${name.slice(at + job.length)}`;
}

export function nameOf(form: string, job: string): string {
  return form.startsWith('=') ? form.slice(1) : form.replace('*', () => job);
}

/** The distance of a time from `from`, in ms; null if there is no time. */
export const distance = (at: number | undefined, from: number): number | null => (at === undefined ? null : at - from);
export const timeAt = (distanceMs: number | null | undefined, from: number): number | undefined =>
  distanceMs === null || distanceMs === undefined ? undefined : from + distanceMs;
