import type { AfterSpec } from '../after.js';
import type { JobSpec } from '../job-spec.js';
import { machineRequestOf } from '../machines.js';
import { formatPath, formatProblems, showValue, type Path, type Problem } from '../problem.js';
import { ALL_MODULES } from '../modules/registry.js';
import { isMapping, valueAt, mapTree } from './plain-tree.js';
import { bindJobName, resolveJob } from './resolve.js';

/** A person's edit of an open job: a whole file, or single values that change in the file in force. */
interface EditRequest {
  readonly job?: unknown;
  readonly set?: readonly Assignment[];
}

/** The present job: its id, the file in force as plain JSON, and the spec that it had when it was accepted. */
interface JobInForce {
  readonly id: string;
  readonly job: unknown;
  readonly spec: JobSpec;
}

type CheckedEdit =
  | { readonly ok: true; readonly job: unknown; readonly spec: JobSpec }
  /** `isWrong`: the file itself is wrong. Absent: it is right, but does not fit the job's present slices. */
  | { readonly ok: false; readonly message: string; readonly isWrong?: true };

/**
 * Applies another job file to the slices that the job has. The whole file is checked as at submit. Values that determined the
 * slices, the lease or the place in line may not change. `name` and `priority` of the file are ignored: a job keeps its name,
 * and `jobctl quota set-priority` changes its priority. Pure; runs in a workflow.
 */
export function checkEdit(present: JobInForce, { job, set = [] }: EditRequest): CheckedEdit {
  const assigned = set.length === 0 ? { tree: job ?? present.job } : assignAll(job ?? present.job, set);
  if ('blocked' in assigned) return wrong([notASection(assigned.by.path, assigned.value)]);
  const edited = assigned.tree;
  const [before, after] = [resolveJob(present.job), resolveJob(edited)];
  if (!after.ok) return wrong(after.problems);
  const added = after.spec.after;
  if (added !== undefined && JSON.stringify(added) !== JSON.stringify(present.spec.after))
    return refused([otherAfter(added)]);
  if (before.ok && isOfOtherSlices(before.spec, after.spec))
    return refused(changesOfSlices({ job: present.job, spec: before.spec }, edited));
  const { namedPricing: _, ...rest } = after.spec;
  const { name, priority, namedPricing } = present.spec;
  const kept = {
    name,
    priority,
    ...machineRequestOf(present.spec),
    ...(namedPricing === undefined ? {} : { namedPricing }),
  };
  return { ok: true, job: edited, spec: bindJobName({ ...rest, ...kept }, present.id) };
}

const wrong = (problems: readonly Problem[]): CheckedEdit => ({ ...refused(problems), isWrong: true });

const refused = (problems: readonly Problem[]) => ({ ok: false, message: formatProblems(problems) }) as const;

/** The problem of an edit that sets another `after`. Only such an edit could make jobs wait for each other for ever. */
const otherAfter = (value: AfterSpec): Problem => ({
  ...{ path: ['after'], value },
  message: 'cannot be changed in a job that is open',
  hint: 'leave it as it was, or take it away: then the job waits for no other',
});

const notASection = (path: Path, value: unknown): Problem => ({
  path,
  value,
  message: `${showValue(value)} stands where this key would need a section`,
});

/** Keys of a spec that may not change: these, and the whole section of machines. */
const FIXED: readonly Path[] = [
  ['slices'],
  ['atomic'],
  ['pool'],
  ['project'],
  ['user'],
  ['remoteUser'],
  ['ssh', 'privateKey'],
  ['ssh', 'publicKey'],
  // Their rights were looked at when it was submitted.
  ['inputs'],
];

const isOfOtherSlices = (before: JobSpec, after: JobSpec): boolean =>
  JSON.stringify(machineRequestOf(before)) !== JSON.stringify(machineRequestOf(after)) ||
  FIXED.some((path) => JSON.stringify(valueAt(before, path)) !== JSON.stringify(valueAt(after, path)));

/** Most changed keys that are tried one by one. */
const MOST_TRIED = 100;

/**
 * The changed keys that would have made other slices. Compares the files, not the specs: a spec has other names, other units and
 * values that follow from others.
 */
function changesOfSlices(was: { readonly job: unknown; readonly spec: JobSpec }, edited: unknown): readonly Problem[] {
  const blamed = changedPaths(was.job, edited)
    .slice(0, MOST_TRIED)
    .filter((path) => {
      const alone = assignAll(was.job, [{ path, value: valueAt(edited, path) ?? null }]);
      const resolved = 'tree' in alone ? resolveJob(alone.tree) : undefined;
      return resolved?.ok !== true || isOfOtherSlices(was.spec, resolved.spec);
    });
  if (blamed.length > 0) return blamed.map((path) => changed(path, valueAt(was.job, path), valueAt(edited, path)));
  return [{ path: [], message: 'its slices would be others, and the job is open', hint: 'submit another job' }];
}

