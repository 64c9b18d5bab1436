import { type AskFlags, asking } from '../../job/ask-job.js';
import type { EditFlags } from '../../job/job-edit.js';
import { ExitCode, CliError } from '../../terminal/cli-error.js';
import { orGroup } from '../../jobs/groups/or-group.js';
import { actOnJobs, type ManyFlags } from '../../jobs/many/act-on-jobs.js';
import type { Replaced } from '../../../contract/job.js';
import { asTyped } from '../../terminal/print.js';
import { recordedText, unattendedOnce } from '../../jobs/unattended.js';

/** Verbs that send requests to open jobs. Each prints the job's answer and returns at once. */

export interface StopFlags extends ManyFlags {
  /** Also gives back the slices and the lease. */
  readonly release?: true;
}

/** Phases in which a stop ends something. */
const STOPPABLE: ReadonlySet<string> = new Set(['queued', 'provisioning', 'setting-up', 'running', 'evicting']);

export function stop(jobs: readonly string[], flags: StopFlags): Promise<number> {
  const release = flags.release === true;
  return actOnJobs(jobs, flags, {
    verb: 'stop',
    act: 'stop',
    among: { state: 'open' },
    groups: async (client, group, by) =>
      (await import('../../jobs/groups/stop.js')).stopGroup(client, group, by, release),
    // A group that continues would start another member for each one that is stopped.
    ...(jobs.length === 0 && {
      before: async (client, rows, by) =>
        (await import('../../jobs/groups/changes.js')).endGroupsOf(client, rows, {
          ...{ by, isWhole: flags.phase === undefined, verb: 'stop', release },
        }),
    }),
    isMeant: ({ phase }) => STOPPABLE.has(phase) || (release && phase === 'paused'),
    answer: async (client, { id }, { by, from }) => {
      const wish = { ...(from !== undefined && { from }), ...(release && { release }) };
      const message = await client.stop(id, by, wish);
      const { phase } = await client.row(id);
      return { text: message, json: { phase, message } };
    },
  });
}

// Reading a changed job file loads far more code than the other verbs need.

export async function resume(job: string, flags: EditFlags): Promise<number> {
  const { askWithEdit } = await import('../../job/job-edit.js');
  return orGroup(
    () => askWithEdit(job, flags, (client, by, edit) => client.resume(job, by, edit)),
    async (id) => {
      const wrong = editFlagsOf(flags)[0];
      if (wrong !== undefined) throw forOneJob('resume', id, wrong);
      return (await import('../../jobs/groups/stop.js')).resumeGroup(id, flags);
    },
  );
}

/** Flags that change a job's file. */
const editFlagsOf = ({ file, set = [], bundle }: EditFlags): readonly string[] => [
  ...(file === undefined ? [] : ['--file']),
  ...set.map((each) => `--set ${each}`),
  ...(bundle === undefined ? [] : ['--bundle']),
];

const forOneJob = (verb: string, id: string, flag: string): CliError =>
  new CliError(
    ExitCode.Usage,
    `jobctl ${verb}: ${flag} changes the file of one job, and ${id} is a group`,
    `name a member, such as ${id}-0; \`jobctl status ${id}\` lists them`,
  );

export interface RestartFlags extends EditFlags {
  /** The slices to replace; true: all. */
  readonly replace?: true | string;
}

export async function restart(job: string, { replace, ...flags }: RestartFlags): Promise<number> {
  const { askWithEdit } = await import('../../job/job-edit.js');
  const also = replace === undefined ? {} : { replace: replacedOf(replace) };
  return orGroup(
    () => askWithEdit(job, flags, (client, by, edit) => client.restart(job, by, { ...edit, ...also })),
    async (id) => {
      const edits = editFlagsOf(flags);
      const wrong = edits.find((edit) => !LETS_BEGIN.test(edit));
      if (wrong !== undefined) throw forOneJob('restart', id, wrong);
      if (edits.length === 0 || replace !== undefined) throw restartOfGroup(id);
      return (await import('../../jobs/groups/changes.js')).begin(id, flags);
    },
  );
}

/** The only edit of a group: it no longer waits for others. */
const LETS_BEGIN = /^--set after=(null|~|)$/;

const restartOfGroup = (id: string): CliError =>
  new CliError(
    ExitCode.Usage,
    `jobctl restart: '${id}' is a group of jobs, and one job is wanted`,
    `name a member, such as ${id}-0; \`jobctl retry ${id} --failed\` runs those that failed again`,
    `\`jobctl restart ${id} --set after=null\` lets a group begin that waits for others`,
  );

/** @throws CliError if the text is not a list of slices */
function replacedOf(written: true | string): Replaced {
  if (written === true || written === 'all') return 'all';
  const parts = written.split(',').map((part) => part.trim());
  const wrong = parts.find((part) => !/^\d{1,4}$/.test(part));
  if (wrong !== undefined)
    throw new CliError(
      ExitCode.Usage,
      `--replace: '${wrong}' is no slice`,
      'it takes numbers of slices from 0, such as --replace 0,3, or nothing for all; the job stands before it: jobctl restart JOB --replace',
    );
  return [...new Set(parts.map(Number))];
}

export function cancel(jobs: readonly string[], flags: ManyFlags): Promise<number> {
  const isOne = jobs.length === 1;
  const noWorkerOf = unattendedOnce();
  return actOnJobs(jobs, flags, {
    verb: 'cancel',
    act: 'cancel',
    among: { state: 'open' },
    groups: async (client, group, by) => (await import('../../jobs/groups/changes.js')).cancelGroup(client, group, by),
    // A filter covers groups too: a group that continues would start another member for each one that is cancelled.
    ...(jobs.length === 0 && {
      before: async (client, rows, by) =>
        (await import('../../jobs/groups/changes.js')).endGroupsOf(client, rows, {
          ...{ by, isWhole: flags.phase === undefined, verb: 'cancel' },
        }),
    }),
    answer: async (client, row, by) => {
      const { id } = row;
      const state = await client.cancel(id, { ...by, verb: 'cancel' });
      // For many jobs, another call per job would not help.
      const { phase } = isOne || state === 'done' ? await client.row(id) : row;
      const noWorker = state === 'done' ? undefined : await noWorkerOf(client, row);
      const until = noWorker && `\n  ${recordedText(noWorker)}`;
      // Nothing more is known: after its death a worker counts as polling for 70 s.
      const cancelling = `${id}: its cancel is recorded. A worker stops its command, then deletes its slices.${until ?? ''}`;
      const next = isOne ? asTyped(`\n  jobctl wait ${id}   until it has ended`) : '';
      const done = `${id} has ended already: ${phase}. Nothing was changed.`;
      return {
        text: state === 'done' ? done : `${cancelling}${next}`,
        json: { state, phase, ...(noWorker && { noWorker }) },
      };
    },
  });
}

export interface SetupFlags extends AskFlags {
  /** Names of modules; absent: every module of the job. */
  readonly module?: readonly string[];
  readonly force?: true;
}
const setUp = asking('setUp', ({ module: modules, force }: SetupFlags) => ({ modules, force }));

/** Asks for a new set-up of the job's hosts. A worker does it later and writes the result to the job's log. @throws CliError without a job */
export async function setup(job: string | undefined, flags: SetupFlags): Promise<number> {
  if (job === undefined) {
    throw new CliError(
      ExitCode.Usage,
      'jobctl setup: of which job?',
      'jobctl setup JOB sets its hosts up again',
      'jobctl setup server makes Temporal and a bucket ready for workers',
    );
  }
  return setUp(job, flags);
}
