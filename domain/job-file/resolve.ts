import { resolveAfter } from '../after.js';
import { isArray } from '../array/array.js';
import { resolveMembers } from '../array/resolve-members.js';
import { refuseUnbuilt, refuseUnused, resolveBuild, withImage } from '../build/build.js';
import { resolveHooks } from '../hooks.js';
import { isValidJobName, JOB_NAME_RULE, jobLevelName, jobNameFrom, QUOTA_NAME, QUOTA_NAME_RULE } from '../identity.js';
import type { JobSpec, Priority } from '../job-spec.js';
import type { ResolvedRequest } from '../machine-kinds/kind.js';
import type { MachineRequest } from '../machine-kinds/registry.js';
import { askedMachines, kindOfJob, machineKind } from '../machines.js';
import { resolveCommand } from '../modules/command.js';
import { resolveSetUp } from '../modules/set-up.js';
import { connectingKeyOf } from '../modules/ssh.js';
import { environmentOf } from '../modules/registry.js';
import { resolveOutputs } from '../outputs.js';
import { jsonBytes, MOST_INPUT_BYTES, TOO_LARGE_HINT } from '../bounds.js';
import { formatPath, showValue } from '../problem.js';
import type { Path, Problem } from '../problem.js';
import { reachFacts } from '../slice.js';
import { durationText } from '../units.js';
import { MOST_LEVELS } from './yaml-words.js';
import { given, secondsOf } from './fields.js';
import { foreignKeyHint } from './foreign/keys.js';
import {
  backslashStays,
  interpolate,
  replaceBackslashed,
  replaceTpuName,
  substituteEnvironment,
} from './interpolation.js';
import { resolveLifetime } from './lifetime.js';
import { resolveNotify, targetKeyHint } from './notify.js';
import { POD_SECTIONS, REQUEST_SECTIONS, resolveRequest } from './machine-request.js';
import { deeperThan, hasMoreThan, isMapping, type Mapping, mapStrings, valueAt } from './plain-tree.js';
import { refuseForPods } from './pods.js';
import type { ResolvedJob, ResolveOptions } from './resolved-job.js';
import { Report, checkForm, tidy } from './report.js';
import { warnOfScripts } from './scripts.js';
import { jobFileSchema } from './sections.js';
import type { JobFile } from './sections.js';
import { resolveEnv, resolveSecrets } from './variables.js';

export type { ResolvedJob, ResolveOptions } from './resolved-job.js';

/** Retry budgets of a file that names none. */
export const DEFAULT_RETRIES: JobSpec['retries'] = { preemption: 20, infrastructure: 5, task: 0, requested: 20 };
/** Seconds between SIGTERM and SIGKILL if the file has no `grace`. */
export const DEFAULT_GRACE_SECONDS = 30;
/** A command that ignores SIGTERM holds its slices for so long. */
const MOST_GRACE_SECONDS = 24 * 3600;
/** The middle, so that a job can also be less important than others (docs/adr/0057). */
export const DEFAULT_PRIORITY = 3;
export const DEFAULT_POOL = 'default';

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
  return options.mayBeArray === true
    ? resolveMembers(raw, options, resolveOne)
    : { ok: false, problems: [NO_ARRAY_HERE] };
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

/**
 * Warns of a `timeouts.provision` that has no effect because the job has one zone, or with which a zone has no turn before
 * `timeouts.queue` ends the wait. Without `hedge` there is no warning: that provider is asked again in the same zone.
 */
function warnOfProvision(spec: JobSpec, report: Report): void {
  const { zones, hedge } = askedMachines(spec);
  const { provision, queue = Infinity } = spec.timeouts ?? {};
  const last = zones.at(-1);
  if (provision === undefined || hedge === undefined || last === undefined) return;
  const warn = (message: string): void => report.warn(['timeouts', 'provision'], message);
  if (zones.length === 1)
    warn(
      `has no effect: after it the next zone is asked too, and the job has one, ${last}; name more in tpu.zones, or leave it out (timeouts.queue ends the whole wait)`,
    );
  else if (Math.ceil(queue / provision) < zones.length)
    warn(
      `${durationText(provision)} for each zone leaves ${last} without a turn: timeouts.queue ends all waiting after ${durationText(queue)}; leave timeouts.provision out, or give it ${durationText(Math.floor(queue / zones.length))} at most`,
    );
}

/** Drops the file's keys `x-..`: only YAML reads them, for the anchors that they hold, as in compose files. */
const withoutNotes = (tree: unknown): unknown =>
  isMapping(tree) ? Object.fromEntries(Object.entries(tree).filter(([key]) => !key.startsWith('x-'))) : tree;

const JOB_FILE = {
  schema: jobFileSchema(),
  title: 'a job file',
  foreignHint: (path: Path, value: unknown) => targetKeyHint(path, value) ?? foreignKeyHint(path, value),
};

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

