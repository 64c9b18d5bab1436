import type { RunContainer } from '../../domain/modules/module.js';
import { shellPath, shellQuote, shellWords } from '../../domain/shell-quote.js';
import type {
  AcceleratorCheck,
  HostTarget,
  HostUpload,
  RunInputs,
  RunOutputs,
  RunRequest,
  SignOfLife,
  WatchedUse,
} from './port.js';
import { CONTAINER_ENTRY } from './runner/index.js';
import { WrongInput } from '../../domain/errors.js';

/** One call of the on-host runner: words that every user of the host may read, and private data on stdin. */
export interface StartCall {
  readonly words: readonly string[];
  readonly stdin: Buffer;
}

/**
 * The call that makes the runner start a command: plan, environment and script, all on stdin with their sizes before them.
 * @throws WrongInput for an invalid name of an environment variable, or for a value that no process can get
 */
export function startCall(request: RunRequest, target: Pick<HostTarget, 'slice' | 'index'>): StartCall {
  const { runId, epoch, container, script } = request;
  const job = jobOfRun(runId);
  const env = container ? { ...request.env, ...container.env } : request.env;
  const inFile = container ? Object.entries(env).filter(([name, value]) => fitsEnvFile(name, value)) : [];
  const listed = new Set(inFile.map(([name]) => name));
  const others = Object.fromEntries(Object.entries(env).filter(([name]) => !listed.has(name)));
  const parts = [
    planOf(
      request,
      container &&
        containerPlan(container, {
          name: containerName(runId, target),
          runId,
          job,
          unlisted: Object.keys(others),
          hasOutputs: request.outputs !== undefined,
          inputs: request.inputs,
          gpus: (request.accelerator?.gpus ?? []).filter((gpu) => typeof gpu === 'string'),
        }),
    ),
    `${exportLines(others)}${container ? '' : inputLines(request.inputs)}`,
    container ? envFile([...inFile, ['JOBCTL_RUN_ID', runId]]) : '',
    script,
    request.preemptionHook?.script ?? '',
  ].map((text) => Buffer.from(text));
  const sizes = parts.map(({ length }) => String(length));
  return { words: ['start', runId, job, String(epoch), ...sizes], stdin: Buffer.concat(parts) };
}

/** Named by job, attempt and host. Docker allows letters, digits, `_`, `.` and `-`; the runner demands the same of a run id. */
export function containerName(runId: string, { slice, index }: Pick<HostTarget, 'slice' | 'index'>): string {
  return `jobctl-${runId}-h${slice}-${index}`;
}

const DEVICE_WAIT_MS = 60_000;
const NO_DEVICES: AcceleratorCheck = { devices: [], lockFiles: [] };

/** Returns `<job>` of `<job>-a<attempt>`: all attempts of a job share its epochs. */
function jobOfRun(runId: string): string {
  return runId.replace(/-a\d+$/, '');
}

function planOf(request: RunRequest, container: string | undefined): string {
  const { accelerator = NO_DEVICES, sign, exitRecord, outputs, preemptionHook } = request;
  const { maxUnattendedMs = 0, limitMs = 0, graceMs = 0, waitFor = 'shell', workspace } = request;
  const { devices, lockFiles, waitMs = DEVICE_WAIT_MS, gpus = [], claimed = [] } = accelerator;
  const settings = [
    `devices=${shellQuote(devices.join(' '))}`,
    `lock_files=${shellQuote(lockFiles.join(' '))}`,
    `own_gpus=${shellQuote(gpus.join(' '))}`,
    `claimed_gpus=${shellQuote(claimed.join(' '))}`,
    `device_wait_ms=${Math.ceil(waitMs)}`,
    ...(sign === undefined ? [] : signSettings(sign)),
    ...(exitRecord === undefined
      ? []
      : [...uploadSettings('exit', exitRecord), `exit_proof=${shellQuote(exitRecord.proof ?? '')}`]),
    ...(outputs === undefined ? [] : outputsSettings(outputs)),
    `hook_ms=${Math.ceil(preemptionHook?.timeoutMs ?? 0)}`,
    `unattended_ms=${Math.ceil(maxUnattendedMs)}`,
    `limit_ms=${Math.ceil(limitMs)}`,
    `grace_ms=${Math.ceil(graceMs)}`,
    `wait_for=${waitFor}`,
    ...(workspace === undefined ? [] : useSettings(workspace)),
  ];
  return `${[...settings, container ?? 'container='].join('\n')}\n`;
}

const useSettings = ({ idleMs = 0, limitMs = 0, isWhole }: WatchedUse): string[] => [
  `use_idle_ms=${Math.ceil(idleMs)}`,
  `use_limit_ms=${Math.ceil(limitMs)}`,
  `use_whole=${isWhole ? 'yes' : 'no'}`,
];

/** The first sign comes after a twelfth of the period: 10 s. */
function signSettings({ everyMs, ...upload }: SignOfLife): string[] {
  return [...uploadSettings('sign', upload), `sign_every=${everyMs / 1000}`, `sign_after=${everyMs / 12_000}`];
}

function uploadSettings(what: 'sign' | 'exit', { url, as }: HostUpload): string[] {
  return [`${what}_url=${urlWord(what, url)}`, `${what}_as=${as}`];
}

