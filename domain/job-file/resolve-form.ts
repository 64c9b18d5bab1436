import { resolveAfter } from '../after.js';
import { resolveInputs, withInputs } from '../inputs.js';
import { resolveHooks } from '../hooks.js';
import { isValidJobName, JOB_NAME_RULE, jobNameFrom, QUOTA_NAME, QUOTA_NAME_RULE } from '../identity.js';
import type { JobSpec, Priority } from '../job-spec.js';
import type { ResolvedRequest } from '../machine-kinds/kind.js';
import type { MachineRequest } from '../machine-kinds/registry.js';
import { resolveCommand } from '../modules/command.js';
import { resolveSetUp } from '../modules/set-up.js';
import { connectingKeyOf } from '../modules/ssh.js';
import { environmentOf, ALL_MODULES } from '../modules/registry.js';
import { resolveOutputs } from '../outputs.js';
import { utf8Bytes } from '../bounds.js';
import type { Path } from '../problem.js';
import { given, secondsOf, textValues } from './fields.js';
import { resolveLifetime } from './lifetime.js';
import { resolveNotify } from './notify.js';
import type { Report } from './report.js';
import type { JobFile } from './sections.js';
import { SECRET_NAME, SECRET_NAME_RULE, secretNamed } from '../secrets.js';
import { warnOfSecret } from './secret-looks.js';
import { resolveWorkspace, WORKSPACE_TASK_RETRIES } from './workspace-section.js';

/** Retry budgets of a file that names none. */
export const DEFAULT_RETRIES: JobSpec['retries'] = { preemption: 20, infrastructure: 5, task: 0, requested: 20 };
/** Seconds between SIGTERM and SIGKILL if the file has no `grace`. */
export const DEFAULT_GRACE_SECONDS = 30;
/** Longest grace: a command that ignores SIGTERM holds its slices for it. */
const MOST_GRACE_SECONDS = 24 * 3600;
/** Priority of a job that names none: the middle, so that a job can also be less important than others (docs/adr/0057). */
export const DEFAULT_PRIORITY = 3;
export const DEFAULT_POOL = 'default';

/** The spec of a job, from the sections of its file and the machines that were found for it. Undefined: there are none. */
export function resolveForm(
  form: JobFile,
  { size, found }: { readonly size: JobSize; readonly found: ResolvedRequest<MachineRequest> | undefined },
  report: Report,
): JobSpec | undefined {
  const name = resolveName(form, report);
  const setUp = resolveSetUp(form, report);
  const ssh = connectingKeyOf(form.ssh);
  const watched = resolveWorkspace(form, report);
  const command = watched?.command ?? resolveCommand(form.command, setUp.modules, found?.slice, report);
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
  const inputs = resolveInputs(form.inputs, report);
  if (inputs !== undefined && command === undefined && !report.wasDropped(['command']))
    report.problem(
      ['inputs'],
      undefined,
      'is for a command, and this job has none',
      'give it a command, or leave it out',
    );
  const after = withInputs(resolveAfter(form.after, report), inputs, report);
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
    ...(watched === undefined ? {} : { workspace: watched.workspace }),
    graceSeconds,
    retries: {
      preemption: form.retries?.preemption ?? DEFAULT_RETRIES.preemption,
      infrastructure: form.retries?.infrastructure ?? DEFAULT_RETRIES.infrastructure,
      task: form.retries?.task ?? (watched === undefined ? DEFAULT_RETRIES.task : WORKSPACE_TASK_RETRIES),
      requested: form.retries?.requested ?? DEFAULT_RETRIES.requested,
    },
    ...lifetime,
    ...(given(form.max_cost) === undefined ? {} : { maxCost: form.max_cost as number }),
    ...(hooks === undefined ? {} : { hooks }),
    ...(outputs === undefined ? {} : { outputs }),
    ...(notify.length === 0 ? {} : { notify }),
    ...(after === undefined ? {} : { after }),
    ...(inputs === undefined ? {} : { inputs }),
  };
}

type JobSize = Pick<JobSpec, 'slices' | 'atomic'>;

