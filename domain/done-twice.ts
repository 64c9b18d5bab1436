import { compareMarks, type ProgressMark, showMark, type CountedMarks, workCounter } from './progress-marks.js';

/** Work that a job repeated after an attempt was lost, measured by the counter that the job itself prints (docs/adr/0135). */
export interface DoneTwice {
  /** The unit of the counter: `step`, `epoch.step`. */
  readonly unit: string;
  /** In order of attempts, without those that continued where the last one had stopped. Never empty. */
  readonly again: readonly WorkAgain[];
}

interface WorkAgain {
  /** The attempt that repeated an earlier one's work. */
  readonly attempt: number;
  /** The attempt's first mark. */
  readonly from: string;
  /** The last mark that had been reached before, or the attempt's own last mark if it did not get so far. */
  readonly to: string;
  /** The attempt began where the job's first attempt had begun. */
  readonly isAll?: true;
}

export interface PrintedBy {
  readonly attempt: number;
  /** Output of the attempt's first host. Of a long output: the beginning and the end. */
  readonly text: string;
  /** The attempt before it was lost or failed. Otherwise its command was begun anew on purpose, or nobody knows why. */
  readonly isAfterLoss: boolean;
}

/** The part of an attempt's work that later attempts did again. */
export interface LostShare {
  readonly attempt: number;
  /** From 0 to 1. */
  readonly share: number;
  /** Marks of the counter; steps, if the command prints each one. */
  readonly marks: number;
}

interface RepeatedWork {
  /** Absent: no work was repeated, or that is unsure. */
  readonly doneTwice?: DoneTwice;
  /** Only attempts that lost some. Absent: the commands print no counter. */
  readonly lost?: readonly LostShare[];
}

/** @param attempts in order. @returns undefined if no work was repeated, or if that is unsure */
export const doneTwice = (attempts: readonly PrintedBy[]): DoneTwice | undefined => repeatedWork(attempts).doneTwice;

/** @param attempts in order */
export function repeatedWork(attempts: readonly PrintedBy[]): RepeatedWork {
  const counter = workCounter(attempts.map(({ text }) => text));
  const unit = counter?.find((each) => each !== undefined)?.unit;
  if (counter === undefined || unit === undefined) return {};
  const again: WorkAgain[] = [];
  const lost = new Map<number, LostShare>();
  let done: Done | undefined;
  let chain: { readonly attempt: number; readonly counted: CountedMarks }[] = [];
  for (const [index, { attempt, isAfterLoss }] of attempts.entries()) {
    if (!isAfterLoss) done = undefined;
    const counted = counter[index];
    if (counted === undefined) continue;
    const found = done && workAgain(counted, done);
    if (done === undefined || found === 'unsure') chain = [];
    if (found !== undefined && found !== 'unsure') {
      const { first, ...told } = found;
      again.push({ attempt, ...told });
      for (const before of chain) noteLost(lost, before.attempt, before.counted, first);
    }
    chain.push({ attempt, counted });
    done =
      done === undefined || found === 'unsure'
        ? { begin: counted, isFirst: attempt === 1, furthest: counted, marks: counted.marks }
        : withMarks(done, counted);
  }
  return { lost: [...lost.values()], ...(again.length > 0 && { doneTwice: { unit, again } }) };
}

/** Notes the work of an attempt from `first` on as lost, unless more of it was lost before. */
function noteLost(lost: Map<number, LostShare>, attempt: number, { marks }: CountedMarks, first: ProgressMark): void {
  const kept = marks.filter((mark) => compareMarks(mark, first) < 0);
  const last = lostMarks(marks, kept);
  if (last.marks > (lost.get(attempt)?.marks ?? 0)) lost.set(attempt, { attempt, ...last });
}

/**
 * A mark stands for the work since the mark before it. A plain counter is measured by its numbers, since the middle of a long log
 * is not read; one with epochs by its number of marks.
 */
function lostMarks(all: readonly ProgressMark[], kept: readonly ProgressMark[]): Omit<LostShare, 'attempt'> {
  const [first, second] = all;
  const last = all.at(-1);
  if (first === undefined || last === undefined) return { share: 0, marks: 0 };
  const isPlain = first.length === 1 && second !== undefined;
  if (!isPlain) return { share: (all.length - kept.length) / all.length, marks: all.length - kept.length };
  const [from = 0, to = 0] = [first[0], last[0]];
  const step = smallestStep(all);
  const whole = (to - from) / step + 1;
  const gone = kept.length === 0 ? whole : (to - (kept.at(-1)?.[0] ?? to)) / step;
  return { share: gone / whole, marks: gone };
}

