import type { AnswerOf } from '../contract/operations.js';

/** Texts of the page of a quota file. Nothing here needs a browser. */

type Plan = AnswerOf<'quotaPlan'>;
type Use = AnswerOf<'poolUse'>;

/** The last line of an applied file, which says who applied it. It belongs to the stored object, not to the file. */
const FOOTER = /^# applied by (.*) with jobctl quota apply, (\S+)\n?$/;

export interface AppliedText {
  readonly text: string;
  /** Absent: the file was not applied by `jobctl quota apply`. */
  readonly by?: string;
  /** ISO time. */
  readonly at?: string;
}

export function appliedText(stored: string): AppliedText {
  const lastLine = stored.lastIndexOf('\n', stored.length - 2) + 1;
  const [, by, at] = FOOTER.exec(stored.slice(lastLine)) ?? [];
  return by === undefined || at === undefined ? { text: stored } : { text: stored.slice(0, lastLine), by, at };
}

/** One problem of the submitted files. */
export interface FileProblem {
  readonly text: string;
  /** Line of the edited file, from 1. Absent: the problem is elsewhere. */
  readonly line?: number;
}

/**
 * Splits a server's refusal into its problems. Each begins with file and line, and extends to the next.
 * @param file the edited one
 */
export function problemsIn(detail: string, file: string): readonly FileProblem[] {
  const found: { text: string; line?: number }[] = [];
  for (const text of detail.split('\n')) {
    const line = text.startsWith(`${file}:`) ? /^:(\d{1,6}):/.exec(text.slice(file.length))?.[1] : undefined;
    const isNew = line !== undefined || /^\S+\.\w+:\d{1,6}:/.test(text);
    const last = found.at(-1);
    if (isNew || last === undefined) found.push({ text, ...(line !== undefined && { line: Number(line) }) });
    else last.text += `\n${text}`;
  }
  return found;
}

/** Start and end offsets of a line in a text. @param line from 1 */
export function placeOfLine(text: string, line: number): readonly [from: number, to: number] {
  let from = 0;
  for (let at = 1; at < line; at++) {
    const end = text.indexOf('\n', from);
    if (end === -1) break;
    from = end + 1;
  }
  const end = text.indexOf('\n', from);
  return [from, end === -1 ? text.length : end];
}

/** A job that a decision starts, preempts or leaves waiting. Fields that the pool has not published are absent. */
export interface MovedJob {
  readonly job: string;
  readonly user?: string;
  readonly project?: string;
  readonly units?: Readonly<Record<string, number>>;
  /** For a preempted job: the job that gets its chips. */
  readonly for?: string;
  /** The files in force have the same effect. */
  readonly isAnyway: boolean;
}

export interface Effect {
  readonly preempted: readonly MovedJob[];
  readonly started: readonly MovedJob[];
  /** In the order of service. */
  readonly waiting: readonly (MovedJob & { readonly position: number; readonly why: string })[];
  /** Number of jobs that wait under the files in force. */
  readonly waitingNow: number;
  readonly warnings: readonly string[];
}

/** Effect of changed files, with what the files in force do anyway marked as such. */
export function effectOf(before: Plan, after: Plan, use: Use | undefined): Effect {
  const known = new Map([...(use?.waiting ?? []), ...(use?.jobs ?? [])].map((each) => [each.job, each]));
  const moved = (job: string, isAnyway: boolean): MovedJob => {
    const { user, project, units } = known.get(job) ?? {};
    return { job, isAnyway, ...(user !== undefined && project !== undefined && units && { user, project, units }) };
  };
  const isIn = (list: readonly { readonly id: string }[], id: string): boolean => list.some((each) => each.id === id);
  return {
    preempted: after.preemptions.map(({ id, for: whom }) => ({
      ...moved(id, isIn(before.preemptions, id)),
      for: whom,
    })),
    started: after.grants.map(({ id }) => moved(id, isIn(before.grants, id))),
    waiting: after.waiting.map(({ id, position, reasons }) => ({
      ...moved(id, isIn(before.waiting, id)),
      ...{ position, why: reasons.join('; ') },
    })),
    waitingNow: before.waiting.length,
    warnings: after.warnings ?? [],
  };
}
