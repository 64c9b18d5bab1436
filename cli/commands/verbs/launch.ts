import { lineDefaults, type LaunchFlags, launchJob } from '../../job/launching/launch-job.js';
import { BY_FLAGS, readJobFlags } from '../../job/job-file.js';
import { refuseQuotedWords, checkFlags, submitRead, type SubmitFlags } from './submit.js';

/** Flags of `SubmitFlags` that `jobctl launch` has too. */
type Common = Omit<SubmitFlags, 'tpu' | 'zone' | 'slices' | 'pricing' | 'spot' | 'bundle' | 'wait'> & {
  readonly wait?: boolean;
};

/** Builds and submits in one command line, like Astera's launch: the line stands for a job file that is not written. */
export async function launch(line: LaunchFlags & Common, command: readonly string[] | undefined): Promise<number> {
  const { wait: asked, ...own } = line;
  // Like its predecessor, it follows the job: a user who types a command line wants to see the result.
  const isFollowed = asked ?? (own.output !== 'json' && own.verdict !== false && own.dryRun !== true);
  const flags = { ...own, ...(isFollowed && { wait: true as const }) };
  checkFlags(flags);
  if (flags.literalQuotes !== true) refuseQuotedWords(undefined, command ?? []);
  const given = { defaults: lineDefaults(flags, flags.instanceType), folder: process.cwd() };
  const tree = launchJob(flags, (command?.length ?? 0) > 0, given);
  const { set = [], project, user, priority, dryRun: isDry } = flags;
  const overrides = { project, user, priority, command, isLiteral: true };
  const job = await readJobFlags({ tree, set, overrides, ...(isDry === undefined ? {} : { isDry }) });
  return submitRead(job, BY_FLAGS, flags);
}
