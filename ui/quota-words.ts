import type { AnswerOf } from '../contract/operations.js';

/** What the page of a quota file says. Nothing here knows the browser. */

type Plan = AnswerOf<'quotaPlan'>;
type Use = AnswerOf<'poolUse'>;

/** The last line of an applied file, which says who applied it. It belongs to the stored object, not to the file. */
const FOOTER = /^# applied by (.*) with jobctl quota apply, (\S+)\n?$/;

export interface AppliedText {
  readonly text: string;
  /** Absent: it was put there by hand. */
  readonly by?: string;
  /** ISO time. */
  readonly at?: string;
}

export function appliedText(stored: string): AppliedText {
  const lastLine = stored.lastIndexOf('\n', stored.length - 2) + 1;
  const [, by, at] = FOOTER.exec(stored.slice(lastLine)) ?? [];
  return by === undefined || at === undefined ? { text: stored } : { text: stored.slice(0, lastLine), by, at };
}

/** One problem of the files that were sent. */
export interface FileProblem {
  readonly text: string;
  /** Line of the edited file, from 1. Absent: the problem is elsewhere. */
  readonly line?: number;
}

/** A server's refusal in its problems: each begins with file and line, and goes on until the next. @param file the edited one */
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

/** Beginning and end of a line in a text. @param line from 1 */
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

/** A job that a decision moves. What the pool has not published of it is absent. */
export interface MovedJob {
  readonly job: string;
  readonly user?: string;
  readonly project?: string;
  readonly units?: Readonly<Record<string, number>>;
  /** Of a preempted job: which one has its chips then. */
  readonly for?: string;
  /** The files in force would do this too. */
  readonly isAnyway: boolean;
}

export interface Effect {
  readonly preempted: readonly MovedJob[];
  readonly started: readonly MovedJob[];
  /** In the order of service. */
  readonly waiting: readonly (MovedJob & { readonly position: number; readonly why: string })[];
  /** How many wait under the files in force. */
  readonly waitingNow: number;
  readonly warnings: readonly string[];
}

/** What changed files would do, beside what happens anyway. */
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
