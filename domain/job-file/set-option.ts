import { parseDocument } from 'yaml';
import { shellWords } from '../shell-quote.js';
import { MACHINE_FLAGS } from '../machine-kinds/kind.js';
import { assign, type Assignment as PlainAssignment } from './edit.js';
import { given } from './fields.js';
import { REQUEST_SECTIONS } from './sections.js';
import { type Path, type Problem, showValue } from '../problem.js';
import { isMapping, valueAt, type Mapping } from './plain-tree.js';
import { inItselfAt, tooDeepAt } from './yaml-source.js';
import { IN_ITSELF, MOST_LEVELS, TOO_DEEP } from './yaml-words.js';

/** Command-line values of a job beside its file. A flag wins over `--set`, `--set` over the file. */
export interface JobOverrides {
  readonly name?: string | undefined;
  readonly project?: string | undefined;
  readonly user?: string | undefined;
  readonly priority?: number | undefined;
  readonly slices?: number | undefined;
  readonly tpu?: string | undefined;
  readonly zone?: string | undefined;
  readonly pricing?: string | undefined;
  readonly adopt?: string | undefined;
  /** True: `pricing` was given as `--spot`. */
  readonly isSpot?: boolean | undefined;
  /** Replaces the file's `bundle.dir`. Absolute, unless there is no file whose folder a relative path could start at. */
  readonly bundle?: string | undefined;
  /** Words after `--`. Several words are quoted one by one, a single word is a shell line. */
  readonly command?: readonly string[] | undefined;
  /** Makes a workspace of the job, which has no command. Its file may say the same. */
  readonly workspace?: { readonly idle?: string | undefined; readonly run?: string | undefined } | undefined;
  /** `${section.key}` in several words is not a reference, but text for the program. */
  readonly isLiteral?: boolean | undefined;
  /** The flags for which options of `--set` stand, by option. Absent: none. */
  readonly saidAs?: ReadonlyMap<string, string> | undefined;
}

/** One value from outside the file, and the flag to name if the value is wrong. */
interface Assignment extends PlainAssignment {
  readonly flag: string;
}

export interface Overridden {
  readonly tree: unknown;
  readonly problems: readonly Problem[];
  /** The flag that gave the value at `path`, or part of it. */
  readonly flagAt: (path: Path) => string | undefined;
}

/** Puts `--set key=value` and the flags into a file's tree. */
export function applyOverrides(tree: Mapping, set: readonly string[], overrides: JobOverrides): Overridden {
  const problems: Problem[] = [];
  const fromSet = set.flatMap((option) => {
    const assignment = parseSetOption(option, overrides.saidAs?.get(option));
    if ('message' in assignment) problems.push(assignment);
    return 'message' in assignment ? [] : [assignment];
  });
  let result: unknown = tree;
  const applied: Assignment[] = [];
  const apply = (assignments: readonly Assignment[]): void => {
    for (const assignment of assignments) {
      const assigned = assign(withLongAfter(result, assignment.path), assignment);
      if ('blocked' in assigned) {
        problems.push(notASection(assignment, assigned.blocked, valueAt(result, assigned.blocked)));
        continue;
      }
      result = assigned.tree;
      applied.push(assignment);
    }
  };
  apply(fromSet);
  const ofMachines = machineAssignments(overrides, result);
  apply([...topAssignments(overrides), ...ofMachines.filter((each) => 'flag' in each)]);
  apply(commandAssignments(overrides, tree));
  apply(workspaceAssignments(overrides, result));
  problems.push(...ofMachines.filter((each) => 'message' in each));
  const flagAt = (path: Path): string | undefined => applied.findLast((each) => startsWith(path, each.path))?.flag;
  return { tree: result, problems, flagAt };
}

/** Replaces the short form `after: prep` by its section, so that `--set after.any=x` can set a key in it. */
function withLongAfter(tree: unknown, [key, below]: Path): unknown {
  const short = valueAt(tree, ['after']);
  const isShort = typeof short === 'string' || Array.isArray(short);
  return key === 'after' && below !== undefined && isShort && isMapping(tree)
    ? { ...tree, after: { ok: short } }
    : tree;
}

function notASection({ flag }: Assignment, path: Path, value: unknown): Problem {
  return { file: flag, path, value, message: `${showValue(value)} is not a section, so no key can be set below it` };
}

/** Most characters of an option that a message repeats. */
const MOST_SHOWN = 200;

