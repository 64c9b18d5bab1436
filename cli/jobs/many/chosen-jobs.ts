import { eachOf } from '../../../domain/each-of.js';
import type { JobClient } from '../../../client/job-client.js';
import type { JobFilter } from '../../../client/job-query.js';
import type { JobRow } from '../../../client/job-rows.js';
import { CliError, ExitCode } from '../../terminal/cli-error.js';
import { type FilterFlags, isFiltered } from '../job-filter.js';

/** Concurrent Temporal calls of one command. */
export const WIDTH = 16;

/** The jobs that a command line selects. */
export interface ChosenJobs {
  readonly rows: readonly JobRow[];
  /** Named ids that could not be read, with the error. */
  readonly missing: ReadonlyMap<string, Error>;
  /** True if a filter found the jobs, so that the user has not yet seen their names. */
  readonly isFound: boolean;
}

export interface Choice {
  /** `cancel`, for messages. */
  readonly verb: string;
  readonly ids: readonly string[];
  readonly flags: FilterFlags;
  readonly filter: JobFilter;
  /** Returns whether the verb applies to a job that a filter found. */
  readonly isMeant?: (row: JobRow) => boolean;
}

/**
 * Jobs by id, strongly consistent, or those that the flags describe.
 * @throws JobNotFound for a single id
 */
export async function chooseJobs(client: JobClient, choice: Choice): Promise<ChosenJobs> {
  const { ids, flags, filter, isMeant = () => true } = choice;
  if (isFiltered(flags))
    return { rows: (await client.find(filter)).filter(isMeant), missing: new Map(), isFound: true };
  const named = [...new Set(ids)];
  const rows = new Map<string, JobRow>();
  const missing = new Map<string, Error>();
  await eachOf(named, WIDTH, async (id) => {
    try {
      rows.set(id, await client.row(id));
    } catch (error) {
      if (named.length === 1 || (error as Error).name !== 'JobNotFound') throw error;
      missing.set(id, error as Error);
    }
  });
  return { rows: named.flatMap((id) => rows.get(id) ?? []), missing, isFound: false };
}

/** Checks the flags without a server. @throws CliError unless jobs are either named or described */
export function refuseUnclear({ verb, ids, flags }: Pick<Choice, 'verb' | 'ids' | 'flags'>): void {
  if (ids.length > 0 === isFiltered(flags)) {
    const what = ids.length > 0 ? 'jobs are named and described: give one or the other' : 'which jobs?';
    throw new CliError(
      ExitCode.Usage,
      `jobctl ${verb}: ${what}`,
      `jobctl ${verb} JOB.. names them; jobctl ${verb} --name 'lr-*' --mine describes them`,
      `\`jobctl ${verb} --help\` shows every filter`,
    );
  }
}
