import { localFilesOf } from '../modules/set-up.js';
import { ofMember, memberFile, sampleOf } from '../array/members.js';
import { readArray, type JobArray, isArray } from '../array/array.js';
import { warnOfBackslashes, warnUsersOfJobman, warnOfProvision, warnOfScripts } from './warnings.js';
import { resolveForm, DEFAULT_POOL, resolveSize, refuseForPods } from './resolve-form.js';
import type { PoolDefaults } from './pool-defaults.js';
import type { BuildSpec } from '../build/spec.js';
import { refuseUnbuilt, refuseUnused, resolveBuild, withImage } from '../build/build.js';
import { jobLevelName } from '../identity.js';
import type { JobSpec } from '../job-spec.js';
import { askedMachines, kindOfJob, machineKind } from '../machines.js';
import { jsonBytes, MOST_INPUT_BYTES, TOO_LARGE_HINT } from '../bounds.js';
import { formatPath, showValue, type Path, type Problem } from '../problem.js';
import { reachFacts } from '../slice.js';
import { MOST_LEVELS } from './yaml-words.js';
import { given } from './fields.js';
import { foreignKeyHint } from './foreign/keys.js';
import {
  halfReference,
  type Environment,
  interpolate,
  replaceTpuName,
  substituteEnvironment,
} from './interpolation.js';
import { targetKeyHint } from './notify.js';
import { POD_SECTIONS, REQUEST_SECTIONS, resolveRequest, jobFileSchema } from './sections.js';
import { deeperThan, hasMoreThan, isMapping, type Mapping, mapStrings, valueAt } from './plain-tree.js';
import { Report, checkForm, tidy } from './report.js';

export type ResolvedJob =
  | {
      readonly ok: true;
      /** The job file as plain JSON with the submitter's environment put in: the input of a workflow. */
      readonly raw: unknown;
      /** For a file with an array: the spec of its first member. */
      readonly spec: JobSpec;
      /** Only for a file with an array. */
      readonly array?: JobArray;
      /** Warnings for the user. The file is right. */
      readonly warnings: readonly string[];
      /** Keys of the machines' section that the file leaves out and a pool file may give. Empty once its defaults are in. */
      readonly leftToPool: readonly string[];
      /** The job's image, if its file has a section `build`. */
      readonly build?: BuildSpec;
    }
  | { readonly ok: false; /** In file order. */ readonly problems: readonly Problem[] };

export interface ResolveOptions {
  /** The submitter's environment, for `${oc.env:X}`. Absent in a workflow, where such a reference is a problem. */
  readonly env?: Environment;
  /** The defaults of the job's pool: the spec is then complete. Absent: the pool may give values that the file leaves out. */
  readonly pool?: PoolDefaults;
  /** The caller builds images, so `build` needs no digest yet. */
  readonly mayBuild?: true;
  /** The caller starts groups, so the file may have an `array`. */
  readonly mayBeArray?: true;
  /** See `RequestContext`. */
  readonly isZoneStrict?: true;
}

/**
 * Resolves a job file: interpolation, defaults and checks. Pure, without Node's modules: it also runs in a workflow, so a
 * service that starts one with plain JSON gets the same result and the same messages as `jobctl submit`.
 */
export function resolveJob(raw: unknown, options: ResolveOptions = {}): ResolvedJob {
  if (!isMapping(raw)) return { ok: false, problems: [notAMapping(raw)] };
  const tooDeep = deeperThan(raw, MOST_LEVELS);
  if (tooDeep !== undefined) return { ok: false, problems: [tooDeepProblem(raw, tooDeep)] };
  if (hasMoreThan(raw, MOST_VALUES)) return { ok: false, problems: [TOO_MANY] };
  // Checked before any look-up, comparison or replacement in the file.
  const bytes = jsonBytes(raw);
  if (bytes > MOST_INPUT_BYTES) return { ok: false, problems: [tooLargeProblem(bytes)] };
  const withNul = nulProblems(raw);
  if (withNul.length > 0) return { ok: false, problems: withNul };
  if (!isArray(raw)) return resolveOne(raw, options);
  return options.mayBeArray === true ? resolveMembers(raw, options) : { ok: false, problems: [NO_ARRAY_HERE] };
}

const NO_ARRAY_HERE: Problem = {
  path: ['array'],
  message: 'is for a submission: here the file of one job is wanted',
  hint: '`jobctl submit` starts one job for each combination; an edit names the file of one member, without array',
};

