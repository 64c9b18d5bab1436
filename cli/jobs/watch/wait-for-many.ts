import { count } from '../../../domain/units.js';
import type { JobClient } from '../../../client/job-client.js';
import { isOver, type JobRow, resultOf } from '../../../client/job-rows.js';
import { reasonOf } from '../../terminal/render/job-header.js';
import { formatExactDuration } from '../../terminal/render/quantities.js';
import { isOutage, pause } from '../../../client/outage.js';
import { exitCodeOf } from './follow-to-end.js';
import type { Screen } from './screen.js';

const LOOK_MS = 1_000;
const MOST_IDS = 500;

/**
 * Prints a line as each job ends. A look is one Temporal query per 500 jobs, not per job.
 * @returns rows of the jobs that are over, in the order of their ends: all jobs, unless `signal` ended the watching
 */
export async function waitForMany(
  client: Pick<JobClient, 'find'>,
  jobs: readonly JobRow[],
  screen: Screen,
  signal: AbortSignal,
): Promise<readonly JobRow[]> {
  const waiting = new Set(jobs.map(({ id }) => id));
  const over: JobRow[] = [];
  const note = (rows: readonly JobRow[]): void => {
    for (const row of rows.filter((each) => isOver(each) && waiting.delete(each.id))) {
      over.push(row);
      const line = endLine(row);
      screen.line({ live: line, plain: line });
    }
  };
  note(jobs);
  while (waiting.size > 0 && !signal.aborted) {
    screen.current(`${over.length} of ${count(jobs.length, 'job')} have ended`);
    await pause(LOOK_MS, signal);
    // A job that is not yet in Temporal's index is looked for again.
    note(await look(client, [...waiting]).catch(throwUnlessOutage));
  }
  screen.current(undefined);
  return over;
}

async function look(client: Pick<JobClient, 'find'>, ids: readonly string[]): Promise<readonly JobRow[]> {
  const rows: JobRow[] = [];
  for (let from = 0; from < ids.length; from += MOST_IDS)
    rows.push(...(await client.find({ ids: ids.slice(from, from + MOST_IDS) })));
  return rows;
}

function throwUnlessOutage(error: unknown): readonly JobRow[] {
  if (isOutage(error)) return [];
  throw error;
}

/** `lr-7f3k succeeded in 3m 10s`; `lr-0q1d failed in 12s, exit code 7: the command exited with code 7 on host 2`. */
function endLine(row: JobRow): string {
  const { id, submittedAt, endedAt, outcome } = row;
  const result = resultOf(row);
  const lasted = formatExactDuration((outcome?.endedAt ?? endedAt ?? submittedAt) - submittedAt);
  const why =
    result === 'succeeded' ? '' : `: ${reasonOf({ phase: row.phase, why: outcome?.cause?.message ?? row.why ?? '' })}`;
  return `${id} ${result} in ${lasted}${exitCodeOf(row) === 0 || outcome?.exitCode === undefined ? '' : `, exit code ${outcome.exitCode}`}${why}`;
}
