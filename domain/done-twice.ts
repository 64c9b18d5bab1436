import { compareMarks, type ProgressMark, readProgress, showMark } from './progress-marks.js';

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
  /** The attempt began where the job once began. */
  readonly isAll?: true;
}

export interface PrintedBy {
  readonly attempt: number;
  /** Output of its first host. Of a long output: the beginning and the end. */
  readonly text: string;
}

const FIRST_HOST = 0;

/** @param attempts in order. @returns undefined if nothing was done twice, or no counter shows it */
export function doneTwice(attempts: readonly PrintedBy[]): DoneTwice | undefined {
  const progress = readProgress(attempts.map(({ text }) => new Map([[FIRST_HOST, text]])));
  if (!('measure' in progress)) return undefined;
  const { measure, marks } = progress;
  const again: WorkAgain[] = [];
  let begin: ProgressMark | undefined;
  let reached: ProgressMark | undefined;
  for (const [index, { attempt }] of attempts.entries()) {
    const [first] = marks[index] ?? [];
    const last = marks[index]?.at(-1);
    if (first === undefined || last === undefined) continue;
    if (begin !== undefined && reached !== undefined && compareMarks(first, reached) <= 0) {
      const isAll = compareMarks(first, begin) <= 0;
      const to = compareMarks(last, reached) < 0 ? last : reached;
      again.push({ attempt, from: showMark(first), to: showMark(to), ...(isAll && { isAll }) });
    }
    begin ??= first;
    if (reached === undefined || compareMarks(last, reached) > 0) reached = last;
  }
  return again.length === 0 ? undefined : { unit: measure.unit, again };
}

/** Attempts that are named. A job may be preempted hundreds of times. */
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
