import { type Problem, showValue } from '../problem.js';
import { count } from '../units.js';

/**
 * A cron text of five fields as crontab(5) reads it. Each field has its values, ascending.
 * @see docs/adr/0159 for what Temporal reads otherwise
 */
export interface Cron {
  readonly minutes: readonly number[];
  readonly hours: readonly number[];
  readonly days: readonly number[];
  /** From 1. */
  readonly months: readonly number[];
  /** 0 is Sunday. */
  readonly weekdays: readonly number[];
  /** Both days of the month and of the week are named: a day that is one of either matches, as in every crontab. */
  readonly isEitherDay: boolean;
  /** Hours are named, so that it means times of the clock on the wall. Else it means every so many hours or minutes. */
  readonly isOfWallClock: boolean;
  /** The shortest time between two of its times, by a clock that is never changed. */
  readonly leastGapMinutes: number;
}
type CronFields = Omit<Cron, 'leastGapMinutes'>;

interface Field {
  readonly name: string;
  readonly least: number;
  readonly most: number;
  /** Names of values, from `least`. */
  readonly names?: readonly string[];
}

const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];
const WEEKDAYS = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'];
const FIELDS = [
  { name: 'minute', least: 0, most: 59 },
  { name: 'hour', least: 0, most: 23 },
  { name: 'day of the month', least: 1, most: 31 },
  { name: 'month', least: 1, most: 12, names: MONTHS },
  // 7 is Sunday too.
  { name: 'day of the week', least: 0, most: 7, names: WEEKDAYS },
] as const satisfies readonly Field[];

const SHORTHANDS: Readonly<Record<string, string>> = {
  '@yearly': '0 0 1 1 *',
  '@annually': '0 0 1 1 *',
  '@monthly': '0 0 1 * *',
  '@weekly': '0 0 * * 0',
  '@daily': '0 0 * * *',
  '@midnight': '0 0 * * *',
  '@hourly': '0 * * * *',
};

/** Most characters of a cron text. */
export const MAX_CRON = 200;
/** Least time between two firings. A job needs minutes to get its machines, so times that lie closer are a mistake. */
export const LEAST_GAP_MINUTES = 5;
const EXAMPLE = "five fields: minute, hour, day of the month, month, day of the week, such as '30 2 * * mon-fri'";

/** Reads a cron text, or says what is wrong with it. `path` of a problem is `cron`. */
export function readCron(text: string): Cron | Problem {
  const problem = (message: string, hint?: string): Problem => ({
    ...{ path: ['cron'], value: text, message },
    ...(hint === undefined ? {} : { hint }),
  });
  if (text.length > MAX_CRON) return problem(`has ${text.length} characters`, `${MAX_CRON} are the most`);
  if (/[\r\n]/.test(text)) return problem(`${showValue(text)} has more than one line`, EXAMPLE);
  const trimmed = text.trim().toLowerCase();
  if (trimmed.startsWith('@') && SHORTHANDS[trimmed] === undefined)
    return problem(`'${trimmed}' is not known here`, `known: ${Object.keys(SHORTHANDS).join(', ')}`);
  const words = (SHORTHANDS[trimmed] ?? trimmed).split(/[ \t]+/);
  if (words.length === 6 || words.length === 7)
    return problem(
      `${showValue(text)} has ${words.length} fields, and a cron of jobctl has no seconds and no years`,
      EXAMPLE,
    );
  if (words.length !== FIELDS.length)
    return problem(`${showValue(text)} has ${words.filter(Boolean).length} fields`, EXAMPLE);
  const read = FIELDS.map((field, at) => valuesOf(words[at] ?? '', field));
  const wrong = read.find((each) => typeof each === 'string');
  if (wrong !== undefined) return problem(wrong, EXAMPLE);
  const [minutes = [], hours = [], days = [], months = [], weekdays = []] = read as readonly (readonly number[])[];
  const [, hour = '', day = '', , weekday = ''] = words;
  const fields: CronFields = {
    ...{ minutes, hours, days, months },
    weekdays: ascending(weekdays.map((each) => each % 7)),
    isEitherDay: !day.startsWith('*') && !weekday.startsWith('*'),
    isOfWallClock: !hour.startsWith('*'),
  };
  const gap = leastGapOf(fields);
  if (gap === undefined)
    return problem(
      `${showValue(text)} never comes: no month has such a day`,
      'the shortest February has 28 days, April 30',
    );
  if (gap < LEAST_GAP_MINUTES)
    return problem(
      `${showValue(text)} has times ${count(gap, 'minute')} apart: ${LEAST_GAP_MINUTES} minutes are the least`,
      'a job needs minutes to get its machines; for work that goes on and on, let one job loop (`loop: true`)',
    );
  return { ...fields, leastGapMinutes: gap };
}

