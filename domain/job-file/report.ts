import { formatPath } from '../problem.js';
import type { Path, Problem } from '../problem.js';
import { notAllowed } from './schema-problems.js';
import { showValue } from '../problem.js';

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

  warn(path: Path, message: string): void {
    this.warnings.push(`${formatPath(path)}: ${message}`);
  }
}
