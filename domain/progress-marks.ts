import { METRIC_WORD, metricsInLine } from './job-metrics/metric-lines.js';

/** A place in a job's work that it printed: `[step]`, or `[epoch, step]` if the line has both. */
export type ProgressMark = readonly number[];

/** A way to read a job's progress from its output. */
export interface ProgressMeasure {
  /** For people: `step N`, or the user's own pattern. */
  readonly name: string;
  /** The unit of one mark, as in `step 41`. */
  readonly unit: string;
  /** The mark of one line, if it has one. */
  readonly markOf: (line: string) => ProgressMark | undefined;
}

/** A measure that also tells where in a line its numbers stand. */
interface DefaultMeasure extends ProgressMeasure {
  readonly markIn: (line: string) => MarkInLine | undefined;
}

interface MarkInLine {
  readonly mark: ProgressMark;
  /** The line up to its first number, including the counter's word. */
  readonly before: string;
  /** The line behind its last number. */
  readonly after: string;
}

/** Output of one attempt, by host. */
export type AttemptOutput = ReadonlyMap<number, string>;

/** The measure and host chosen for a job, and the marks read. */
export interface ReadProgress {
  readonly measure: ProgressMeasure;
  readonly host: number;
  /** Marks of each attempt in order, ascending, each once. Empty if the attempt printed none. */
  readonly marks: readonly (readonly ProgressMark[])[];
}

/** The number after a counter's word. It is not part of a word, a decimal fraction or a duration. */
const UNIT = String.raw`(?:[mnuµ]?s|secs?|seconds?|mins?|minutes?|h|hours?|it\/s)\b`;
const NUMBER = String.raw`["'\]]?\s*[:=#]?\s*\[?\s*(\d{1,3}(?:[,_]\d{3})+|\d+)(?![.,_]?\d|\s?${UNIT})`;
const counter = (word: string): RegExp => new RegExp(String.raw`(?<![\w-])(?:${word})${NUMBER}`, 'i');

const GLOBAL_STEP = counter('global[_ ]?step');
const EPOCH = counter('epoch|ep');
const STEP = counter('step|train_step|training_step');
const ITERATION = counter('iteration|iter|it');
const BATCH = counter('batch');
/**
 * tqdm: ` 12%|##  | 12/100 [00:01<00:08, 9.8it/s]`. A bar with `?it/s` shows the beginning, before any work is done. Also the
 * counter of many PyTorch programs: `[640/60000 (1%)]`.
 */
const BAR = /(?<![\d.])(\d+)\/\d+ (?:\[[^\],]*, +(?!\?)|\(\d+%\))/;
/** `57% done`, `progress: 57%`. Any other percentage may be an accuracy or a load. */
const PERCENT = /(?:progress:? *|^\s*(?=\d+ ?% *(?:done|complete|finished|$)))(\d+) ?%(?!\|)/i;

/**
 * A number after one of these words does not count work just done: `resumed at step 40`, `saved checkpoint, step 40`,
 * `eval step 3`, `max step 100`. AXLearn's `Starting step 40` does.
 */
const OTHER_MATTER =
  /\b(?:resum|restor|load|checkpoint|ckpt|sav|stor|writ|eval|valid|test|max|every|until|continu|found|from|latest|start(?!ing $))/i;

/** Measures for a job if the user gives no pattern. The first that fits is used. */
export const DEFAULT_MEASURES: readonly DefaultMeasure[] = [
  metricStep(),
  counted('global step N', 'global step', GLOBAL_STEP),
  counted('epoch N, step M', 'epoch.step', EPOCH, STEP),
  counted('epoch N, iteration M', 'epoch.iteration', EPOCH, ITERATION),
  counted('epoch N, batch M', 'epoch.batch', EPOCH, BATCH),
  counted('step N', 'step', STEP),
  counted('iteration N', 'iteration', ITERATION),
  counted('epoch N, M/L [ of a progress bar', 'epoch.progress', EPOCH, BAR),
  counted('epoch N', 'epoch', EPOCH),
  counted('batch N', 'batch', BATCH),
  counted('N/M [ of a progress bar', 'progress', BAR),
  counted('N %', 'percent', PERCENT),
];

/** The step of a line of metrics, which is told as such and needs no guess (docs/adr/0161). */
function metricStep(): DefaultMeasure {
  const markIn = (line: string): MarkInLine | undefined => {
    const step = metricsInLine(line)?.step;
    return step === undefined ? undefined : { mark: [step], before: METRIC_WORD, after: '' };
  };
  return { name: `step=N of ${METRIC_WORD}`, unit: 'step', markIn, markOf: (line) => markIn(line)?.mark };
}

function counted(name: string, unit: string, ...patterns: readonly RegExp[]): DefaultMeasure {
  const markIn = (line: string): MarkInLine | undefined => {
    const mark: number[] = [];
    let [first, last] = [line.length, 0];
    for (const pattern of patterns) {
      const match = pattern.exec(line);
      const number = wholeNumber(match?.[1]);
      if (match === null || number === undefined || OTHER_MATTER.test(line.slice(0, match.index))) return undefined;
      mark.push(number);
      const at = match.index + match[0].indexOf(match[1] ?? '');
      [first, last] = [Math.min(first, at), Math.max(last, at + (match[1] ?? '').length)];
    }
    return { mark, before: line.slice(0, first), after: line.slice(last) };
  };
  return { name, unit, markIn, markOf: (line) => markIn(line)?.mark };
}