/** `tpu.zones[0]=us-east1-d`: a dotted path and a YAML value. @param saidAs the flag for which it stands */
export function parseSetOption(option: string, saidAs?: string): Assignment | Problem {
  const flag = saidAs ?? `--set ${option.length > MOST_SHOWN ? `${option.slice(0, MOST_SHOWN)}..` : option}`;
  const equals = option.indexOf('=');
  const key = option.slice(0, Math.max(equals, 0)).trim();
  if (equals === -1 || !/^[\w-]+(\.[\w-]+|\[\d+\])*$/.test(key)) {
    const message = equals === -1 ? `${showValue(option)} has no =` : `${showValue(key)} is not a key`;
    return {
      file: flag,
      path: [],
      value: option,
      message,
      hint: 'write --set key=value, such as --set tpu.accelerator=v6e-8',
    };
  }
  const path = key.split(/[.[\]]+/).filter((segment) => segment !== '');
  const text = option.slice(equals + 1);
  if (path.length > MOST_LEVELS) {
    const message = `the key has ${path.length} parts, and ${MOST_LEVELS} levels are the most`;
    return { file: flag, path: [], value: option, message };
  }
  if (tooDeepAt(text) !== undefined) return { file: flag, path, value: text, message: `not YAML: ${TOO_DEEP}` };
  const document = parseDocument(text, { version: '1.2' });
  if (document.errors.length === 0 && inItselfAt(document) !== undefined)
    return { file: flag, path, value: text, message: `not YAML: ${IN_ITSELF}` };
  try {
    if (document.errors.length === 0) return { path: path.map(asSegment), value: document.toJS() as unknown, flag };
  } catch (error) {
    // An alias without its anchor, or aliases that multiply.
    if (!(error instanceof ReferenceError)) throw error;
  }
  return { file: flag, path, value: text, message: `${showValue(text)} is not a YAML value`, hint: 'put it in quotes' };
}

const asSegment = (segment: string): string | number => (/^\d+$/.test(segment) ? Number(segment) : segment);

/** Flags that are keys at the top of the file. */
const TOP_KEYS = ['name', 'project', 'user', 'priority', 'slices'] as const;

const topAssignments = (overrides: JobOverrides): Assignment[] =>
  TOP_KEYS.flatMap((key) =>
    overrides[key] === undefined ? [] : [{ path: [key], value: overrides[key], flag: `--${key}` }],
  );

function commandAssignments({ command, isLiteral = false, bundle }: JobOverrides, tree: Mapping): Assignment[] {
  const assignments: Assignment[] = [];
  if (bundle !== undefined) assignments.push({ path: ['bundle', 'dir'], value: bundle, flag: '--bundle' });
  if (command === undefined || command.length === 0) return assignments;
  const [line = ''] = command;
  const run = command.length === 1 ? line : isLiteral ? literalWords(command) : shellWords(command);
  assignments.push({ path: ['command'], value: { ...commandOptions(tree), run }, flag: '--' });
  const modules = valueAt(tree, ['setup', 'modules']);
  if (Array.isArray(modules) && !modules.includes('command')) {
    assignments.push({ path: ['setup', 'modules'], value: [...(modules as unknown[]), 'command'], flag: '--' });
  }
  return assignments;
}

function workspaceAssignments({ workspace }: JobOverrides, tree: unknown): readonly Assignment[] {
  if (workspace === undefined) return [];
  const { idle, run } = workspace;
  const flag = 'jobctl workspace';
  const modules = valueAt(tree, ['setup', 'modules']);
  const others = Array.isArray(modules) ? (modules as unknown[]).filter((name) => name !== 'command') : [];
  return [
    ...(Array.isArray(modules) ? [{ path: ['setup', 'modules'], value: others, flag }] : []),
    ...(given(valueAt(tree, ['command'])) === undefined ? [] : [{ path: ['command'], value: null, flag }]),
    ...(given(valueAt(tree, ['workspace'])) === undefined ? [{ path: ['workspace'], value: {}, flag }] : []),
    ...(idle === undefined ? [] : [{ path: ['workspace', 'idle'], value: idle, flag: '--idle' }]),
    ...(run === undefined ? [] : [{ path: ['timeouts', 'run'], value: run, flag: '--for' }]),
  ];
}

/** Assigns flags about machines in the section that the job has, or in `tpu`. Refuses flags for which that section has no key. */
function machineAssignments(overrides: JobOverrides, tree: unknown): readonly (Assignment | Problem)[] {
  const section =
    REQUEST_SECTIONS.find(({ name }) => given(valueAt(tree, [name])) !== undefined) ?? REQUEST_SECTIONS[0];
  return MACHINE_FLAGS.flatMap((name): (Assignment | Problem)[] => {
    const value = overrides[name];
    if (section === undefined || value === undefined) return [];
    const flag = name === 'pricing' && overrides.isSpot === true ? '--spot' : `--${name}`;
    const key = section.flags[name];
    if ('why' in key) {
      const message = `is not for machines of the section ${section.name}: ${key.why}`;
      return [{ file: flag, path: [], value, message, hint: key.instead }];
    }
    const one = { path: [section.name, ...key.path], value, flag };
    if (key.list === undefined) return [one];
    const list = { ...one, path: [section.name, key.list.key] };
    if (value === key.list.word) return [list, { ...one, value: null }];
    return valueAt(tree, list.path) === undefined ? [one] : [{ ...list, value: [value] }];
  });
}

