import { nearestWord } from '../nearest-word.js';
import { formatPath } from '../problem.js';
import type { Path, Problem } from '../problem.js';
import { dottedPaths, mapStrings, valueAt } from './plain-tree.js';

/**
 * `${section.key}` refers to another value of the file. Only text with a dot is a reference, since no shell variable has a dot:
 * `$X`, `${VAR}`, `${VAR:-x}` and `$(..)` belong to the shell and stay as they are, and so does `\${a.b}`. `${oc.env:X}` and
 * `${oc.env:X,default}` read the submitter's environment. Two dollars leave a reference to another program: `$${a.b}` becomes
 * `${a.b}`, in every quoting of the shell. So an even number of dollars before a brace means text, and one of them is removed.
 * If the number is odd, the last belongs to the reference.
 */
const REFERENCE =
  /(?<!\\|(?<!\\)\$)(?<dollars>\$+)\{(?:oc\.env:(?<variable>\w+)(?:,(?<fallback>[^}]*))?|(?<dotted>[A-Za-z_][\w-]*(?:\[\d+\])*(?:\.[\w-]+(?:\[\d+\])*)+))\}/g;

const WHOLE = new RegExp(`^${REFERENCE.source}$`);

const isEscaped = (dollars: string): boolean => dollars.length % 2 === 0;

type Replacement = (
  reference: string,
  variable: string | undefined,
  fallback: string | undefined,
  dotted: string | undefined,
) => string;

/**
 * Stops at the last brace. No reference ends behind it, and a search from each `${` there would run to the end of the text.
 * @param literal replaces text that only looks like a reference, with its dollars
 */
function replaceReferences(text: string, replace: Replacement, literal: (written: string) => string): string {
  const end = text.lastIndexOf('}') + 1;
  const each = (
    written: string,
    dollars: string,
    ...words: readonly [variable: string | undefined, fallback: string | undefined, dotted: string | undefined]
  ): string => {
    if (isEscaped(dollars)) return literal(written);
    const before = dollars.slice(1);
    return before + replace(written.slice(before.length), ...words);
  };
  return text.slice(0, end).replace(REFERENCE, each) + text.slice(end);
}

const asWritten = (written: string): string => written;

/** Puts a text in the place of each reference `${a.b}` for which there is one. */
export const replaceDotted = (text: string, textFor: (path: Path, reference: string) => string): string =>
  replaceReferences(
    text,
    (reference, _variable, _fallback, dotted) =>
      dotted === undefined ? reference : textFor(pathOf(dotted), reference),
    asWritten,
  );

/**
 * Replaces the references `${section.name}` in all strings. A string that is one such reference becomes the value, with its type.
 * Text that only looks like a reference stays as it is, for `interpolate`.
 * @param valueFor `name`: all behind the first dot
 */
export function replaceOf(
  tree: unknown,
  section: string,
  valueFor: (name: string, reference: string, path: Path) => unknown,
): unknown {
  return mapStrings(tree, (text, path) => {
    const named = (dotted: string | undefined): string | undefined => {
      const [first, ...rest] = dotted === undefined ? [] : pathOf(dotted);
      return first === section ? rest.join('.') : undefined;
    };
    const whole = WHOLE.exec(text)?.groups;
    const only = whole?.['dollars'] === '$' ? named(whole['dotted']) : undefined;
    if (only !== undefined) return valueFor(only, text, path);
    const replace: Replacement = (reference, _variable, _fallback, dotted) => {
      const name = named(dotted);
      return name === undefined ? reference : String(valueFor(name, reference, path));
    };
    return replaceReferences(text, replace, asWritten);
  });
}

/** The beginning of a reference to `section` that is no whole reference, such as `${array.lr`, or undefined. */
export function halfReference(text: string, section: string): string | undefined {
  const opening = `{${section}.`;
  for (let at = text.indexOf(opening); at !== -1; at = text.indexOf(opening, at + opening.length)) {
    let first = at;
    while (text[first - 1] === '$') first -= 1;
    const isText = (at - first) % 2 === 0 || text[first - 1] === '\\';
    const from = text.slice(at - 1, at + opening.length + MOST_NAME);
    if (!isText && !/^\$\{[\w-]+(?:\.[\w-]+(?:\[\d+\])*)+\}/.test(from)) return /^[^\s}]*\}?/.exec(from)?.[0];
  }
  return undefined;
}

