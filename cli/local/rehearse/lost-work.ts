import {
  compareMarks,
  linesOf,
  readProgress,
  showMark,
  type AttemptOutput,
  type ProgressMark,
  type ProgressMeasure,
  type ReadProgress,
  comparableLine,
} from '../../../domain/progress-marks.js';
import { smallest } from '../../../domain/extremes.js';

/** The work that one preemption cost a job, as far as its own output tells (ADR 0016). */
export type LostWork =
  | {
      readonly kind: 'counted';
      /** Number of marks before the preemption that the next attempt redid: those from its own first mark on. */
      readonly redone: number;
      /** Number of marks from the job's first one to the last before the preemption. */
      readonly made: number;
      readonly lastBefore: string;
      readonly firstAfter: string;
    }
  /** The output has no counter, and the next attempt printed the same lines in order: it started from the beginning. */
  | { readonly kind: 'repeated-lines'; readonly lines: number }
  /** The attempt printed no mark before it was preempted. */
  | { readonly kind: 'none-made' }
  | { readonly kind: 'unknown'; readonly reason: string };

export type WorkMeasure =
  | { readonly kind: 'counter'; readonly name: string; readonly host: number }
  | { readonly kind: 'lines'; readonly reason: string };

export interface MeasuredWork {
  readonly measure: WorkMeasure;
  /** Returns the lost work for the index of a preempted attempt. */
  readonly lostBy: (attempt: number) => LostWork;
}

/** @param attempts the complete output of each attempt, in their order */
export function measureWork(attempts: readonly AttemptOutput[], measures?: readonly ProgressMeasure[]): MeasuredWork {
  const progress = readProgress(attempts, measures);
  if ('measure' in progress) {
    const { measure, host } = progress;
    return {
      measure: { kind: 'counter', name: measure.name, host },
      lostBy: (attempt) => lostByCounter(progress, attempt),
    };
  }
  return {
    measure: { kind: 'lines', reason: progress.reason },
    lostBy: (attempt) => lostByLines(attempts[attempt], attempts[attempt + 1], progress.reason),
  };
}

/**
 * Work lost by a preemption, in printed marks and not in the numbers between them: if a job prints every tenth step, one repeated
 * mark means ten repeated steps. An attempt without progress lost none; the loss of the attempt before was counted there.
 */
function lostByCounter({ marks }: ReadProgress, attempt: number): LostWork {
  const last = marks[attempt]?.at(-1);
  if (last === undefined) return { kind: 'none-made' };
  const first = marks.slice(attempt + 1).find((each) => each.length > 0)?.[0];
  if (first === undefined) return { kind: 'unknown', reason: 'no attempt after it printed a step' };
  const made = upTo(last, marks.slice(0, attempt + 1));
  const redone = made.filter((mark) => compareMarks(mark, first) >= 0).length;
  return { kind: 'counted', redone, made: made.length, lastBefore: showMark(last), firstAfter: showMark(first) };
}

/** Marks of several attempts up to `last`, each once. */
function upTo(last: ProgressMark, attempts: readonly (readonly ProgressMark[])[]): readonly ProgressMark[] {
  const all = new Map(attempts.flat().map((mark) => [showMark(mark), mark]));
  return [...all.values()].filter((mark) => compareMarks(mark, last) <= 0);
}

/** Least number of distinct lines for a comparison: fewer may be a greeting that every start prints. */
const LEAST_LINES = 5;

/** Compares lines. They can prove only that a job started from the beginning: new lines may be new numbers of the same work. */
function lostByLines(before: AttemptOutput | undefined, after: AttemptOutput | undefined, reason: string): LostWork {
  const host = smallest(before?.keys() ?? []);
  // The last line may have been cut.
  const lines = comparable(before?.get(host)).slice(0, -1);
  const again = comparable(after?.get(host));
  const compared = lines.slice(0, again.length);
  const isSame = compared.every((line, index) => line === again[index]);
  if (isSame && new Set(compared).size >= LEAST_LINES) return { kind: 'repeated-lines', lines: compared.length };
  return { kind: 'unknown', reason };
}

const comparable = (text: string | undefined): readonly string[] =>
  linesOf(text ?? '')
    .map(comparableLine)
    .filter((line) => line !== '');

/** The lost percentage from 0 to 100, not rounded; undefined if unknown. */
export function lostPercent(lost: LostWork): number | undefined {
  switch (lost.kind) {
    case 'counted':
      return (100 * lost.redone) / lost.made;
    case 'repeated-lines':
      return 100;
    case 'none-made':
      return 0;
    case 'unknown':
      return undefined;
  }
}