export const isProblem = (read: Cron | Problem): read is Problem => 'message' in read;

/** The values of one field, or what is wrong with it. */
function valuesOf(text: string, field: Field): readonly number[] | string {
  const values: number[] = [];
  for (const part of text.split(',')) {
    const [, range = '', step] = /^([^/]*)(?:\/(\d{1,3}))?$/.exec(part) ?? [];
    const bounds = boundsOf(range, field, step !== undefined);
    if (bounds === undefined) return `${field.name}: '${part}' is ${ruleOf(field)}`;
    const [from, to] = bounds;
    if (from > to) return `${field.name}: '${part}' ends before it begins`;
    const every = Number(step ?? 1);
    if (every === 0) return `${field.name}: '${part}' has steps of 0`;
    for (let value = from; value <= to; value += every) values.push(value);
  }
  return ascending(values);
}

const ruleOf = ({ least, most, names }: Field): string =>
  `no value, range or step from ${least} to ${most}${names === undefined ? '' : ` or ${names[0]} to ${names.at(-1)}`}`;

function boundsOf(range: string, field: Field, hasStep: boolean): readonly [number, number] | undefined {
  if (range === '*') return [field.least, field.names === WEEKDAYS ? 6 : field.most];
  const [first = '', last, ...more] = range.split('-');
  const from = valueOf(first, field);
  const named = last === undefined ? (hasStep ? field.most : from) : valueOf(last, field);
  // `sat-sun`: Sunday ends a week too.
  const to = field.names === WEEKDAYS && named === 0 && from !== undefined && from > 0 ? 7 : named;
  return from === undefined || to === undefined || more.length > 0 ? undefined : [from, to];
}

function valueOf(text: string, { least, most, names = [] }: Field): number | undefined {
  const named = names.indexOf(text);
  if (named !== -1) return named + least;
  const value = /^\d{1,2}$/.test(text) ? Number(text) : NaN;
  return value >= least && value <= most ? value : undefined;
}

const ascending = (values: readonly number[]): readonly number[] => [...new Set(values)].toSorted((a, b) => a - b);

// When it comes -------------------------------------------------------------------------------------------------------

const DAY_MINUTES = 24 * 60;
const DAY_MS = DAY_MINUTES * 60_000;
/** From the year 2000 on each sequence of weekdays and leap years comes within 28 years. */
const CYCLE_FROM = Date.UTC(2000, 0, 1);
const CYCLE_DAYS = 28 * 366;

/** Whether a day of the calendar matches. @param day its begin in UTC */
export function isOn({ days, months, weekdays, isEitherDay }: CronFields, day: Date): boolean {
  const isDay = days.includes(day.getUTCDate());
  const isWeekday = weekdays.includes(day.getUTCDay());
  return months.includes(day.getUTCMonth() + 1) && (isEitherDay ? isDay || isWeekday : isDay && isWeekday);
}

/** See `Cron`. Undefined: it never comes. */
function leastGapOf(cron: CronFields): number | undefined {
  const times = cron.hours.flatMap((hour) => cron.minutes.map((minute) => hour * 60 + minute));
  const [first = 0] = times;
  const last = times.at(-1) ?? 0;
  let least: number | undefined;
  const note = (gap: number): void => void (least = least === undefined || gap < least ? gap : least);
  let before: number | undefined;
  for (let day = 0; day < CYCLE_DAYS; day++) {
    if (!isOn(cron, new Date(CYCLE_FROM + day * DAY_MS))) continue;
    if (before === undefined) times.slice(1).forEach((time, at) => note(time - (times[at] ?? 0)));
    else note((day - before) * DAY_MINUTES + first - last);
    before = day;
  }
  // It comes once in 28 years.
  return before === undefined ? undefined : (least ?? CYCLE_DAYS * DAY_MINUTES);
}

/**
 * The same times in words of Temporal, which wants both days to match. Each is a cron text of its own; where one of several matches, it is
 * time.
 */
export function temporalCrons(cron: Cron): readonly string[] {
  const { minutes, hours, days, months, weekdays, isEitherDay } = cron;
  const text = (dayOfMonth: string, dayOfWeek: string): string =>
    [listed(minutes, 60), listed(hours, 24), dayOfMonth, listed(months, 12), dayOfWeek].join(' ');
  if (!isEitherDay) return [text(listed(days, 31), listed(weekdays, 7))];
  return [text(listed(days, 31), '*'), text('*', listed(weekdays, 7))];
}

/** @param all the number of values that the field can have */
const listed = (values: readonly number[], all: number): string => (values.length === all ? '*' : values.join(','));