function resolveOne(raw: Mapping, options: ResolveOptions): ResolvedJob {
  const environment = substituteEnvironment(raw, options.env);
  const interpolated = interpolate(environment.tree);
  const { form: written, problems, dropped } = checkForm(JOB_FILE, withoutNotes(interpolated.tree));
  const report = new Report(dropped);
  const build = resolveBuild(written.build, report);
  const form = build === undefined ? written : withImage(written, build, POD_SECTIONS, report);
  // A build that names its commit is built in a cluster, whoever the caller is.
  const mayBeUnbuilt = options.mayBuild === true && build?.remote.commit === undefined;
  if (build !== undefined && !mayBeUnbuilt) refuseUnbuilt(build, report);
  const size = resolveSize(form, report);
  const { pool, isZoneStrict = false } = options;
  const found = resolveRequest(form, { ...size, poolName: form.pool ?? DEFAULT_POOL, pool, isZoneStrict }, report);
  const spec = resolveForm(form, { size, found }, report);
  warnOfScripts(form, report);
  if (spec !== undefined) warnOfProvision(spec, report);
  const isOfPods = found !== undefined && reachFacts(machineKind(kindOfJob(found.request)).reach).areContainers;
  if (isOfPods) refuseForPods(form, report);
  else if (build !== undefined && spec !== undefined) refuseUnused(spec, report);
  if (form.job || form.ssh) {
    warnUsersOfJobman(form, valueAt(interpolated.tree, ['keep']) !== undefined, report);
    warnOfBackslashes(environment.tree, report);
  }
  if (given(form.job?.worker_num) !== undefined)
    report.warn(['job', 'worker_num'], "is JobMan's own and does nothing here: slices are named by their job");
  const references = [...environment.problems, ...interpolated.problems];
  // A value whose reference leads nowhere needs no second problem.
  const named = new Set(references.map(({ path }) => formatPath(path)));
  const others = [...problems, ...report.problems].filter(({ path }) => !named.has(formatPath(path)));
  const all = [...references, ...others];
  if (all.length > 0 || spec === undefined) return { ok: false, problems: tidy(all, raw) };
  const warnings = [...environment.warnings, ...report.warnings];
  const leftToPool = found?.leftToPool ?? [];
  return { ok: true, raw: environment.tree, spec, warnings, leftToPool, ...(build && { build }) };
}

/** Drops the file's keys `x-..`: only YAML reads them, for the anchors that they hold, as in compose files. */
const withoutNotes = (tree: unknown): unknown =>
  isMapping(tree) ? Object.fromEntries(Object.entries(tree).filter(([key]) => !key.startsWith('x-'))) : tree;

const JOB_FILE = {
  schema: jobFileSchema(),
  title: 'a job file',
  foreignHint: (path: Path, value: unknown) => targetKeyHint(path, value) ?? foreignKeyHint(path, value),
};

/**
 * Replaces `${tpu.name}` by the job's own name. The name is the same for the whole job, whichever slice runs, because people
 * build checkpoint paths from it.
 * @param job the job's id
 */
export function bindJobName(spec: JobSpec, job: string): JobSpec {
  const name = jobLevelName(askedMachines(spec).name, job);
  return mapStrings(spec, (text) => replaceTpuName(text, name)) as JobSpec;
}

// Arrays -------------------------------------------------------------------------------------------------------------

/** Resolves a file with an array: a sample of its members, each by the rules of an ordinary job file. */
function resolveMembers(raw: Mapping, options: ResolveOptions): ResolvedJob {
  const { env, ...others } = options;
  const environment = substituteEnvironment(raw, env);
  if (!isMapping(environment.tree) || environment.problems.length > 0)
    return { ok: false, problems: tidy(environment.problems, raw) };
  const read = readArray(environment.tree);
  if (!read.ok) return { ok: false, problems: tidy(read.problems, raw) };
  const { array } = read;
  const half = halfReferences(environment.tree);
  if (half.length > 0) return { ok: false, problems: tidy(half, raw) };
  let first: Extract<ResolvedJob, { ok: true }> | undefined;
  const problems = new Map<string, Problem>();
  const [firstIndex] = sampleOf(array);
  for (const index of sampleOf(array)) {
    const member = memberFile(environment.tree, array, index);
    const resolved = member.ok ? resolveOne(member.file, others) : member;
    const found = resolved.ok ? differencesOf(resolved, first) : resolved.problems;
    for (const problem of found) {
      const place = `${formatPath(problem.path)} ${problem.message}`;
      const isOfAll = index === firstIndex && !refersToArray(raw, problem);
      if (!problems.has(place)) problems.set(place, isOfAll ? problem : ofMember(problem, array, index));
    }
    if (resolved.ok) first ??= resolved;
  }
  if (array.isWarm && first !== undefined && !machineKind(kindOfJob(first.spec)).takesPublicKey) {
    const message = 'needs slices that are made for each job: Cloud TPUs, or VMs of Compute Engine';
    problems.set('warm', { path: ['array', 'warm'], value: true, message, hint: 'leave it out' });
  }
  if (problems.size > 0 || first === undefined) return { ok: false, problems: tidy([...problems.values()], raw) };
  return { ...first, raw: environment.tree, warnings: [...environment.warnings, ...first.warnings], array };
}

