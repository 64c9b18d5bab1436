import { parse } from 'toml';
import type { Mapping } from '../../domain/job-file/plain-tree.js';
import type { Problem } from '../../domain/problem.js';
import type { TomlPositions } from './toml-positions.js';

export type Toml = { readonly ok: true; readonly value: Mapping } | { readonly ok: false; readonly problem: Problem };

/** What a text means as TOML, or where it is none. */
export function readToml(text: string, positions: TomlPositions): Toml {
  try {
    return { ok: true, value: parse(text) as Mapping };
  } catch (error) {
    const own = error as TomlError;
    const start = own.location?.start ?? positions.syntaxError ?? own;
    const place = { line: start.line ?? 1, column: start.column ?? 1 };
    const message = positions.syntaxError?.message ?? own.message;
    return { ok: false, problem: { path: [], ...place, message: `not TOML: ${message}` } };
  }
}

/** What `toml` 5 throws: a position in one of two places, or none. */
interface TomlError extends Partial<TomlPlace> {
  readonly message: string;
  readonly location?: { readonly start: TomlPlace };
}
interface TomlPlace {
  readonly line: number;
  readonly column: number;
}

/** In file order. */
export function located(problems: readonly Problem[], file: string, positions: TomlPositions): readonly Problem[] {
  const placed = problems.map((problem) => ({ file, ...positions.locate(problem) }));
  return placed.toSorted((a, b) => (a.line ?? 0) - (b.line ?? 0) || (a.column ?? 0) - (b.column ?? 0));
}
