import { z } from 'zod';
import { afterForm, type AfterSpec, resolveAfter } from '../after.js';
import { inputsForm, resolveInputs, withInputs } from '../inputs.js';
import { replaceOf } from '../job-file/interpolation.js';
import { flag, given, section, wholeNumber } from '../job-file/fields.js';
import { isMapping, type Mapping, valueAt } from '../job-file/plain-tree.js';
import { checkForm, Report } from '../job-file/report.js';
import { type Problem, showValue } from '../problem.js';

/** Most places of a matrix: an index has four digits, and the state of a group one character for each. */
export const MOST_MEMBERS = 10_000;

const scalar = () => z.union([z.string(), z.number(), z.boolean()], { error: 'text, a number, true or false' });
const axis = () =>
  z.union([z.array(scalar()), z.string()], { error: 'a list of values, or a range of whole numbers such as 1..5' });

/** The form of the section `array` (docs/adr/0157). `readArray` checks its meaning. */
export const arrayForm = () =>
  section({
    matrix: z
      .record(z.string(), axis(), { error: 'a section of NAME: values' })
      .nullish()
      .describe('Axes of the array: a list of values or a range 1..5 each. Every combination is one member.'),
    exclude: z
      .array(z.record(z.string(), scalar()), { error: 'a list of {NAME: value}' })
      .nullish()
      .describe('Combinations that are no members; axes that an entry leaves out may have any value.'),
    max_parallel: wholeNumber(1, MOST_MEMBERS)
      .nullish()
      .describe('Members that are open at once, at most; all without it.'),
    warm: flag()
      .nullish()
      .describe('Whether a member that succeeded hands its set-up slices to the next one; needs max_parallel.'),
    fail_fast: flag().nullish().describe('Whether the first member that fails cancels the others.'),
  });

/** The value of one axis in one member. */
export type Scalar = string | number | boolean;

/** One named axis of a matrix: listed values, or the whole numbers from `from` to `to`. */
export type Axis = { readonly name: string } & (
  | { readonly values: readonly Scalar[] }
  | { readonly from: number; readonly to: number }
);

/**
 * The section `array` of a job file (docs/adr/0157). A member's index is its place in the whole matrix, from 0, the last axis
 * varying fastest. An excluded place is a gap, so that an exclusion renumbers nobody.
 */
export interface JobArray {
  /** One or more, in the order of the file. */
  readonly axes: readonly Axis[];
  readonly exclude: readonly Readonly<Record<string, Scalar>>[];
  /** Absent: all members may be open at once. */
  readonly maxParallel?: number;
  readonly isFailFast: boolean;
  /** A member that succeeded lends its slices to the next one (docs/adr/0163). Absent: each has slices of its own. */
  readonly isWarm?: true;
  /** Jobs and groups whose ends the group waits for, before it starts any member. Absent: none. */
  readonly after?: AfterSpec;
  /** Places of the matrix, excluded ones too: `MOST_MEMBERS` at most. */
  readonly size: number;
}

export type ReadArray =
  | { readonly ok: true; readonly array: JobArray }
  | { readonly ok: false; readonly problems: readonly Problem[] };

const SECTION = {
  schema: section({ array: arrayForm().nullish(), after: afterForm().nullish(), inputs: inputsForm().nullish() }),
  title: 'a job file',
};

/** Whether a job file asks for an array. */
export const isArray = (job: unknown): job is Mapping => isMapping(job) && given(job['array']) !== undefined;

/** Whether a job file is that of an array whose members lend each other their slices (docs/adr/0163). */
export function isWarmArray(job: unknown): boolean {
  if (!isArray(job)) return false;
  const read = readArray(job);
  return read.ok && read.array.isWarm === true;
}

/** Reads the section `array` of a job file. Call it only if `isArray`. */
export function readArray(job: Mapping): ReadArray {
  const { form, problems, dropped } = checkForm(SECTION, {
    array: job['array'],
    after: job['after'],
    inputs: job['inputs'],
  });
  const report = new Report(dropped);
  const { matrix, exclude, max_parallel: maxParallel, fail_fast: isFailFast, warm } = form.array ?? {};
  const axes = axesOf(matrix ?? undefined, valueAt(job, ['array', 'matrix']), report);
  const size = sizeOf(axes, report);
  checkExclude(axes, exclude ?? [], report);
  checkGroupKeys(job, report);
  if (warm === true) checkWarm(job, report);
  const after = withInputs(resolveAfter(form.after, report), resolveInputs(form.inputs, report), report);
  const all = [...problems, ...report.problems];
  if (all.length > 0) return { ok: false, problems: all };
  const array = {
    ...{ axes, exclude: exclude ?? [], isFailFast: isFailFast ?? false, size },
    ...(given(maxParallel) !== undefined && { maxParallel: Number(maxParallel) }),
    ...(warm === true && { isWarm: true as const }),
    ...(after && { after }),
  };
  if (memberIndexes(array).length > 0) return { ok: true, array };
  report.problem(['array', 'exclude'], exclude, 'excludes every member', 'leave out an entry');
  return { ok: false, problems: report.problems };
}