/** Paths of values that differ. Looks into a section only if both files have one there. */
function changedPaths(was: unknown, is: unknown, path: Path = []): readonly Path[] {
  if (JSON.stringify(was ?? null) === JSON.stringify(is ?? null)) return [];
  if (!isMapping(was) || !isMapping(is)) return [path];
  const keys = [...new Set([...Object.keys(was), ...Object.keys(is)])];
  return keys.flatMap((key) => changedPaths(valueAt(was, [key]), valueAt(is, [key]), [...path, key]));
}

function changed(path: Path, was: unknown, is: unknown): Problem {
  return {
    path,
    value: is ?? undefined,
    message: changeText(was ?? undefined, is ?? undefined),
    hint: `its slices, lease and key were made with ${formatPath(path)} as it was: leave it so, or submit another job`,
  };
}

function changeText(was: unknown, is: unknown): string {
  if (was === undefined) return `cannot be set to ${showValue(is)} in a job that is open: it is not set`;
  if (is === undefined) return `cannot be left out in a job that is open: it is ${showValue(was)}`;
  return `${showValue(is)} cannot take the place of ${showValue(was)} in a job that is open`;
}

/** A value that replaces one of the job file, or adds a key that the file does not have. Plain JSON. */
export interface Assignment {
  readonly path: Path;
  readonly value: unknown;
}

/** Sections that may be a plain text, and the key that the text then means: `bundle: DIR` is `bundle: {dir: DIR}`. */
const SHORT_FOR: ReadonlyMap<string, string> = new Map([
  ['keep', 'when'],
  ...ALL_MODULES.flatMap(({ name, shortFor }) => (shortFor === undefined ? [] : [[name, shortFor] as const])),
]);

/** `blocked`: the first part of the path at which something other than a section or list stands, and its value. */
type Assigned =
  | { readonly tree: unknown }
  | { readonly blocked: Path; readonly value: unknown; readonly by: Assignment };

/** Returns `tree` with the value put in. Makes missing sections on the path, and turns short forms on it into sections. */
export const assign = (tree: unknown, assignment: Assignment): Assigned => assignAll(tree, [assignment]);

/** Assigns in order. Copies the tree once and writes in place, because a section may have thousands of keys. */
export function assignAll(tree: unknown, assignments: readonly Assignment[]): Assigned {
  let own = copyOf(tree);
  for (const by of assignments) {
    own = withLongForm(own, by.path);
    const blocked = blockingPath(own, by.path);
    if (blocked !== undefined) return { blocked, value: valueAt(own, blocked), by };
    own = put(own, by.path, copyOf(by.value));
  }
  return { tree: own };
}

const copyOf = (tree: unknown): unknown => mapTree(tree, (value) => value);

/** @param tree a copy made in this file; it is written to */
function withLongForm(tree: unknown, [key, below]: Path): unknown {
  const name = SHORT_FOR.get(String(key));
  if (name === undefined || below === undefined || !isMapping(tree)) return tree;
  const short = tree[String(key)];
  if (short === false) return put(tree, [String(key)], {});
  return typeof short === 'string' ? put(tree, [String(key)], { [name]: short }) : tree;
}

/** @param tree a copy made in this file; it is written to, and the new key comes last in its section */
function put(tree: unknown, path: Path, value: unknown): unknown {
  const [key, ...rest] = path;
  if (key === undefined) return value;
  if (Array.isArray(tree)) {
    const list = tree as unknown[];
    list[Math.min(Number(key), list.length)] = put(list[Number(key)], rest, value);
    return list;
  }
  const section: Record<string, unknown> = isMapping(tree) ? tree : {};
  const child = put(valueAt(section, [key]), rest, value);
  delete section[String(key)];
  // The key may be `__proto__`, which a plain assignment would treat as the prototype.
  Object.defineProperty(section, key, { value: child, writable: true, enumerable: true, configurable: true });
  return section;
}

function blockingPath(tree: unknown, path: Path): Path | undefined {
  for (let depth = 0; depth < path.length; depth++) {
    const value = valueAt(tree, path.slice(0, depth));
    const isFree = value === undefined || value === null || isMapping(value);
    if (!isFree && !(Array.isArray(value) && typeof path[depth] === 'number')) return path.slice(0, depth);
  }
  return undefined;
}