/** `${array.lr` without its end would reach the shell, which takes it for no text either. */
function halfReferences(tree: Mapping): readonly Problem[] {
  const problems: Problem[] = [];
  mapStrings(tree, (text, path) => {
    const found = halfReference(text, 'array');
    if (found !== undefined)
      problems.push({
        ...{ path, value: found, message: `'${found}' is no whole reference` },
        hint: `write \${array.NAME}; as text of your shell or program it is \$${found}`,
      });
    return text;
  });
  return problems;
}

/** Problems of values that all members must share, since they are submitted, signed or built once. */
function differencesOf(
  { spec, build }: Extract<ResolvedJob, { ok: true }>,
  first: Extract<ResolvedJob, { ok: true }> | undefined,
): readonly Problem[] {
  if (first === undefined) return [];
  const different = (key: string, isSame: boolean, hint: string): Problem[] =>
    isSame ? [] : [{ path: [key], message: 'differs from member to member', hint }];
  const isSame = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other);
  const fixed = 'all members have the same; write a fixed text';
  return [
    ...different('pool', spec.pool === first.spec.pool, fixed),
    ...different('project', spec.project === first.spec.project, fixed),
    ...different('user', spec.user === first.spec.user, fixed),
    ...different(
      'files',
      isSame(localFilesOf(spec), localFilesOf(first.spec)),
      'name a folder that holds the files of all',
    ),
    ...different('build', isSame(build, first.build), 'one image is built for all; submit an array for each image'),
  ];
}

const refersToArray = (raw: unknown, { path }: Problem): boolean =>
  (JSON.stringify(valueAt(raw, path)) ?? '').includes('${array.');

// Bounds -------------------------------------------------------------------------------------------------------------

/** Most values of a job file: more than any has. A workflow task has 5 s to find all problems in them. */
const MOST_VALUES = 5_000;
const TOO_MANY: Problem = {
  path: [],
  message: `the job file has more than ${MOST_VALUES} values`,
  hint: 'put long lists into a file of the job (files:, bundle:)',
};

/** Texts of a job file reach shells, variables and file names, of which none can hold a NUL. */
function nulProblems(raw: unknown, path: Path = []): readonly Problem[] {
  if (typeof raw === 'string') return raw.includes('\0') ? [nulProblem(path, raw, 'value')] : [];
  if (Array.isArray(raw)) return raw.flatMap((value, index) => nulProblems(value, [...path, index]));
  if (!isMapping(raw)) return [];
  return Object.entries(raw).flatMap(([key, value]) => [
    ...(key.includes('\0') ? [nulProblem([...path, key], value, 'key')] : []),
    ...nulProblems(value, [...path, key]),
  ]);
}

const nulProblem = (path: Path, value: unknown, at: 'key' | 'value'): Problem => ({
  ...{ path, value, at },
  message: at === 'key' ? 'this key holds a NUL character' : `${showValue(value)} holds a NUL character`,
  hint: String.raw`no command, variable or file name can; remove the \0, or put binary data into a file of the job (files:, bundle:)`,
});

const tooLargeProblem = (bytes: number): Problem => ({
  path: ['input'],
  message: `the job is ${bytes} bytes of JSON, and ${MOST_INPUT_BYTES} are the most`,
  hint: TOO_LARGE_HINT,
});

/** The problem names the first three keys of the path: all 31 would say no more. */
function tooDeepProblem(raw: unknown, path: Path): Problem {
  const shown = formatPath(path.slice(0, 3));
  const message = `sections and lists below ${shown} lie more than ${MOST_LEVELS} levels deep in one another`;
  return { path, value: valueAt(raw, path), message, hint: `${MOST_LEVELS} levels are the most` };
}

function notAMapping(raw: unknown): Problem {
  const message = raw === null || raw === undefined ? 'the job file is empty' : `${showValue(raw)} is not a job file`;
  return {
    path: [],
    value: raw,
    message,
    hint: `a job file is lines of key: value; the least is ${MACHINES}, and command:`,
  };
}

const MACHINES = REQUEST_SECTIONS.map(({ name }) => `${name}:`).join(' or ');
