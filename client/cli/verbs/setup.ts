import { CliError } from '../cli-error.js';
import { ExitCode } from '../exit-codes.js';
import { type AskFlags, askJob } from '../ask-job.js';

export interface SetupFlags extends AskFlags {
  readonly module?: readonly string[];
  readonly force?: true;
}

/** Noted by the job's workflow and done by a worker: how it ends stands in the job's own log. */
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
  const wish = { ...(modules === undefined ? {} : { modules }), ...(force === undefined ? {} : { force }) };
  return askJob(job, flags, (client, by) => client.setUp(job, by, wish));
}