/** Limit of an axis' name, in characters. */
const MOST_NAME = 200;

/**
 * Writes a text of another program so that it comes out of a job file as it is: each `${a.b}` in it gets a second dollar. A
 * reference behind an even number of dollars has no such form, and loses one of them.
 */
export const asLiteral = (text: string): string => replaceReferences(text, (reference) => `$${reference}`, asWritten);

const BACKSLASHED = /(?<!\\)\\(\$\{[^{}]+\})/g;

/** Replaces each `\${X}`. JobMan's OmegaConf took the backslash away; here it stays, for the shell. */
export const replaceBackslashed = (text: string, textFor: (written: string, literal: string) => string): string =>
  text.replace(BACKSLASHED, (written, reference: string) => textFor(written, asLiteral(reference)));

/** @param literal see `replaceBackslashed` */
export const backslashStays = (written: string, literal: string): string =>
  `the backslash of ${written} stays, where JobMan took it away; for what JobMan made of it write ${literal}`;

/** `interpolate` keeps this reference to the job's own name, and `bindJobName` replaces it: jobs of one file have two names. */
export const TPU_NAME_REFERENCE = '${tpu.name}';
const TPU_NAME = /(?<!\\|(?<!\\)\$)(\$+)\{tpu\.name\}/g;

/** Fields that determine the job's own name. In them `${tpu.name}` can only be the prefix that the file gives. */
const NAMING_FIELDS = new Set(['name', 'job.name', 'tpu.name']);

export type Environment = Readonly<Record<string, string | undefined>>;
export interface Interpolated {
  readonly tree: unknown;
  readonly problems: readonly Problem[];
}

/** Replaces `${oc.env:X}` everywhere. Without `env`, as in a workflow, every such reference is a problem. */
export function substituteEnvironment(
  tree: unknown,
  env: Environment | undefined,
): Interpolated & { readonly warnings: readonly string[] } {
  const problems: Problem[] = [];
  const warnings: string[] = [];
  const substituted = mapStrings(tree, (text, path) =>
    replaceReferences(
      text,
      (reference, variable, fallback) => {
        if (variable === undefined) return reference;
        const value = env?.[variable] ?? (env === undefined ? undefined : fallback?.trim());
        if (value === undefined) problems.push(environmentProblem(path, reference, variable, env));
        else if (SECRET_NAME.test(variable))
          warnings.push(`${formatPath(path)}: the value of ${variable} ${SECRET_WARNING}`);
        return value ?? reference;
      },
      // `interpolate` reads the result, here and once more in the workflow.
      asWritten,
    ),
  );
  return { tree: substituted, problems, warnings };
}

const SECRET_NAME = /KEY|TOKEN|SECRET|PASSW/i;
const SECRET_WARNING = "is kept in the job's history and spec, where all who may see the job can read it";

function environmentProblem(path: Path, reference: string, variable: string, env: Environment | undefined): Problem {
  if (env === undefined) {
    const hint = 'only `jobctl submit` and JobClient read the environment; give the value itself';
    return { path, value: reference, message: `'${reference}' needs the submitter's environment`, hint };
  }
  const nearest = nearestWord(variable, Object.keys(env));
  const hint =
    nearest === undefined ? `set ${variable}, or write \${oc.env:${variable},default}` : `did you mean ${nearest}?`;
  return { path, value: reference, message: `'${reference}': no variable ${variable} in the environment`, hint };
}

/** Replaces the dotted references in all strings. A string that is a single reference becomes the value, with its type. */
export function interpolate(tree: unknown): Interpolated {
  const resolver = new ReferenceResolver(tree);
  return { tree: mapStrings(tree, (text, path) => resolver.resolve(text, path, [])), problems: resolver.problems };
}