export function resolveSize(form: JobFile, report: Report): JobSize {
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

// Variables ----------------------------------------------------------------------------------------------------------

/** Variables of the command by value, from the section `env`. */
function resolveEnv({ env }: JobFile, report: Report): Record<string, string> {
  for (const [name, value] of Object.entries(env ?? {})) checkVariableName(['env', name], name, report, value);
  const values = textValues(env);
  for (const [name, value] of Object.entries(values)) {
    warnOfSecret(['env', name], name, value, report);
    checkLength(name, value, report);
  }
  return values;
}

/** Linux starts no program with a longer `NAME=value` (MAX_ARG_STRLEN, 32 pages with the closing NUL). */
const MOST_VARIABLE_BYTES = 131_071;

function checkLength(name: string, value: string, report: Report): void {
  const bytes = utf8Bytes(`${name}=${value}`);
  if (bytes <= MOST_VARIABLE_BYTES) return;
  const message = `is ${bytes} bytes with its name, and Linux starts no program with a variable of more than ${MOST_VARIABLE_BYTES}`;
  report.problem(['env', name], value, message, TOO_LONG_HINT);
}

const TOO_LONG_HINT = 'put it into a file of the job (files:, bundle:), and its path into the variable';

/**
 * Variables of the command by the name of a secret: `secrets: {WANDB_API_KEY: wandb}`. The job holds only names. A worker reads
 * the values from the installation's secret store when it starts the command.
 */
function resolveSecrets({ secrets, env }: JobFile, report: Report): JobSpec['secrets'] {
  const named = Object.entries(secrets ?? {}).map(([variable, reference]) => {
    const path = ['secrets', variable];
    checkVariableName(path, variable, report, reference);
    if (Object.hasOwn(env ?? {}, variable))
      report.problem(path, reference, 'is in env too', 'keep one of the two; a value in env is kept with the job');
    return [variable, checkSecretName(path, String(reference), report)] as const;
  });
  return named.length === 0 ? undefined : Object.fromEntries(named);
}

/** Accepts a plain name, or `secret:NAME` as elsewhere in a job file. @returns the plain name */
function checkSecretName(path: Path, reference: string, report: Report): string {
  const name = secretNamed(reference) ?? reference;
  // The problem does not repeat the value, because a user may have written the secret itself.
  if (!SECRET_NAME.test(name))
    report.problem(
      path,
      undefined,
      'is no name of a secret',
      `${SECRET_NAME_RULE}\njobctl secret put NAME keeps a value`,
    );
  return name;
}

/** Variables that jobctl sets itself on every host. Those of an array are in its members' files, which may also run alone. */
const OWN_VARIABLE = /^(JOBCTL_(?!ARRAY_)|MEGASCALE_)/;

function checkVariableName(path: Path, name: string, report: Report, value: unknown): void {
  if (!/^[A-Za-z_]\w*$/.test(name))
    report.wrong(path, name, 'no name of a variable', 'letters, digits and _; no digit first');
  else if (OWN_VARIABLE.test(name)) report.problem(path, value, 'is set by jobctl', 'take another name');
}

// Pods ---------------------------------------------------------------------------------------------------------------

/** Refuses the parts of a job file that pods cannot provide: some modules, and a login user. */
export function refuseForPods(form: JobFile, report: Report): void {
  const named = form.setup?.modules ?? [];
  for (const { name, notInPods } of ALL_MODULES) {
    if (notInPods === undefined) continue;
    const { message, hint } = notInPods;
    const section = given((form as Readonly<Record<string, unknown>>)[name]);
    if (section !== undefined) report.problem([name], section, `the module ${message}`, hint);
    else if (named.includes(name)) {
      report.problem(['setup', 'modules', named.indexOf(name)], name, `the module ${message}`, hint);
    }
  }
  refuseSecondRay(form, report);
  const user = given(form.job?.remote_user);
  if (user === undefined) return;
  const hint = 'leave it out: commands run as the user of the image, or of a security context of its own';
  report.problem(['job', 'remote_user'], user, 'is for VMs: nobody logs in to a pod', hint);
}

/** Refuses the module ray beside ray_cluster: KubeRay starts Ray, and the module would start another. */
function refuseSecondRay(form: JobFile, report: Report): void {
  const module = given(form.ray);
  if (given(form.ray_cluster) === undefined || module === undefined) return;
  const hint = 'leave ray out: RAY_ADDRESS is set for the command';
  report.problem(['ray'], module, 'the hosts of ray_cluster run Ray already', hint);
}
