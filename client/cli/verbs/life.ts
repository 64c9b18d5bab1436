import { type AskFlags, askJob } from '../ask-job.js';
import type { EditFlags } from '../job-edit.js';
import { withClient } from '../connect.js';
import { contextToChange } from '../contexts/told-place.js';
import type { ContextFlags } from '../context.js';
import { ExitCode } from '../exit-codes.js';
import type { OutputFlag } from '../options.js';
import { CliError } from '../cli-error.js';
import { asTyped } from '../typed-command.js';

/** The verbs that ask one open job for something. Each prints the job's answer and returns at once. */

export interface StopFlags extends AskFlags {
  /** Give the slices and the lease back too. */
  readonly release?: true;
}

export const stop = (job: string, flags: StopFlags): Promise<number> =>
  askJob(job, flags, (client, by) => client.stop(job, by, { release: flags.release === true }));

// Reading a changed job file loads far more code than the other verbs need.

export async function resume(job: string, flags: EditFlags): Promise<number> {
  const { askWithEdit } = await import('../job-edit.js');
  return askWithEdit(job, flags, (client, by, edit) => client.resume(job, by, edit));
}

export async function restart(job: string, flags: EditFlags): Promise<number> {
  const { askWithEdit } = await import('../job-edit.js');
  return askWithEdit(job, flags, (client, by, edit) => client.restart(job, by, edit));
}

export const requeue = (job: string, flags: AskFlags): Promise<number> =>
  askJob(job, flags, (client, by) => client.requeue(job, by));

export type CancelFlags = ContextFlags & OutputFlag;

export function cancel(job: string, flags: CancelFlags): Promise<number> {
  return withClient(contextToChange(flags), async (client) => {
    const answer = await client.cancel(job);
    const { phase } = await client.row(job);
    if (flags.output === 'json')
      process.stdout.write(`${JSON.stringify({ id: job, state: answer, phase }, null, 2)}\n`);
    else if (answer === 'done') process.stdout.write(`${job} has ended already: ${phase}. Nothing was changed.\n`);
    else {
      process.stdout.write(
        asTyped(
          `${job} is being cancelled: its command is stopped, its slices are deleted.\n  jobctl wait ${job}   until it has ended\n`,
        ),
      );
    }
    return ExitCode.Done;
  });
}

export interface SetupFlags extends AskFlags {
  /** Names of modules; absent: every module of the job. */
  readonly module?: readonly string[];
  readonly force?: true;
}

/** Asks for a new set-up of the job's hosts. A worker does it later and writes the result to the job's log. @throws CliError without a job */
export async function setup(
  job: string | undefined,
  { module: modules, force, ...flags }: SetupFlags,
): Promise<number> {
  if (job === undefined) {
    throw new CliError(
      ExitCode.Usage,
      'jobctl setup: of which job?',
      'jobctl setup JOB sets its hosts up again',
      'jobctl setup server makes Temporal and a bucket ready for workers',
    );
  }
  const request = { ...(modules === undefined ? {} : { modules }), ...(force === undefined ? {} : { force }) };
  return askJob(job, flags, (client, by) => client.setUp(job, by, request));
}