/** Quotes words so that `${a.b}` in them is no reference: the single quotes around it are closed and reopened inside. */
const literalWords = (words: readonly string[]): string => shellWords(words).replace(/\$\{(?=[^}]*\.)/g, () => "$''{");

/** Keys of the file's `command` except its text. */
function commandOptions(tree: Mapping): Mapping {
  const command = tree['command'];
  if (!isMapping(command)) return {};
  return Object.fromEntries(Object.entries(command).filter(([key]) => key !== 'run' && key !== 'cmd'));
}

function startsWith(path: Path, prefix: Path): boolean {
  return prefix.every((segment, depth) => path[depth] === segment);
}

const KEY = /^[\w-]+(\.[\w-]+|\[\d+\])*$/;
const AXIS = /^[A-Za-z_][\w-]*$/;
/** Names that `${array.NAME}` already has. */
const OWN_NAMES = ['index', 'count'];

/**
 * Turns `--sweep env.LR=0.1,0.01` into values to set: an axis of the array, and a reference to it in the key. An axis is named
 * for the last part of its key, or for the whole key if another axis has that name.
 * @returns options as `--set` takes them, each with the flag that messages name, or the problem of the first sweep that is wrong
 */
export function sweepOptions(sweeps: readonly string[]): ReadonlyMap<string, string> | Problem {
  const names = new Set<string>();
  const keys = new Set<string>();
  const options = new Map<string, string>();
  for (const sweep of sweeps) {
    const equals = sweep.indexOf('=');
    const key = sweep.slice(0, Math.max(equals, 0)).trim();
    const values = sweep.slice(equals + 1).trim();
    const wrong = problemOf(sweep, { equals, key, values });
    if (wrong !== undefined) return wrong;
    if (keys.has(key))
      return {
        ...{ file: `--sweep ${key}`, path: [], value: sweep, message: `${showValue(key)} is swept twice` },
        hint: `name all its values at once: --sweep ${key}=value,value`,
      };
    keys.add(key);
    const name = nameOf(key, names);
    names.add(name.toLowerCase());
    const axis = RANGE.test(values) || values.startsWith('[') ? values : `[${values}]`;
    for (const option of [`array.matrix.${name}=${axis}`, `${key}=\${array.${name}}`])
      options.set(option, flagOf(sweep));
  }
  return options;
}

const flagOf = (sweep: string): string => `--sweep ${sweep.length > 200 ? `${sweep.slice(0, 200)}..` : sweep}`;

const RANGE = /^-?\d+\.\.-?\d+$/;
/** A range without one of its ends, or both. */
const HALF_RANGE = /^(?:-?\d+\.\.|\.\.-?\d+|\.\.)$/;
const HALF_LIST = /^\[.*[^\]]$|^\[$/;

function nameOf(key: string, taken: ReadonlySet<string>): string {
  const last =
    key
      .split(/[.[\]]+/)
      .filter((part) => part !== '')
      .at(-1) ?? '';
  const isFree = AXIS.test(last) && !OWN_NAMES.includes(last.toLowerCase()) && !taken.has(last.toLowerCase());
  return isFree ? last : key.replaceAll(/[^\w-]+/g, '_').replace(/_$/, '');
}

interface Parts {
  readonly equals: number;
  readonly key: string;
  readonly values: string;
}

function problemOf(sweep: string, { equals, key, values }: Parts): Problem | undefined {
  const file = flagOf(sweep);
  const hint = 'write --sweep KEY=value,value or --sweep KEY=1..5, such as --sweep env.LR=0.1,0.01';
  if (equals === -1) return { file, path: [], value: sweep, message: `${showValue(sweep)} has no =`, hint };
  if (!KEY.test(key) || key === 'array' || key.startsWith('array.'))
    return { file, path: [], value: sweep, message: `${showValue(key)} is not a key of a job`, hint };
  const wrong = VALUES.find(({ is }) => is(values))?.message;
  return wrong === undefined ? undefined : { file, path: [], value: sweep, message: wrong, hint };
}

const VALUES: readonly { readonly is: (values: string) => boolean; readonly message: string }[] = [
  { is: (values) => values === '', message: 'names no values' },
  { is: (values) => HALF_RANGE.test(values), message: 'is a range without one of its ends' },
  { is: (values) => HALF_LIST.test(values), message: 'is a list without its closing ]' },
  { is: (values) => values.startsWith(',') || values.endsWith(','), message: 'has a comma without a value beside it' },
];
