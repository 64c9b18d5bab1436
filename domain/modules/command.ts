import { z } from 'zod';
import { smallest } from '../extremes.js';
import type { SliceType } from '../machine-kinds/kind.js';
import { oneOf, section, text, wholeNumber, hostIndexes } from '../job-file/fields.js';
import type { Report } from '../job-file/report.js';
import { BUNDLE_PLACE, BUNDLE_PLACE_IN_CONTAINER, enterBundle } from './bundle.js';
import type { RunContainer } from './module.js';
import { PIPEFAIL } from './host-scripts.js';
import type { RaySpec } from './ray.js';
import { ENTER_RAY, rayScript } from './ray-run.js';
import { environmentOf, type ModuleSpecs } from './registry.js';
import type { WorkspaceSpec } from '../workspace.js';

export interface CommandSpec {
  /** Text for `bash -lc`. Dotted references are replaced, every other `$..` is the shell's. */
  readonly run: string;
  readonly hosts: 'all' | readonly number[];
  /** Exit codes by which the command asks to be restarted, 1 to 255. Absent: none. */
  readonly restartOn?: readonly number[];
  /** The hosts whose success ends the command: the first host, or any one. Absent: all must succeed. */
  readonly success?: Exclude<Success, 'all'>;
  /** The command ends with code 0 only once everything that it started has ended (docs/adr/0122). Absent: with its shell. */
  readonly waitFor?: 'all';
  /** Bash without pipefail. Absent: a pipe fails if any of its programs does (docs/adr/0123). */
  readonly shell?: 'plain';
}

/** The operators of JobSet's successPolicy, and `first` for a program whose first host leads the others. */
const SUCCESS = ['all', 'first', 'any'] as const;
type Success = (typeof SUCCESS)[number];

const WAIT_FOR = ['shell', 'all'] as const;
const SHELLS = ['bash', 'plain'] as const;

/** The host whose success the job waits for, or undefined if it waits for all. Hosts are numbered as in the job's logs. */
export function awaitedHost({ hosts, success }: Pick<CommandSpec, 'hosts' | 'success'>): string | undefined {
  switch (success) {
    case undefined:
      return undefined;
    case 'first':
      return `host ${hosts === 'all' ? 0 : smallest(hosts)} alone`;
    case 'any':
      return 'any one of them';
  }
}

export const commandForm = () =>
  section({
    run: text().nullish().describe('Runs under bash -lc on the chosen hosts; ${section.key} is replaced.'),
    cmd: text().nullish().describe('The same as run.'),
    workers: hostIndexes().nullish().describe('2 is the one host with index 2; a list; all (default).'),
    restart_on: z
      .union([exitCode(), z.array(exitCode())], { error: 'an exit code from 1 to 255, or a list of such' })
      .nullish()
      .describe('Exit codes that mean "start me again"; retries.requested says how often.'),
    success: oneOf(SUCCESS)
      .nullish()
      .describe(
        'Whose exit code 0 is the success: of all hosts, of the first alone, or of any one; the others are told to end.',
      ),
    shell: oneOf(SHELLS)
      .nullish()
      .describe('bash: with set -o pipefail (default); plain: without, as JobMan runs it (default for its key cmd).'),
    wait_for: oneOf(WAIT_FOR)
      .nullish()
      .describe(
        'What has to have ended for success: the shell of the command (default; what it left running is ended and named), or all that it has started.',
      ),
  });

const exitCode = () => wholeNumber(1, 255);

type CommandSection = z.infer<ReturnType<typeof commandForm>>;

/** @returns undefined if the job has no command that runs */
export function resolveCommand(
  section: CommandSection | null | undefined,
  modules: readonly string[],
  slice: SliceType | undefined,
  report: Report,
): CommandSpec | undefined {
  if (section === null || section === undefined) return undefined;
  if (section.run && section.cmd)
    report.problem(['command', 'cmd'], section.cmd, 'run and cmd are both given', 'keep run');
  const run = section.run ?? section.cmd;
  if (!run && !report.wasDropped(['command', 'run']) && !report.wasDropped(['command', 'cmd'])) {
    report.missing(['command', 'run'], 'such as run: python3 train.py');
  }
  const isPlain = (section.shell ?? (section.run ? 'bash' : 'plain')) === 'plain';
  const hosts = resolveHosts(section.workers ?? 'all', slice, report);
  if (modules.includes('ray') && section.workers !== null && section.workers !== undefined) {
    const hint = 'leave it out: Ray is on all hosts, and its tasks run where it puts them';
    report.problem(['command', 'workers'], section.workers, 'is not for Ray: the command runs on the first host', hint);
  }
  if (modules.includes('ray') && section.success)
    report.problem(
      ['command', 'success'],
      section.success,
      'is not for Ray: its command runs on the first host',
      'leave it out',
    );
  const restartOn = [section.restart_on ?? []].flat();
  return run && modules.includes('command')
    ? {
        run,
        hosts,
        ...(restartOn.length === 0 ? {} : { restartOn: [...new Set(restartOn)] }),
        ...(section.success && section.success !== 'all' ? { success: section.success } : {}),
        ...(isPlain ? { shell: 'plain' as const } : {}),
        ...(section.wait_for === 'all' ? { waitFor: section.wait_for } : {}),
      }
    : undefined;
}

