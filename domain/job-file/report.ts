import type { z } from 'zod';
import { formatPath, type Path, type Problem, showValue } from '../problem.js';
import { shellWords } from '../shell-quote.js';
import { nearestWord } from '../nearest-word.js';
import { inFileOrder, isMapping, valueAt, withoutAll } from './plain-tree.js';

/** Collects the problems of one file, so that the user sees all of them together. */
export class Report {
  readonly problems: Problem[] = [];
  readonly warnings: string[] = [];
  readonly #dropped: ReadonlySet<string>;
  /** Other files that gave a value, by its path. */
  readonly #givers = new Map<string, string>();

  /** @param dropped paths that are already reported and were left out of the form */
  constructor(dropped: readonly Path[]) {
    this.#dropped = new Set(dropped.map(formatPath));
  }

  /** `message` completes "VALUE is .."; the value is shown first. */
  wrong(path: Path, value: unknown, message: string, hint?: string): void {
    this.problem(path, value, `${showValue(value)} is ${message}`, hint);
  }

  problem(path: Path, value: unknown, message: string, hint?: string): void {
    const file = this.#giverOf(path);
    this.problems.push({
      ...(file === undefined ? {} : { file }),
      path,
      value,
      message,
      ...(hint === undefined ? {} : { hint }),
    });
  }

  /** Makes problems at or below these paths problems of `file`, whichever file is being checked. */
  givenBy(file: string, paths: readonly Path[]): void {
    for (const path of paths) this.#givers.set(formatPath(path), file);
  }

  #giverOf(path: Path): string | undefined {
    const at = path.findIndex((_, depth) => this.#givers.has(formatPath(path.slice(0, depth + 1))));
    return at === -1 ? undefined : this.#givers.get(formatPath(path.slice(0, at + 1)));
  }

  /** Reports a word that is not one of `allowed`. */
  notAllowed(path: Path, value: string, allowed: readonly string[]): void {
    const { message, hint } = notAllowed(path, value, allowed);
    this.problem(path, value, message, hint);
  }

  missing(path: Path, hint: string): void {
    if (this.wasDropped(path)) return;
    this.problems.push({ path, message: 'is missing', hint });
  }