/** Limit of lookups, which bounds the cost of references to references: a file that doubles a text thirty times is refused. */
const MAX_LOOKUPS = 10_000;

class ReferenceResolver {
  readonly problems: Problem[] = [];
  readonly #tree: unknown;
  #lookUps = 0;
  #paths: readonly string[] | undefined;

  constructor(tree: unknown) {
    this.#tree = tree;
  }

  /** `chain`: the references being resolved, which show a cycle. */
  resolve(text: string, path: Path, chain: readonly string[]): unknown {
    const whole = WHOLE.exec(text)?.groups;
    if (whole?.['dollars'] === '$') return this.#lookUp(text, whole['dotted'], path, chain);
    const replace: Replacement = (reference, _variable, _fallback, dotted) => {
      const value = this.#lookUp(reference, dotted, path, chain);
      if (typeof value !== 'object' || value === null) return String(value);
      this.#report(path, reference, `'${reference}' is a section or list, which cannot stand inside a text`);
      return reference;
    };
    // `replaceTpuName` would take that text for a reference.
    return replaceReferences(text, replace, (written) =>
      written.endsWith(`$${TPU_NAME_REFERENCE}`) ? written : written.slice(1),
    );
  }

  #lookUp(reference: string, dotted: string | undefined, path: Path, chain: readonly string[]): unknown {
    if (dotted === undefined || isBoundLater(reference, path, chain)) return reference;
    const target = pathOf(dotted);
    const name = target.join('.');
    const isCycle = `${path.join('.')}.`.startsWith(`${name}.`);
    if (isCycle) this.#reportCycle(path, chain, name);
    if (isCycle || chain.includes(name)) return reference;
    if (++this.#lookUps > MAX_LOOKUPS) return this.#reportTooMany(path, reference);
    const value = valueAt(this.#tree, target);
    if (value !== undefined && value !== null) {
      return mapStrings(value, (text) => this.resolve(text, path, [...chain, name]));
    }
    // A reference that another value cannot resolve is reported at that value.
    if (chain.length === 0) this.#reportUnresolved(path, reference, dotted);
    return reference;
  }

  #reportUnresolved(path: Path, reference: string, dotted: string): void {
    this.#paths ??= dottedPaths(this.#tree);
    const nearest = nearestWord(dotted, this.#paths);
    const lines = nearest === undefined ? [] : [`the nearest is \${${nearest}}`];
    lines.push(`for a reference that another program resolves, write $${reference}`);
    this.#report(path, reference, `'${reference}' refers to nothing in this file`, lines.join('\n'));
  }

  #reportCycle(path: Path, chain: readonly string[], name: string): void {
    const reference = `\${${chain[0] ?? name}}`;
    const way = [path.join('.'), ...chain, name].join(' -> ');
    this.#report(path, reference, `'${reference}' leads back to itself: ${way}`);
  }

  #reportTooMany(path: Path, reference: string): string {
    if (this.#lookUps === MAX_LOOKUPS + 1) {
      this.#report(path, reference, `'${reference}' and what it refers to need more than ${MAX_LOOKUPS} look-ups`);
    }
    return reference;
  }

  #report(path: Path, value: string, message: string, hint?: string): void {
    this.problems.push({ path, value, message, ...(hint === undefined ? {} : { hint }) });
  }
}

function isBoundLater(reference: string, path: Path, chain: readonly string[]): boolean {
  if (reference !== TPU_NAME_REFERENCE) return false;
  return !NAMING_FIELDS.has(path.join('.')) && !chain.some((name) => NAMING_FIELDS.has(name));
}

/** `a.b[0].c` and `a.b.0.c` are the same path. */
function pathOf(dotted: string): Path {
  return dotted.split(/[.[\]]/).filter((segment) => segment !== '');
}

/** Replaces the `${tpu.name}` that `interpolate` kept. A kept `$${tpu.name}` is text and loses one dollar. */
export function replaceTpuName(text: string, name: string): string {
  return text.replace(TPU_NAME, (written, dollars: string) =>
    isEscaped(dollars) ? written.slice(1) : `${dollars.slice(1)}${name}`,
  );
}