/** Measures by a user's pattern. A line without a whole number in the group has no mark. */
export function givenMeasure(pattern: RegExp): ProgressMeasure {
  return {
    name: `--progress ${pattern.source}`,
    unit: 'progress',
    markOf: (line) => {
      const number = wholeNumber(pattern.exec(line)?.[1]);
      return number === undefined ? undefined : [number];
    },
  };
}

function wholeNumber(text: string | undefined): number | undefined {
  const digits = text?.replaceAll(/[,_]/g, '');
  return digits !== undefined && /^\d+$/.test(digits) ? Number(digits) : undefined;
}

/** Least number of marks in one attempt from which it can be seen where the next one continued. */
const LEAST_MARKS = 2;

/**
 * Chooses the first measure, and for it the first host, whose number never falls within an attempt. A number that falls does not
 * show the place of the work: steps may be counted anew in each epoch, or two loops may both count.
 * @returns the reason, if there is no such measure
 */
export function readProgress(
  attempts: readonly AttemptOutput[],
  measures: readonly ProgressMeasure[] = DEFAULT_MEASURES,
): ReadProgress | { readonly reason: string } {
  let fallen: string | undefined;
  const hosts = [...new Set(attempts.flatMap((output) => [...output.keys()]))].toSorted((a, b) => a - b);
  for (const measure of measures) {
    for (const host of hosts) {
      const marks = attempts.map((output) => marksOf(output.get(host) ?? '', measure));
      if (!marks.some((each) => each.length >= LEAST_MARKS)) continue;
      const fall = marks.map(firstFall).find((each) => each !== undefined);
      if (fall === undefined) return { measure, host, marks: marks.map(distinct) };
      fallen ??= `'${measure.name}' goes from ${showMark(fall[0])} back to ${showMark(fall[1])} within an attempt`;
    }
  }
  return { reason: fallen ?? 'its output has no step counter' };
}

function marksOf(text: string, { markOf }: ProgressMeasure): readonly ProgressMark[] {
  return linesOf(text).flatMap((line) => {
    const mark = markOf(line);
    return mark === undefined ? [] : [mark];
  });
}

/** A terminal's sequences: colours and movements (CSI), titles and links (OSC), and those of one character. */
const TERMINAL_CODE = new RegExp(
  String.raw`\u001b(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)|[@-Z\\^_])`,
  'g',
);

/** Drops colours. Text drawn over itself (`\r`) counts as lines. */
export function linesOf(text: string): readonly string[] {
  return text.replace(TERMINAL_CODE, '').split(/[\r\n]+/);
}

function firstFall(marks: readonly ProgressMark[]): readonly [ProgressMark, ProgressMark] | undefined {
  for (const [index, mark] of marks.entries()) {
    const before = marks[index - 1];
    if (before !== undefined && compareMarks(mark, before) < 0) return [before, mark];
  }
  return undefined;
}

/** Drops repeated marks. Takes marks in order. */
function distinct(marks: readonly ProgressMark[]): readonly ProgressMark[] {
  return marks.filter((mark, index) => index === 0 || compareMarks(mark, marks[index - 1] as ProgressMark) !== 0);
}

/** Negative if `a` comes first. */
export function compareMarks(a: ProgressMark, b: ProgressMark): number {
  const different = a.findIndex((number, index) => number !== b[index]);
  return different === -1 ? 0 : (a[different] as number) - (b[different] as number);
}

/** `41`, or `2.41` for an epoch and a step. */
export const showMark = (mark: ProgressMark): string => mark.join('.');

/** The marks that lines of one kind gave in the output of one attempt. */
export interface CountedMarks {
  readonly unit: string;
  /** Ascending, each once. */
  readonly marks: readonly ProgressMark[];
  /** Each mark stands on two or more lines on average: the counter is coarser than the work. */
  readonly isCoarse: boolean;
  /** The counter has reached the total that it prints. Marks after that are a new count. */
  readonly isComplete: boolean;
  /** The counter was still printed in the second half of the output. Otherwise it counts a part of the start. */
  readonly isMain: boolean;
  /** Lines before the first mark, without what differs in each run. */
  readonly preamble: ReadonlySet<string>;
}

/** A counter's marks, by attempt; undefined: the attempt printed none. */
type WorkCounter = readonly (CountedMarks | undefined)[];

/** Least marks of a counter in one attempt. A single one may be part of a greeting. */
const LEAST_COUNTED = 2;

/**
 * The counter of a job's work. Lines are of one kind if the same words stand around their number, with the same total. The
 * counter is the kind with most marks, among those whose number never falls within an attempt.
 */
export function workCounter(texts: readonly string[]): WorkCounter | undefined {
  const attempts = texts.map(countersIn);
  const kinds = [...new Set(attempts.flatMap((counters) => [...counters.keys()]))];
  const counters = kinds.map((kind) => attempts.map((each) => each.get(kind)));
  const usable = counters.filter((each): each is (CountedMarks | undefined)[] => !each.includes('falls'));
  const [most] = usable.toSorted((a, b) => total(b) - total(a)).filter((each) => each.some(isEnough));
  return most;
}

const isEnough = (counted: CountedMarks | undefined): boolean => sizeOf(counted) >= LEAST_COUNTED;
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

/** Matches the rest of a bar behind its number. Only times follow, no word of a counter. */
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
