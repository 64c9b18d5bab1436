import type { Problem } from '../problem.js';
import { type ForeignFile, foreignDocuments, foreignText, foreignTree } from './foreign/files.js';
import type { Environment } from './interpolation.js';
import { isMapping, type Mapping } from './plain-tree.js';
import type { PoolDefaults } from './pool-defaults.js';
import { resolveJob } from './resolve.js';
import type { ResolvedJob } from './resolve.js';
import { applyOverrides } from './set-option.js';
import type { JobOverrides, Overridden } from './set-option.js';
import { YamlSource } from './yaml-source.js';

export interface ParseOptions {
  /** The file's name as the user gave it, for messages. Without a file: the command. */
  readonly file: string;
  readonly env: Environment;
  /** `key=value` of each `--set`. */
  readonly set?: readonly string[];
  readonly overrides?: JobOverrides;
  /** The content of a job without a file, before `set` and `overrides`. */
  readonly tree?: Mapping;
  /** The defaults of the job's pool, if they are known. */
  readonly pool?: PoolDefaults;
  /** See `ResolveOptions`. */
  readonly mayBeArray?: true;
  /** See `RequestContext`. */
  readonly isZoneStrict?: true;
}

/** Reads a job file: YAML, then flags, then `resolveJob`. Problems carry file, line and column, and are in file order. */
export function parseJobFile(text: string, options: ParseOptions): ResolvedJob {
  const { file, env, set = [], overrides = {}, pool, mayBeArray, isZoneStrict } = options;
  const source = new YamlSource(text);
  if (source.problems.length > 0)
    return (
      refusedAs(foreignDocuments(severalIn(source), file) ?? foreignText(text, file), file) ??
      refused(source.problems.map((problem) => ({ file, ...problem })))
    );
  const tree = readTree(source);
  if ('message' in tree) return refused([{ file, line: 1, column: 1, ...tree }]);
  const isProgram = /\.(py|sh)$/.test(file);
  const other = isMapping(tree.value) && !isProgram ? foreignIn(source, tree.value, file) : foreignText(text, file);
  if (other !== undefined) return refusedAs(other, file);
  const overridden = isMapping(tree.value) ? applyOverrides(tree.value, set, overrides) : undefined;
  const resolved = resolveJob(overridden === undefined ? tree.value : overridden.tree, {
    env,
    mayBuild: true,
    ...(pool && { pool }),
    ...(mayBeArray && { mayBeArray }),
    ...(isZoneStrict && { isZoneStrict }),
  });
  const flagProblems = overridden?.problems ?? [];
  if (resolved.ok) return flagProblems.length === 0 ? resolved : refused(flagProblems);
  return refused([...resolved.problems.map((problem) => locate(problem, source, file, overridden)), ...flagProblems]);
}

/** Recognizes another tool's file by its keys, then reads it as that tool does. */
function foreignIn(source: YamlSource, tree: Mapping, file: string): ForeignFile | undefined {
  const found = foreignTree(tree, file);
  return found === undefined ? undefined : (foreignTree(source.foreign()[0], file) ?? found);
}

function severalIn(source: YamlSource): readonly unknown[] {
  const documents = source.foreign();
  return documents.length > 1 ? documents : [];
}

function refusedAs(other: ForeignFile, file: string): ResolvedJob;
function refusedAs(other: ForeignFile | undefined, file: string): ResolvedJob | undefined;
function refusedAs(other: ForeignFile | undefined, file: string): ResolvedJob | undefined {
  if (other === undefined) return undefined;
  const message = `this is ${other.what}, and a job file (YAML) is wanted`;
  return refused([{ file, path: [], message, hint: other.instead.join('\n') }]);
}

/** Reads a job without a file, from flags only. Problems name the flag, or the command if no flag is wrong. */
export function parseJobFlags({
  file,
  env,
  set = [],
  overrides = {},
  tree: said = {},
  pool,
  mayBeArray,
}: ParseOptions): ResolvedJob {
  const { tree, problems, flagAt } = applyOverrides(said, set, overrides);
  const resolved = resolveJob(tree, {
    ...{ env, mayBuild: true },
    ...(pool && { pool }),
    ...(mayBeArray && { mayBeArray }),
  });
  if (resolved.ok) return problems.length === 0 ? resolved : refused(problems);
  return refused([
    ...resolved.problems.map((problem) => ({ file: flagAt(problem.path) ?? file, ...problem })),
    ...problems,
  ]);
}

function readTree(source: YamlSource): { readonly value: unknown } | Problem {
  try {
    return { value: source.tree() };
  } catch (error) {
    if (error instanceof ReferenceError) {
      const isUnresolved = error.message.startsWith('Unresolved alias');
      const what = isUnresolved
        ? 'an alias (*name) without the anchor (&name) that it names'
        : 'aliases (*) that multiply beyond measure';
      return { path: [], message: `not YAML: ${what}` };
    }
    throw error;
  }
}

function refused(problems: readonly Problem[]): ResolvedJob {
  return { ok: false, problems: problems.toSorted(byPosition) };
}

/** Puts problems of flags after those of the file. */
function byPosition(a: Problem, b: Problem): number {
  const [lineA, lineB] = [a.line ?? Infinity, b.line ?? Infinity];
  if (lineA !== lineB) return lineA - lineB;
  return (a.column ?? 0) - (b.column ?? 0);
}

function locate(problem: Problem, source: YamlSource, file: string, overridden: Overridden | undefined): Problem {
  // A problem of a pool file has no place in this file.
  if (problem.file !== undefined) return problem;
  const flag = overridden?.flagAt(problem.path);
  return flag === undefined ? { file, ...source.locate(problem) } : { file: flag, ...problem };
}