function urlWord(what: string, url: string): string {
  if (/[\s"\\]/.test(url))
    throw new RangeError(`URL that a host writes to (${what}): it has a space, a quote or a backslash; encode them`);
  return shellQuote(url);
}

function outputsSettings({
  contentUrl,
  manifestUrl,
  as,
  place,
  everyMs,
  folder,
  base,
  patterns,
  isWholeOnly,
  host,
}: RunOutputs): string[] {
  return [
    `outputs_object=${urlWord('outputs', contentUrl)}`,
    `outputs_manifest=${urlWord('outputs', manifestUrl)}`,
    `outputs_as=${as}`,
    `outputs_place=${shellQuote(place)}`,
    `outputs_every=${everyMs / 1000}`,
    `outputs_dir=${shellPath(folder)}`,
    `outputs_base=${shellPath(base)}`,
    `outputs_patterns=${shellQuote(patterns.join('\n'))}`,
    `outputs_whole=${isWholeOnly ? 'yes' : 'no'}`,
    `outputs_host=${host}`,
  ];
}

interface ContainerOfRun {
  readonly name: string;
  readonly runId: string;
  readonly job: string;
  /** Variables that the container's environment file cannot hold. */
  readonly unlisted: readonly string[];
  readonly hasOutputs: boolean;
  readonly inputs: RunInputs | undefined;
  /** UUIDs of the only GPUs that it may have. Empty: those that its flags say. */
  readonly gpus: readonly string[];
}

/** jobctl's options come last: if an option is given twice, docker takes the last. */
function containerPlan(
  { image, flags, mounts, workdir }: RunContainer,
  { name, runId, job, unlisted, hasOutputs, inputs, gpus }: ContainerOfRun,
): string {
  const words = [
    ...flags.map(ofGpus(gpus)).flatMap(keptFlag).map(shellQuote),
    ...mounts.flatMap((mount) => ['-v', mountWord(mount)]),
    ...(workdir === undefined ? [] : ['-w', shellPath(workdir)]),
    ...unlisted.flatMap((variable) => ['-e', variable]),
    shellWords(['--name', name, '--label', `jobctl.job=${job}`, '--label', `jobctl.run=${runId}`]),
    '--label "jobctl.home=$base" --rm=false --restart=no',
    '-v "$run:$run:ro" -v "$run/output:$run/output" -v "$run/left:$run/left" -v "$run/metrics:$run/metrics"',
    ...(hasOutputs ? ['-v "$outputs_dir:$outputs_dir" -e "JOBCTL_OUTPUT_DIR=$outputs_dir"'] : []),
    ...(inputs === undefined ? [] : inputWords(inputs)),
    '-e "JOBCTL_RUN_DIR=$run" -e "JOBCTL_NOTICE_FILE=$run/notice" -e "JOBCTL_WARNING_FILE=$run/warning" -e "JOBCTL_METRICS_FILE=$run/metrics"',
    shellWords([image, 'bash', '-c', CONTAINER_ENTRY, 'jobctl']),
    '"$run" "$wait_for" "$grace_ms"',
  ];
  return `container=${shellQuote(name)}\nwith_container() { "$@" ${words.join(' ')}; }`;
}

function inputWords({ folder, variables }: RunInputs): string[] {
  const values = Object.entries(variables).map(([name, path]) => `-e ${variableName(name)}=${shellPath(path)}`);
  return [`-v ${shellPath(folder)}:${shellPath(folder)}:ro`, ...values];
}

/** Read by the shell of the command, which knows its home. */
const inputLines = (inputs: RunInputs | undefined): string =>
  Object.entries(inputs?.variables ?? {})
    .map(([name, path]) => `export ${variableName(name)}=${shellPath(path)}\n`)
    .join('');

/**
 * Replaces what `--gpus` asks for by these GPUs, in place, since docker adds up what several of them ask for. The value is a
 * line of CSV, so the list of devices is in quotes of its own.
 */
function ofGpus(uuids: readonly string[]): (flag: string, index: number, flags: readonly string[]) => string {
  const value = `"device=${uuids.join(',')}"`;
  return (flag, index, flags) => {
    if (uuids.length === 0) return flag;
    if (flags[index - 1] === '--gpus') return value;
    return flag.startsWith('--gpus=') ? `--gpus=${value}` : flag;
  };
}

/** Drops flags for a terminal, and -d, which `docker create` does not know; also several in one word. There is no terminal. */
function keptFlag(flag: string): string[] {
  if (/^(--detach|--tty|--interactive)(=.*)?$/.test(flag)) return [];
  return /^-[dit]+$/.test(flag) ? [] : [flag];
}

function mountWord(mount: string): string {
  const [source = '', ...rest] = mount.split(':');
  return [source, ...(rest.length === 0 ? [source] : rest)].map(hostPath).join(':');
}

/** Only `~` means a path of the login user's home here; options and volume names stay unchanged. */
function hostPath(part: string): string {
  return /^~(\/|$)/.test(part) ? shellPath(part) : shellQuote(part);
}

/** Docker reads such a file line by line, cannot express a newline, and fails on lines of 64 KiB. */
function fitsEnvFile(name: string, value: string): boolean {
  return !/[\r\n]/.test(value) && name.length + value.length < 20_000;
}

function envFile(entries: readonly (readonly [string, string])[]): string {
  return entries.map(([name, value]) => `${variableName(name)}=${value}\n`).join('');
}

function exportLines(env: Readonly<Record<string, string>>): string {
  return Object.entries(env)
    .map(([name, value]) => `export ${variableName(name)}=${shellQuote(value)}\n`)
    .join('');
}

function variableName(name: string): string {
  if (/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) return name;
  throw new WrongInput(`env: '${name}' is no name of an environment variable; use letters, digits and '_'`);
}
