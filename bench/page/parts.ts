import { parseArgs } from 'node:util';
import { messageOf } from '../../domain/errors.js';
import type { Measured, PageRow } from './table.js';

/** The parts of the page, in its order, and whether one runs beside a local stack that the parts after it share. */
export const PARTS = {
  fanout: { needsStack: false },
  decisions: { needsStack: false },
  grants: { needsStack: false },
  cli: { needsStack: true },
  submit: { needsStack: true },
  logs: { needsStack: true },
} as const;

export type PartName = keyof typeof PARTS;

export interface PageArguments {
  readonly parts: readonly PartName[];
  readonly json: string | undefined;
}

/** @throws RangeError or TypeError that says what there is instead */
export function pageArguments(args: readonly string[]): PageArguments {
  const { values } = parseArgs({
    args: [...args],
    options: { only: { type: 'string' }, json: { type: 'string' } },
  });
  const names = Object.keys(PARTS) as PartName[];
  const wanted = values.only?.split(',') ?? names;
  const unknown = wanted.find((name) => !Object.hasOwn(PARTS, name));
  if (unknown !== undefined) throw new RangeError(`--only ${unknown}: there are ${names.join(', ')}`);
  if (values.json === '') throw new RangeError('--json: is empty; give a file, such as --json bench.json');
  return { parts: names.filter((name) => wanted.includes(name)), json: values.json };
}

/** The rows of all parts. A part that rejects becomes a row with its reason, and the next ones run all the same. */
export async function rowsOf(
  parts: readonly PartName[],
  run: (part: PartName) => Promise<readonly Measured[]>,
  signal: AbortSignal,
): Promise<readonly PageRow[]> {
  const rows: PageRow[] = [];
  for (const part of parts) {
    signal.throwIfAborted();
    try {
      rows.push(...(await run(part)));
    } catch (error) {
      signal.throwIfAborted();
      rows.push({ part, why: messageOf(error) });
    }
  }
  return rows;
}
