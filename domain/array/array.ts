import { afterForm, type AfterSpec, resolveAfter } from '../after.js';
import { replaceOf } from '../job-file/interpolation.js';
import { given, section } from '../job-file/fields.js';
import { isMapping, type Mapping, valueAt } from '../job-file/plain-tree.js';
import { checkForm, Report } from '../job-file/report.js';
import { nearestWord } from '../nearest-word.js';
import { type Problem, showValue } from '../problem.js';
import { arrayForm, MOST_MEMBERS } from './section.js';

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
  /** Jobs and groups whose ends the group waits for, before it starts any member. Absent: none. */
  readonly after?: AfterSpec;
  /** Places of the matrix, excluded ones too: `MOST_MEMBERS` at most. */
  readonly size: number;
}

export type ReadArray =
  | { readonly ok: true; readonly array: JobArray }
  | { readonly ok: false; readonly problems: readonly Problem[] };

const SECTION = {
  schema: section({ array: arrayForm().nullish(), after: afterForm().nullish() }),
  title: 'a job file',
};

/** Whether a job file asks for an array. */
export const isArray = (job: unknown): job is Mapping => isMapping(job) && given(job['array']) !== undefined;

/** Reads the section `array` of a job file. Call it only if `isArray`. */
export function readArray(job: Mapping): ReadArray {
  const { form, problems, dropped } = checkForm(SECTION, { array: job['array'], after: job['after'] });
  const report = new Report(dropped);
  const { matrix, exclude, max_parallel: maxParallel, fail_fast: isFailFast } = form.array ?? {};
  const axes = axesOf(matrix ?? undefined, valueAt(job, ['array', 'matrix']), report);
  const size = sizeOf(axes, report);
  checkExclude(axes, exclude ?? [], report);
  checkGroupKeys(job, report);
  const after = resolveAfter(form.after, report);
  const all = [...problems, ...report.problems];
  if (all.length > 0) return { ok: false, problems: all };
  const array = {
    ...{ axes, exclude: exclude ?? [], isFailFast: isFailFast ?? false, size },
    ...(given(maxParallel) !== undefined && { maxParallel: Number(maxParallel) }),
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
}

/** Whether a text refers to the array directly. */
export function hasArrayReference(text: string): boolean {
  let isFound = false;
  replaceOf(text, 'array', () => (isFound = true));
  return isFound;
}

// Places --------------------------------------------------------------------------------------------------------------

const lengthOf = (axis: Axis): number => ('values' in axis ? axis.values.length : axis.to - axis.from + 1);
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

// Members -------------------------------------------------------------------------------------------------------------

const VARIABLE_PREFIX = 'JOBCTL_ARRAY_';
const variableOf = (axis: string): string => `${VARIABLE_PREFIX}${axis.toUpperCase().replaceAll('-', '_')}`;

export type MemberFile =
  | { readonly ok: true; readonly file: Mapping }
  | { readonly ok: false; readonly problems: readonly Problem[] };

/**
 * The job file of one member, without `array` and `after`, which are the group's. Its references are replaced, and its variables
 * stand in `env`. It is an ordinary job file: run alone it does what the member does.
 */
export function memberFile(job: Mapping, array: JobArray, index: number): MemberFile {
  const values = assignmentAt(array, index);
  const known: Readonly<Record<string, Scalar>> = { ...values, index, count: array.size };
  const problems: Problem[] = [];
  const { array: _, after: __, env, ...rest } = job;
  const replaced = (tree: Mapping): Mapping =>
    replaceOf(tree, 'array', (name, reference, path) => {
      if (Object.hasOwn(known, name)) return known[name];
      problems.push({
        path,
        value: reference,
        message: `'${reference}': the array has no axis ${name}`,
        hint: hintFor(name, known),
      });
      return reference;
    }) as Mapping;
  const variables = {
    [`${VARIABLE_PREFIX}INDEX`]: String(index),
    [`${VARIABLE_PREFIX}COUNT`]: String(array.size),
    ...Object.fromEntries(Object.entries(values).map(([name, value]) => [variableOf(name), String(value)])),
  };
  const hasEnv = given(env) === undefined || isMapping(env);
  const file = replaced({ ...rest, env: hasEnv ? { ...(env as Mapping | undefined) } : env });
  if (problems.length > 0) return { ok: false, problems };
  return { ok: true, file: hasEnv ? { ...file, env: { ...(file['env'] as Mapping), ...variables } } : file };
}

function hintFor(name: string, known: Readonly<Record<string, Scalar>>): string {
  const names = Object.keys(known);
  const nearest = nearestWord(name, names);
  const meant = nearest === undefined ? [] : [`did you mean \${array.${nearest}}?`];
  return [...meant, `known: ${names.join(', ')}`].join('\n');
}

/** Reads an array and takes one of its members: for a worker, which is given the whole file. */
export function memberOf(job: unknown, index: number): MemberFile {
  if (!isArray(job)) return refused('is missing: a member belongs to an array', undefined);
  const read = readArray(job);
  if (!read.ok) return read;
  if (!hasMember(read.array, index))
    return refused(`has no member ${index}: its matrix has ${read.array.size} places`, index);
  return memberFile(job, read.array, index);
}

const refused = (message: string, value: unknown): MemberFile => ({
  ok: false,
  problems: [{ path: ['array'], value, message }],
});

/** Members that are checked before a group is started. */
export const MOST_CHECKED = 100;

/**
 * Members that are checked in place of all. For each axis: members with its values in turn, the other axes at their first value,
 * as many as the bound allows. Then others at even distances. A member that is not among them is checked when it starts.
 */
export function sampleOf(array: JobArray): readonly number[] {
  const all = memberIndexes(array);
  if (all.length <= MOST_CHECKED) return all;
  const sample = new Set<number>([all[0] ?? 0]);
  let stride = 1;
  for (const axis of array.axes.toReversed()) {
    const length = lengthOf(axis);
    const step = Math.ceil((length * array.axes.length) / (MOST_CHECKED / 2));
    for (let at = 0; at < length; at += step) if (hasMember(array, at * stride)) sample.add(at * stride);
    stride *= length;
  }
  const step = Math.ceil(all.length / (MOST_CHECKED - sample.size));
  for (let at = 0; at < all.length; at += step) sample.add(all[at] ?? 0);
  return [...sample].toSorted((a, b) => a - b);
}

/** A problem of one member, with the member's index and parameters in its message. */
export function ofMember(problem: Problem, array: JobArray, index: number): Problem {
  const { message, path } = problem;
  return { ...problem, path, message: `${message} (member ${index}: ${assignmentText(assignmentAt(array, index))})` };
}