function smallestStep(marks: readonly ProgressMark[]): number {
  let least = Infinity;
  for (const [index, mark] of marks.entries()) {
    const step = (mark[0] ?? 0) - (marks[index - 1]?.[0] ?? NaN);
    if (step > 0 && step < least) least = step;
  }
  return least === Infinity ? 1 : least;
}

/** The work of an attempt, and of those before it that were lost. */
interface Done {
  /** Marks of the attempt that began the work. */
  readonly begin: CountedMarks;
  /** The job began with this work. */
  readonly isFirst: boolean;
  /** Marks of the attempt that came furthest. */
  readonly furthest: CountedMarks;
  readonly marks: readonly ProgressMark[];
}

const lastOf = ({ marks }: CountedMarks): ProgressMark => marks.at(-1) ?? [];

const withMarks = (done: Done, counted: CountedMarks): Done => ({
  ...done,
  furthest: compareMarks(lastOf(counted), lastOf(done.furthest)) > 0 ? counted : done.furthest,
  marks: [...done.marks, ...counted.marks],
});

/**
 * Most marks of earlier attempts between two successive marks. A progress bar is drawn by the clock, so it does not print every
 * mark again. A counter that passes over more marks has leapt.
 */
const MOST_SKIPPED = 2;
/** Leaps count only among this many first marks. A later one is a gap in the output: the middle of a long log is not read. */
const EARLY_MARKS = 20;

/**
 * Returns the work that one attempt repeated. Marks before a leap over marks of earlier attempts prove nothing, nor does a single
 * mark: many programs print where they resume. A counter that begins where the work began may count a second cycle, phase or
 * shard. It counts as repetition only if the output before it is the same and the earlier count was not complete.
 */
function workAgain(
  counted: CountedMarks,
  done: Done,
): (Omit<WorkAgain, 'attempt'> & { readonly first: ProgressMark }) | 'unsure' | undefined {
  const { begin, furthest, isFirst } = done;
  const reached = lastOf(furthest);
  const early = counted.marks.slice(0, EARLY_MARKS);
  const leapt = early.findLastIndex((mark, index) => skipped(mark, counted.marks[index + 1], done) > MOST_SKIPPED);
  const [first, second] = counted.marks.slice(leapt + 1);
  if (first === undefined || second === undefined || compareMarks(second, reached) > 0 || !furthest.isMain)
    return undefined;
  const isBegin = compareMarks(first, begin.marks[0] ?? []) <= 0;
  if (isBegin && (furthest.isComplete || !isSame(counted.preamble, begin.preamble))) return 'unsure';
  const last = lastOf(counted);
  const to = compareMarks(last, reached) < 0 ? last : reached;
  const isAll = isBegin && isFirst && !counted.isCoarse;
  return { first, from: showMark(first), to: showMark(to), ...(isAll && { isAll }) };
}

function skipped(from: ProgressMark, to: ProgressMark | undefined, { marks }: Done): number {
  if (to === undefined) return 0;
  const between = marks.filter((mark) => compareMarks(mark, from) > 0 && compareMarks(mark, to) < 0);
  return new Set(between.map(showMark)).size;
}

const isSame = (a: ReadonlySet<string>, b: ReadonlySet<string>): boolean =>
  a.size === b.size && [...a].every((line) => b.has(line));

/** Most attempts that the sentence names. A job may be preempted hundreds of times. */
const MOST_NAMED = 3;

/** `step 51 to 57 by attempt 2, step 1 to 80 by attempt 3, from its beginning`. */
export function doneTwiceText({ unit, again }: DoneTwice): string {
  const told = again.slice(0, MOST_NAMED).map(({ attempt, from, to, isAll }) => {
    const marks = from === to ? from : `${from} to ${to}`;
    return `${unit} ${marks} by attempt ${attempt}${isAll ? ', from its beginning' : ''}`;
  });
  const others = again.length - MOST_NAMED;
  return [...told, ...(others > 0 ? [`and by ${others} more`] : [])].join('; ');
}