function resolveHosts(
  workers: number | readonly number[] | 'all',
  slice: SliceType | undefined,
  report: Report,
): 'all' | readonly number[] {
  if (workers === 'all') return 'all';
  const path = ['command', 'workers'];
  const indexes = typeof workers === 'number' ? [workers] : workers;
  if (indexes.length === 0) report.wrong(path, workers, 'no host at all', 'leave workers out for all hosts');
  indexes.forEach((index, place) => {
    const at = typeof workers === 'number' ? path : [...path, place];
    if (slice !== undefined && (index < 0 || index >= slice.hosts)) {
      report.wrong(at, index, `no host of ${slice.type}`, hostsHint(slice));
    } else if (indexes.indexOf(index) !== place) report.wrong(at, index, 'named twice');
  });
  return indexes;
}

function hostsHint({ type, hosts }: SliceType): string {
  if (hosts === 1) return `${type} has one host, with index 0`;
  return `${type} has ${hosts} hosts: 0 to ${hosts - 1}; workers is an index, not a count`;
}

// The on-host runner's script ----------------------------------------------------------------------------------------

type Runnable = ModuleSpecs & {
  readonly modules: readonly string[];
  readonly command?: CommandSpec;
  readonly workspace?: WorkspaceSpec;
};

/**
 * The script that the on-host runner starts: lines that enter the bundle and the environment, then the user's text, byte for
 * byte. If the bundle or the environment cannot be entered, the command does not start and the exit code is 126, as in shells.
 * @returns undefined for a job without a command
 */
export function commandScript(job: Runnable): string | undefined {
  if (job.command === undefined) return undefined;
  if (job.workspace !== undefined) return job.command.run;
  const run = inShell(job, job.command.run);
  const spec = rayOf(job);
  return `${bundleLines(job)}${environmentLines(job)}${spec === undefined ? run : rayScript(spec, run)}`;
}

/** A script that runs in the command's folder and environment. */
export const besideCommand = (job: Runnable, run: string): string =>
  `${bundleLines(job)}${environmentLines(job)}${rayOf(job) === undefined ? '' : ENTER_RAY}${inShell(job, run)}`;

/** Puts `PIPEFAIL` on the first line of the text, so that the shell counts lines as the author does. */
const inShell = ({ command }: Runnable, run: string): string =>
  command?.shell === 'plain' ? run : `${PIPEFAIL}${run}`;

/** Ray over all hosts, if the job has it. The command then runs on the first host. */
export const rayOf = ({ modules, ray }: Pick<Runnable, 'modules' | 'ray'>): RaySpec | undefined =>
  modules.includes('ray') ? ray : undefined;

/** A container starts in its `workdir` if it has one, else in the bundle. */
function bundleLines(job: Runnable): string {
  if (!hasBundle(job)) return '';
  const environment = environmentOf(job);
  if (environment?.kind !== 'container') return enterBundle(BUNDLE_PLACE, true);
  return enterBundle(BUNDLE_PLACE_IN_CONTAINER, environment.container.workdir === undefined);
}

function environmentLines(job: Runnable): string {
  const environment = environmentOf(job);
  return environment?.kind === 'shell' ? `${environment.enter} || exit 126\n` : '';
}

/** The folder on the host in which the command starts. For a container without a bundle: the login user's home. */
export const commandFolder = (job: Runnable): string => (hasBundle(job) ? BUNDLE_PLACE : '~');

/** The container of the command, or undefined if it runs in the login user's shell, as the watcher of a workspace does. */
export function commandContainer(job: Runnable): RunContainer | undefined {
  const environment = job.workspace === undefined ? environmentOf(job) : undefined;
  if (environment?.kind !== 'container') return undefined;
  const { container } = environment;
  if (!hasBundle(job)) return container;
  return { ...container, mounts: [...container.mounts, `${BUNDLE_PLACE}:${BUNDLE_PLACE_IN_CONTAINER}`] };
}

const hasBundle = ({ modules, bundle }: Runnable): boolean => modules.includes('bundle') && bundle !== undefined;
