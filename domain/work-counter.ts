import { compareMarks, DEFAULT_MEASURES, linesOf, type ProgressMark } from './progress-marks.js';

/** The marks that lines of one kind gave in the output of one attempt. */
export interface CountedMarks {
  readonly unit: string;
  /** Ascending, each once. */
  readonly marks: readonly ProgressMark[];
  /** The mark stays the same over many lines: it is coarser than the work. */
  readonly isCoarse: boolean;
  /** It has reached the total that it prints: what comes next is counted anew. */
  readonly isComplete: boolean;
  /** It was printed until the end, or near it. Another one counts a part of the start. */
  readonly isMain: boolean;
  /** Lines before the first mark, without what differs in each run. */
  readonly preamble: ReadonlySet<string>;
}

/** A counter's marks, by attempt; undefined: the attempt printed none. */
export type WorkCounter = readonly (CountedMarks | undefined)[];

/** Fewer marks in one attempt may be a greeting. */
const LEAST_MARKS = 2;

/**
 * The counter of a job's work: of all kinds of lines whose number never falls within an attempt the one with most marks. Lines are
 * of one kind if the same words stand around the number, and the same total.
 */
export function workCounter(texts: readonly string[]): WorkCounter | undefined {
  const attempts = texts.map(countersIn);
  const kinds = [...new Set(attempts.flatMap((counters) => [...counters.keys()]))];
  const counters = kinds.map((kind) => attempts.map((each) => each.get(kind)));
  const usable = counters.filter((each): each is (CountedMarks | undefined)[] => !each.includes('falls'));
  const [most] = usable.toSorted((a, b) => total(b) - total(a)).filter((each) => each.some(isEnough));
  return most;
}

const isEnough = (counted: CountedMarks | undefined): boolean => sizeOf(counted) >= LEAST_MARKS;
const sizeOf = (counted: CountedMarks | undefined): number => counted?.marks.length ?? 0;
const total = (counter: WorkCounter): number => counter.reduce((sum, each) => sum + sizeOf(each), 0);

interface Seen {
  readonly unit: string;
  readonly marks: ProgressMark[];
  readonly first: number;
  last: number;
  lines: number;
  falls: boolean;
  isComplete: boolean;
}

function countersIn(text: string): ReadonlyMap<string, CountedMarks | 'falls'> {
  const lines = linesOf(text).filter((line) => line.trim() !== '');
  const isCut = !/[\r\n]$/.test(text);
  const seen = new Map<string, Seen>();
  for (const [index, line] of lines.entries()) {
    const counted = countedLine(line);
    if (counted === undefined || (isCut && index === lines.length - 1 && counted.after === '')) continue;
    const { kind, unit, mark, isComplete } = counted;
    const before = seen.get(kind);
    if (before === undefined) {
      seen.set(kind, { unit, marks: [mark], first: index, last: index, lines: 1, falls: false, isComplete });
      continue;
    }
    const step = compareMarks(mark, before.marks.at(-1) as ProgressMark);
    if (step > 0) before.marks.push(mark);
    before.falls ||= step < 0;
    Object.assign(before, { last: index, lines: before.lines + 1, isComplete });
  }
  return new Map([...seen].map(([kind, each]) => [kind, each.falls ? 'falls' : countedMarks(each, lines)]));
}

const countedMarks = ({ unit, marks, first, last, lines, isComplete }: Seen, all: readonly string[]): CountedMarks => ({
  unit,
  marks,
  isCoarse: lines >= 2 * marks.length,
  isComplete,
  isMain: last >= all.length / 2,
  preamble: new Set(all.slice(0, first).map(kindOf)),
});

/** A line's mark, by the first measure that fits it. */
function countedLine(line: string) {
  for (const { unit, markIn } of DEFAULT_MEASURES) {
    const found = markIn(line);
    if (found === undefined) continue;
    const { mark, before, after } = found;
    const end = /^["'\]]?\s*(?:\/|of\b)\s*(\d+)/i.exec(after)?.[1];
    const isBar = BAR_END.test(after);
    const word = isBar ? '' : (/^[^a-z]*([a-z]+)/i.exec(after.slice(end?.length ?? 0))?.[1] ?? '');
    const kind = JSON.stringify([unit, kindOf(before), end ?? '', word.toLowerCase()]);
    return {
      kind,
      unit,
      mark,
      after,
      isComplete: end !== undefined && mark.length === 1 && (mark[0] ?? 0) >= Number(end),
    };
  }
  return undefined;
}

/** Only times follow a bar's number. */
const BAR_END = /^\/\d+ [[(]/;
const DRAWN_BAR = /(?<!\d)\d{1,3}%\|[^|]*\|/g;

/** A line or a part of it, without a drawn bar, numbers of four and more digits, and what else differs in each run. */
const kindOf = (text: string): string =>
  comparableLine(text.replace(DRAWN_BAR, ''))
    .replace(/\d{1,4}[-/]\d\d?[-/]\d\d?/g, '#')
    .replace(/\d{1,3}e[-+]?\d{1,3}|\b[\da-f]{6,40}\b|\d{4,}/gi, '#')
    .replace(/\b\d+ ?(?:[mnu]?s|sec\w*|min\w*|[kmgt]i?b)\b/gi, '#');

/** A line without parts that differ between runs of the same work: times, fractions, addresses, names of attempts and nodes. */
export const comparableLine = (line: string): string =>
  line
    .replace(/\d{4}-\d\d-\d\d|\d{1,2}:\d\d(:\d\d)?([.,]\d+)?/g, '#')
    .replace(/(?<!\d)\d+((\.\d+)+(e[-+]?\d+)?|(\.\d+)?\s?m?s\b)/gi, '#')
    .replace(/\battempt \d+|-g\d+\b|\bpid \d+|0x[\da-f]+/gi, '#')
    .trim();