const AXIS = /^[A-Za-z_][\w-]{0,60}$/;
const AXIS_RULE = 'letters, digits, _ and -, no digit first; 61 at most';
/** Names that `${array.NAME}` already has. */
const OWN_NAMES = ['index', 'count'];

function axesOf(
  matrix: Readonly<Record<string, string | readonly Scalar[]>> | undefined,
  written: unknown,
  report: Report,
): readonly Axis[] {
  const at = ['array', 'matrix'];
  const names = isMapping(written) ? Object.keys(written) : [];
  const isEmpty = names.length === 0;
  // The parsed matrix lacks this key, so it is looked for in what was written.
  if (names.includes('__proto__')) report.wrong([...at, '__proto__'], '__proto__', 'no name of an axis', AXIS_RULE);
  if (matrix === undefined) report.missing(at, 'name at least one axis, such as matrix: {seed: 1..5}');
  else if (Object.keys(matrix).length === 0 && isEmpty && !report.wasDropped(at))
    report.wrong(at, matrix, 'empty', 'name at least one axis, such as matrix: {seed: 1..5}');
  const variables = new Map<string, string>();
  return Object.entries(matrix ?? {}).flatMap(([name, written]) => {
    const path = [...at, name];
    const variable = variableOf(name);
    const other = variables.get(variable);
    if (!AXIS.test(name)) report.wrong(path, name, 'no name of an axis', AXIS_RULE);
    else if (OWN_NAMES.includes(name.toLowerCase()))
      report.wrong(
        path,
        name,
        `no name of an axis: \${array.${name.toLowerCase()}} is jobctl's own`,
        'take another name',
      );
    else if (other !== undefined)
      report.problem(path, written, `has the variable ${variable}, as the axis ${other}`, 'take another name');
    variables.set(variable, name);
    const axis = axisOf(name, written);
    if ('problem' in axis) report.wrong(path, written, axis.problem, axis.hint);
    return 'problem' in axis ? [] : [axis];
  });
}

/** Most characters of one value. Every reference repeats the value, and a file may have thousands of references. */
const MOST_CHARACTERS = 1_000;
const LIKE_A_RANGE = /^\s*-?\d+\.\.+-?\d/;
const RANGE = /^\s*(-?\d{1,15})\.\.(-?\d{1,15})\s*$/;

function axisOf(
  name: string,
  written: string | readonly Scalar[],
): Axis | { readonly problem: string; readonly hint: string } {
  if (typeof written !== 'string') {
    if (written.length === 0) return { problem: 'an empty axis', hint: 'name its values, or leave the axis out' };
    const long = written.find((value) => typeof value === 'string' && value.length > MOST_CHARACTERS);
    if (long !== undefined)
      return { problem: `a list with a text of more than ${MOST_CHARACTERS} characters`, hint: 'put it into a file' };
    const rounded = written.find((value) => typeof value === 'number' && Math.abs(value) > Number.MAX_SAFE_INTEGER);
    if (rounded !== undefined)
      return {
        problem: `a list with a number beyond ${Number.MAX_SAFE_INTEGER}`,
        hint: 'it would be rounded: quote it',
      };
    const range = written.find((value) => typeof value === 'string' && LIKE_A_RANGE.test(value));
    if (range !== undefined)
      return {
        problem: `a list with the range ${showValue(range)}`,
        hint: 'write all values, or the range alone: 1..5',
      };
    const twice = written.find((value, index) => written.indexOf(value) !== index);
    if (twice === undefined) return { name, values: written };
    return {
      problem: `a list with ${showValue(twice)} twice`,
      hint: 'two members would be the same; name each value once',
    };
  }
  const [, from, to] = RANGE.exec(written) ?? [];
  if (from === undefined || to === undefined)
    return {
      problem: 'neither a list nor a range',
      hint: 'write a list, [0.1, 0.01], or a range of whole numbers, 1..5',
    };
  if (Number(from) <= Number(to)) return { name, from: Number(from), to: Number(to) };
  return { problem: 'an empty range', hint: `write the lower end first: ${to}..${from}` };
}

function sizeOf(axes: readonly Axis[], report: Report): number {
  // Stops multiplying beyond the limit: a product of ranges may be beyond all whole numbers.
  const size = axes.reduce((product, axis) => (product > MOST_MEMBERS ? product : product * lengthOf(axis)), 1);
  if (size <= MOST_MEMBERS) return size;
  const lengths = axes.map((axis) => `${axis.name} ${lengthOf(axis)}`).join(', ');
  const message = `has more than ${MOST_MEMBERS} combinations (${lengths})`;
  report.problem(
    ['array', 'matrix'],
    undefined,
    message,
    `${MOST_MEMBERS} members are the most: submit several arrays`,
  );
  return size;
}

