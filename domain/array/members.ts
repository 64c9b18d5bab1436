import { mapInputs } from '../inputs.js';
import { replaceOf } from '../job-file/interpolation.js';
import { given } from '../job-file/fields.js';
import { isMapping, type Mapping } from '../job-file/plain-tree.js';
import { nearestWord } from '../nearest-word.js';
import type { Problem } from '../problem.js';
import {
  assignmentAt,
  assignmentText,
  hasMember,
  isArray,
  type JobArray,
  lengthOf,
  memberIndexes,
  readArray,
  type Scalar,
  VARIABLE_PREFIX,
  variableOf,
} from './array.js';

export type MemberFile =
  | { readonly ok: true; readonly file: Mapping }
  | { readonly ok: false; readonly problems: readonly Problem[] };

/**
 * The job file of one member, without `array` and `after`, which are the group's, as is the wait for its inputs. Its references are replaced, and its variables
 * stand in `env`. It is an ordinary job file: run alone it does what the member does.
 */
export function memberFile(job: Mapping, array: JobArray, index: number): MemberFile {
  const values = assignmentAt(array, index);
  const known: Readonly<Record<string, Scalar>> = { ...values, index, count: array.size };
  const problems: Problem[] = [];
  const { array: _, after: __, env, inputs, ...others } = job;
  // The group waits for the jobs of inputs, once for all members.
  const rest =
    given(inputs) === undefined
      ? others
      : { ...others, inputs: mapInputs(inputs, (input) => ({ ...input, wait: false })) };
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