  /** Returns whether `path` is absent only because its value was wrong and left out. */
  wasDropped(path: Path): boolean {
    return path.some((_, depth) => this.#dropped.has(formatPath(path.slice(0, depth + 1))));
  }

  /** Returns whether anything was left out in the section at `path`. */
  hasDroppedIn(path: Path): boolean {
    const own = formatPath(path);
    return this.wasDropped(path) || [...this.#dropped].some((dropped) => dropped.startsWith(`${own}.`));
  }

  warn(path: Path, message: string): void {
    this.warnings.push(`${formatPath(path)}: ${message}`);
  }
}

/** A kind of file: its form, and its name in messages. */
interface FileKind<Schema extends z.ZodType> {
  readonly schema: Schema;
  /** Such as `a job file`. */
  readonly title: string;
  /** Hint for a key of another tool, or undefined for any other key. */
  readonly foreignHint?: (path: Path, value: unknown) => string | undefined;
}

/**
 * Checks the form of a file. Wrong parts are reported and left out, so that the meaning of the rest can be checked. `dropped`
 * names the parts left out, because a wrong key is not a missing key.
 */
export function checkForm<Schema extends z.ZodType>(
  kind: FileKind<Schema>,
  tree: unknown,
): FormCheck<z.output<Schema>> {
  const checked = kind.schema.safeParse(tree);
  if (checked.success) return { form: checked.data, problems: [], dropped: [] };
  const problems = checked.error.issues.flatMap((issue) => problemsOf(issue, tree, kind));
  const dropped = problems.map((problem) => problem.path);
  const rest = withoutAll(tree, dropped);
  return { form: kind.schema.parse(rest), problems, dropped };
}

interface FormCheck<Form> {
  readonly form: Form;
  readonly problems: readonly Problem[];
  readonly dropped: readonly Path[];
}

type Issue = z.core.$ZodIssue;

function problemsOf(issue: Issue, tree: unknown, kind: FileKind<z.ZodType>): Problem[] {
  const branch = issue.code === 'invalid_union' ? branchMeant(issue) : undefined;
  if (branch !== undefined) return branch.flatMap((inner) => problemsOf(inner, tree, kind));
  const path = issue.path.filter((segment) => typeof segment !== 'symbol');
  const value = valueAt(tree, path);
  if (issue.code === 'unrecognized_keys')
    return issue.keys.map((key) => unknownKey(kind, [...path, key], valueAt(tree, [...path, key])));
  if (value === undefined) return [{ path, message: 'is missing' }];
  if (issue.code === 'invalid_value') return [notAllowed(path, value, issue.values.map(String))];
  const hint = issue.message === 'text' ? textHint(value) : undefined;
  return [
    { path, value, message: `${showValue(value)} is not ${issue.message}`, ...(hint === undefined ? {} : { hint }) },
  ];
}

/** Hint for values that YAML does not read as text, and for a line given as a list of words. */
function textHint(value: unknown): string | undefined {
  if (typeof value === 'boolean' || typeof value === 'number')
    return `in quotes it is text: "${value}" (with --set: 'KEY="${value}"')`;
  const isWords =
    Array.isArray(value) && value.length > 0 && value.every((word) => !isMapping(word) && !Array.isArray(word));
  return isWords ? `a line is wanted: ${shellWords(value.map(String))}` : undefined;
}

/** For a union: the problems of the only variant that fits the value's kind. Undefined if no variant fits, or several do. */
function branchMeant({ path, errors }: z.core.$ZodIssueInvalidUnion): Issue[] | undefined {
  const ofItsKind = errors.filter((issues) => issues.every((issue) => issue.path.length > 0 || !isWrongKind(issue)));
  const [branch] = ofItsKind;
  if (branch === undefined || ofItsKind.length > 1) return undefined;
  return branch.map((issue) => ({ ...issue, path: [...path, ...issue.path] }));
}

const isWrongKind = ({ code }: Issue): boolean => code === 'invalid_type' || code === 'invalid_value';

/** The problem of a word that is not one of the allowed ones. */
function notAllowed(path: Path, value: unknown, allowed: readonly string[]): Problem {
  const nearest = typeof value === 'string' ? nearestWord(value, allowed) : undefined;
  const lines = [`allowed: ${allowed.join(', ')}`];
  if (nearest !== undefined) lines.unshift(`did you mean ${nearest}?`);
  return { path, value, message: `${showValue(value)} is not one of the allowed words`, hint: lines.join('\n') };
}

function unknownKey(kind: FileKind<z.ZodType>, path: Path, value: unknown): Problem {
  const parent = path.slice(0, -1);
  const place = parent.length === 0 ? kind.title : formatPath(parent);
  return { path, value, at: 'key', message: `no such key in ${place}`, hint: unknownKeyHint(kind, path, value) };
}

function unknownKeyHint(kind: FileKind<z.ZodType>, path: Path, value: unknown): string {
  const key = String(path.at(-1));
  const foreign = kind.foreignHint?.(path, value);
  if (foreign !== undefined) return foreign;
  const known = shapeKeys(kind.schema, path.slice(0, -1));
  const nearest = nearestWord(key, known);
  const elsewhere = nearest === undefined ? sectionsWith(kind, key) : [];
  const meant = [
    ...(elsewhere.length > 0 ? [`${key} belongs to: ${elsewhere.join(', ')}`] : []),
    ...(nearest === undefined ? [] : [`did you mean ${nearest}?`]),
  ];
  // A long list would hide the intended word.
  return [...meant, ...(meant.length > 0 && known.length > MOST_LISTED ? [] : listed(known))].join('\n');
}

const MOST_LISTED = 12;
const LINE_WIDTH = 102;

/** `known here: a, b, c`, on lines that fit a terminal. */
function listed(known: readonly string[]): readonly string[] {
  const lines = ['known here:'];
  known.forEach((word, at) => {
    const part = at === known.length - 1 ? word : `${word},`;
    const line = `${lines.at(-1)} ${part}`;
    if (line.length <= LINE_WIDTH) lines[lines.length - 1] = line;
    else lines.push(`  ${part}`);
  });
  return lines;
}

function sectionsWith({ schema }: FileKind<z.ZodType>, key: string): string[] {
  return shapeKeys(schema, []).filter((name) => shapeKeys(schema, [name]).includes(key));
}

function shapeKeys(top: z.ZodType, path: Path): string[] {
  let schema: unknown = top;
  for (const segment of path) schema = childSchema(bare(schema), segment);
  return Object.keys(optionWith('shape', bare(schema))?.shape ?? {});
}

interface SchemaParts {
  readonly shape?: Record<string, unknown>;
  readonly element?: unknown;
  /** Form of the values, in a section whose keys are names. */
  readonly valueType?: unknown;
  readonly unwrap?: () => unknown;
  /** Variants of a union. */
  readonly options?: readonly unknown[];
}

function childSchema(schema: SchemaParts | undefined, segment: string | number): unknown {
  if (typeof segment === 'number') return optionWith('element', schema)?.element;
  if (schema?.valueType !== undefined) return schema.valueType;
  return optionWith('shape', schema)?.shape?.[segment];
}

/** For a union: the variant that is a section or a list. Any other schema is returned as it is. */
function optionWith(part: 'shape' | 'element', schema: SchemaParts | undefined): SchemaParts | undefined {
  return schema?.options?.map(bare).find((option) => option?.[part] !== undefined) ?? schema;
}

/** The schema below optional and nullable. */
function bare(schema: unknown): SchemaParts | undefined {
  let parts = schema as SchemaParts | undefined;
  while (parts?.unwrap !== undefined && parts.element === undefined) parts = parts.unwrap() as SchemaParts | undefined;
  return parts;
}

/** In file order, one problem for each place: an unresolved reference is not reported as a bad name too. */
export function tidy(problems: readonly Problem[], raw: unknown): Problem[] {
  const compare = inFileOrder(raw);
  const seen = new Set<string>();
  const first = problems.filter(({ path, message }) => {
    const place = JSON.stringify(path);
    const isSecond = seen.has(place) && !message.startsWith("'${");
    seen.add(place);
    return !isSecond;
  });
  return first.toSorted((a, b) => compare(a.path, b.path));
}
