import { existsSync } from 'node:fs';
import { CliError, ExitCode } from '../../terminal/cli-error.js';
import { type HostChoice, parseHostChoice } from './host-options.js';

/** A path on the hosts of a job. */
export interface RemotePlace {
  readonly job: string;
  /** Absent: no hosts were named. */
  readonly hosts?: HostChoice;
  /** Absolute, or under the login user's home folder; `.` for that folder itself. */
  readonly path: string;
}

export type CopyPlan =
  | { readonly kind: 'put'; readonly sources: readonly string[]; readonly target: RemotePlace }
  | { readonly kind: 'get'; readonly sources: readonly RemotePlace[]; readonly target: string };

const REMOTE = /^([a-z][a-z0-9-]*):(?:(all|[\d,-]+):)?(.*)$/s;

/**
 * `cp SRC.. DEST`, one side of it `JOB:[HOSTS:]PATH`. An argument with a slash before its colon, and an existing file, are local.
 * @throws CliError; nothing was done then
 */
export function copyPlan(places: readonly string[]): CopyPlan {
  const sources = places.slice(0, -1);
  const target = remotePlace(places.at(-1) ?? '');
  const remotes = sources.map(remotePlace);
  const from = remotes.filter((place) => place !== undefined);
  if (target !== undefined && from.length === 0) return { kind: 'put', sources, target };
  if (target === undefined && from.length === sources.length)
    return { kind: 'get', sources: ofOneJob(from), target: places.at(-1) ?? '' };
  throw new CliError(
    ExitCode.Usage,
    from.length === 0 ? 'cp: no side of it is a job' : 'cp: both sides are jobs, or the sources are of both kinds',
    'to hosts: jobctl cp FILE.. JOB:PATH      from a host: jobctl cp JOB:PATH.. FOLDER',
    'a file here whose name begins like a job: ./NAME',
  );
}

function ofOneJob(places: readonly RemotePlace[]): readonly RemotePlace[] {
  const [first] = places;
  if (places.every(({ job }) => job === first?.job)) return places;
  throw new CliError(
    ExitCode.Usage,
    `cp: from two jobs: ${[...new Set(places.map(({ job }) => job))].join(', ')}`,
    'copy from one after the other',
  );
}

function remotePlace(text: string): RemotePlace | undefined {
  const [, job, hosts, path = ''] = REMOTE.exec(text) ?? [];
  if (job === undefined || existsSync(text)) return undefined;
  return {
    job,
    ...(hosts === undefined ? {} : { hosts: choiceIn(hosts, text) }),
    path: path === '' || path === '~' ? '.' : path,
  };
}

function choiceIn(hosts: string, place: string): HostChoice {
  try {
    return parseHostChoice(hosts);
  } catch {
    throw new CliError(
      ExitCode.Usage,
      `${place}: '${hosts}' are no hosts`,
      'JOB:0:PATH, JOB:0,2-3:PATH or JOB:all:PATH',
    );
  }
}