function resolveForm(
  form: JobFile,
  { size, found }: { readonly size: JobSize; readonly found: ResolvedRequest<MachineRequest> | undefined },
  report: Report,
): JobSpec | undefined {
  const name = resolveName(form, report);
  const setUp = resolveSetUp(form, report);
  const ssh = connectingKeyOf(form.ssh);
  const command = resolveCommand(form.command, setUp.modules, found?.slice, report);
  const remoteUser = resolveRemoteUser(form, report);
  const identity = resolveIdentity(form, report);
  const env = resolveEnv(form, report);
  const secrets = resolveSecrets(form, report);
  const lifetime = resolveLifetime(form, report);
  const graceSeconds = secondsOf(form.grace ?? DEFAULT_GRACE_SECONDS);
  if (graceSeconds > MOST_GRACE_SECONDS) report.wrong(['grace'], form.grace, 'out of range', 'from 0s to 24h');
  const hooks = resolveHooks(form.hooks, { hasCommand: command !== undefined, graceSeconds }, report);
  const isInImage = environmentOf(setUp)?.kind === 'container' && setUp.bundle === undefined;
  const outputs = resolveOutputs(form.outputs, { hasCommand: command !== undefined, isInImage }, report);
  const notify = resolveNotify(form.notify, report);
  const after = resolveAfter(form.after, report);
  if (found === undefined) return undefined;
  return {
    name: name ?? jobNameFrom(found.slice.type),
    ...identity,
    priority: asPriority(form.priority),
    ...size,
    env,
    ...(secrets === undefined ? {} : { secrets }),
    ...found.request,
    ...(found.namedPricing === undefined ? {} : { namedPricing: found.namedPricing }),
    ...setUp,
    ...(remoteUser === undefined ? {} : { remoteUser }),
    ...(ssh === undefined ? {} : { ssh }),
    ...(command === undefined ? {} : { command }),
    graceSeconds,
    retries: {
      preemption: form.retries?.preemption ?? DEFAULT_RETRIES.preemption,
      infrastructure: form.retries?.infrastructure ?? DEFAULT_RETRIES.infrastructure,
      task: form.retries?.task ?? DEFAULT_RETRIES.task,
      requested: form.retries?.requested ?? DEFAULT_RETRIES.requested,
    },
    ...lifetime,
    ...(hooks === undefined ? {} : { hooks }),
    ...(outputs === undefined ? {} : { outputs }),
    ...(notify.length === 0 ? {} : { notify }),
    ...(after === undefined ? {} : { after }),
  };
}

type JobSize = Pick<JobSpec, 'slices' | 'atomic'>;

function resolveSize(form: JobFile, report: Report): JobSize {
  const slices = form.slices ?? 1;
  if (!form.atomic) return { slices };
  if (slices === 1 && !report.wasDropped(['slices']))
    report.problem(
      ['atomic'],
      true,
      'is for jobs of several slices, and this job has one',
      'write slices: 2 or more, or leave atomic out: one slice is granted whole anyway',
    );
  return { slices, atomic: true };
}

function asPriority(priority: number | null | undefined): Priority {
  return ([1, 2, 3, 4, 5] as const).find((known) => known === priority) ?? DEFAULT_PRIORITY;
}

/** `name` is ours and strict. `job.name` is JobMan's and may hold anything, so it is made to fit. */
function resolveName(form: JobFile, report: Report): string | undefined {
  if (form.name && !isValidJobName(form.name)) {
    report.wrong(['name'], form.name, `not ${JOB_NAME_RULE}`, `such as ${jobNameFrom(form.name)}`);
  }
  return form.name ?? (form.job?.name ? jobNameFrom(form.job.name) : undefined);
}

/** Names that useradd of Debian and Ubuntu accepts. gcloud's names need the dot: `first.last`. */
const LOGIN = /^[a-z_][a-z0-9_.-]{0,31}$/;

function resolveRemoteUser(form: JobFile, report: Report): string | undefined {
  const user = given(form.job?.remote_user);
  if (user !== undefined && !LOGIN.test(user)) {
    report.wrong(['job', 'remote_user'], user, 'no Linux user name', 'small letters, digits and - _ .; 32 at most');
  }
  return user;
}

function resolveIdentity(form: JobFile, report: Report): Pick<JobSpec, 'project' | 'pool' | 'user'> {
  const keys = ['project', 'pool', 'user'] as const;
  for (const key of keys) {
    const value = form[key];
    if (value && !QUOTA_NAME.test(value)) report.wrong([key], value, `no ${key}`, QUOTA_NAME_RULE);
  }
  return {
    ...(form.project ? { project: form.project } : {}),
    pool: form.pool ?? DEFAULT_POOL,
    ...(form.user ? { user: form.user } : {}),
  };
}

/**
 * Warns of differences from JobMan, which kept the slice until `delete`, and took a running VM of the file's name. JobMan's job
 * files have a section `job` or `ssh`.
 */
function warnUsersOfJobman(form: JobFile, saysKeep: boolean, report: Report): void {
  if (valueAt(form, ['tpu', 'name']) !== undefined)
    report.warn(
      ['tpu', 'name'],
      'is the beginning of the names of new slices: a TPU VM of this name that runs already is left alone, where JobMan took it',
    );
  if (saysKeep) return;
  report.warnings.push(
    'the slice is deleted when the command ends (JobMan kept it), and its logs stay; write keep: always to keep the slice, which is billed until `jobctl delete`, or keep: never to hide this line',
  );
}

/** Warns of each text in which JobMan took a backslash away. */
function warnOfBackslashes(tree: unknown, report: Report): void {
  mapStrings(tree, (text, path) => {
    const found = new Map<string, string>();
    replaceBackslashed(text, (written, literal) => {
      found.set(written, literal);
      return written;
    });
    for (const [written, literal] of found) report.warn(path, backslashStays(written, literal));
    return text;
  });
}

/**
 * Replaces `${tpu.name}` by the job's own name. The name is the same for the whole job, whichever slice runs, because people
 * build checkpoint paths from it.
 * @param job the job's id
 */
export function bindJobName(spec: JobSpec, job: string): JobSpec {
  const name = jobLevelName(askedMachines(spec).name, job);
  return mapStrings(spec, (text) => replaceTpuName(text, name)) as JobSpec;
}