function checkExclude(axes: readonly Axis[], exclude: JobArray['exclude'], report: Report): void {
  const at = ['array', 'exclude'];
  if (exclude.length > MOST_EXCLUDED)
    report.problem(at, undefined, `has ${exclude.length} entries`, `${MOST_EXCLUDED} are the most`);
  const names = axes.map(({ name }) => name);
  for (const [index, entry] of exclude.slice(0, MOST_EXCLUDED).entries()) {
    if (Object.keys(entry).length === 0) report.wrong([...at, index], entry, 'an empty entry', 'it would exclude all');
    for (const [name, value] of Object.entries(entry)) {
      const path = [...at, index, name];
      const axis = axes.find((each) => each.name === name);
      if (axis === undefined) {
        if (!report.wasDropped(['array', 'matrix', name]))
          report.problem(path, value, 'is no axis of the matrix', `axes: ${names.join(', ')}`);
      } else if (!hasValue(axis, value))
        report.wrong(path, value, `no value of the axis ${name}`, 'an entry that excludes nothing is a mistake');
    }
  }
}

/** Most entries of `exclude`: each member is compared with each entry. */
const MOST_EXCLUDED = 1_000;

/** Keys that all members share: the name makes the group's id, and a server's one statement covers pool, project and user. */
const GROUP_KEYS = [['name'], ['job', 'name'], ['pool'], ['project'], ['user']] as const;

function checkGroupKeys(job: Mapping, report: Report): void {
  for (const path of GROUP_KEYS) {
    const value = valueAt(job, path);
    if (typeof value === 'string' && hasArrayReference(value))
      report.problem(
        path,
        value,
        `${showValue(value)} differs from member to member`,
        'all members have the same; write a fixed text',
      );
  }
  for (const [name, value] of Object.entries(isMapping(job['env']) ? job['env'] : {}))
    if (name.startsWith(VARIABLE_PREFIX))
      report.problem(['env', name], value, 'is set by jobctl in a member of an array', 'take another name');
  const node = valueAt(job, ['tpu', 'adopt']);
  if (typeof node === 'string' && !hasArrayReference(node))
    report.problem(['tpu', 'adopt'], node, 'is one node, and every member would ask for it', 'leave adopt out');
}

/** Keys of a file whose slices stay, or whose members never end, for another reason. */
const NOT_WITH_WARM = { keep: 'holds the slices of each member', loop: 'lets no member end' } as const;

function checkWarm(job: Mapping, report: Report): void {
  const at = ['array', 'warm'];
  if (given(valueAt(job, ['array', 'max_parallel'])) === undefined)
    report.problem(at, true, 'needs max_parallel', 'name the number of warm slices: max_parallel: 4');
  for (const [key, why] of Object.entries(NOT_WITH_WARM)) {
    const written = given(job[key]);
    const value = isMapping(written) ? written['when'] : written;
    if (value !== undefined && value !== false && value !== 'never')
      report.problem(at, true, `does not go with ${key}, which ${why}`, `leave out warm or ${key}`);
  }
}

/** Whether a text refers to the array directly. */
export function hasArrayReference(text: string): boolean {
  let isFound = false;
  replaceOf(text, 'array', () => (isFound = true));
  return isFound;
}

// Places --------------------------------------------------------------------------------------------------------------

export const lengthOf = (axis: Axis): number => ('values' in axis ? axis.values.length : axis.to - axis.from + 1);
const valueOf = (axis: Axis, at: number): Scalar => ('values' in axis ? (axis.values[at] ?? '') : axis.from + at);
const hasValue = (axis: Axis, value: Scalar): boolean =>
  'values' in axis
    ? axis.values.includes(value)
    : typeof value === 'number' && Number.isInteger(value) && value >= axis.from && value <= axis.to;

/** The parameters of a place of the matrix, in the order of the axes, computed without the places before it. */
export function assignmentAt({ axes }: JobArray, index: number): Readonly<Record<string, Scalar>> {
  const values: [string, Scalar][] = [];
  let rest = index;
  for (const axis of axes.toReversed()) {
    const length = lengthOf(axis);
    values.unshift([axis.name, valueOf(axis, rest % length)]);
    rest = Math.floor(rest / length);
  }
  return Object.fromEntries(values);
}

/** Whether the array has a member of this index: it is a place of the matrix, and not excluded. */
export function hasMember(array: JobArray, index: number): boolean {
  if (!Number.isInteger(index) || index < 0 || index >= array.size) return false;
  if (array.exclude.length === 0) return true;
  const values = assignmentAt(array, index);
  return !array.exclude.some((entry) => Object.entries(entry).every(([name, value]) => values[name] === value));
}

/** Indexes of all members, ascending. */
export function memberIndexes(array: JobArray): readonly number[] {
  return Array.from({ length: Math.min(array.size, MOST_MEMBERS) }, (_, index) => index).filter((index) =>
    hasMember(array, index),
  );
}

/** `lr=0.1 seed=2`, as tables and messages show a member. */
export const assignmentText = (values: Readonly<Record<string, Scalar>>): string =>
  Object.entries(values)
    .map(([name, value]) => `${name}=${value}`)
    .join(' ');

// Variables ----------------------------------------------------------------------------------------------------------

export const VARIABLE_PREFIX = 'JOBCTL_ARRAY_';
export const variableOf = (axis: string): string => `${VARIABLE_PREFIX}${axis.toUpperCase().replaceAll('-', '_')}`;
