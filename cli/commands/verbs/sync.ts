import { keepInStep } from '../../jobs/sync/keep-in-step.js';
import { SyncedFolder } from '../../jobs/sync/synced-folder.js';
import type { ReachFlags } from '../../jobs/hosts/reach.js';
import { CliError, ExitCode } from '../../terminal/cli-error.js';
import { watchEnd } from '../../terminal/interruptions.js';
import { remotePlace } from './cp.js';

export type SyncFlags = ReachFlags & { readonly once?: true };

/** Keeps a folder of a job's hosts in step with a folder of this computer. @param target `JOB:[HOSTS:]PATH` */
export async function sync(source: string, target: string, flags: SyncFlags): Promise<ExitCode> {
  const place = remotePlace(target);
  if (place === undefined)
    throw new CliError(
      ExitCode.Usage,
      `sync: ${target}: is no folder of a job`,
      'jobctl sync FOLDER JOB:[HOSTS:]PATH; files come back by jobctl cp JOB:PATH .',
    );
  const folder = await SyncedFolder.open(source);
  const { job, hosts = 'all', path } = place;
  const below = path === '.' ? folder.name : path;
  return keepInStep({ folder, job, hosts, path: below, flags, isOnce: flags.once === true }, watchEnd());
}
