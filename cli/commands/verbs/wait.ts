import { count } from '../../../domain/units.js';
import type { GroupRow } from '../../../client/group-rows.js';
import type { JobClient } from '../../../client/job-client.js';
import { resultOf, isOver, type JobRow } from '../../../client/job-rows.js';
import { asKnown } from '../../place/asker.js';
import { orGroup } from '../../jobs/groups/or-group.js';
import { withClient } from '../../place/connect.js';
import { type CliContext, type ContextFlags, resolveContext } from '../../place/context.js';
import { CliError, ExitCode } from '../../terminal/cli-error.js';
import { type FilterFlags, isFiltered, ownFilter } from '../../jobs/job-filter.js';
import { type ChosenJobs, chooseJobs, refuseUnclear } from '../../jobs/many/chosen-jobs.js';
import type { OutputFlag } from '../../terminal/options.js';
import { formatDuration, formatExactDuration } from '../../terminal/render/quantities.js';
import { followToEnd, exitCodeOf } from '../../jobs/watch/follow-to-end.js';
import { watchEnd } from '../../terminal/interruptions.js';
import { openScreen, type Screen } from '../../jobs/watch/screen.js';
import { printErr, printOut } from '../../terminal/print.js';
import { reasonOf } from '../../terminal/render/job-header.js';
import { isOutage, pause } from '../../../client/errors.js';

export interface WaitFlags extends ContextFlags, OutputFlag, FilterFlags {
  /** Milliseconds. */
  readonly timeout?: number;
}

export function wait(ids: readonly string[], flags: WaitFlags): Promise<number> {
  refuseUnclear({ verb: 'wait', ids, flags });
  return orGroup(
    () => waitForJobs(ids, flags),
    async (id) => (await import('../../jobs/groups/wait.js')).groupWait(id, flags),
  );
}

function waitForJobs(ids: readonly string[], flags: WaitFlags): Promise<number> {
  const context = resolveContext(flags);
  // The timeout includes the time to connect.
  const signal = watchEnd(flags.timeout);
  return withClient(context, async (client) => {
    const [only] = ids;
    // Following one job reads it first, and survives an outage.
    if (only !== undefined && ids.length === 1 && !isFiltered(flags))
      return waitForOne(client, context, only, flags, signal);
    const filter = { ...ownFilter(flags, Date.now(), await asKnown(client, context, flags)), state: 'open' } as const;
    const chosen = await chooseJobs(client, { verb: 'wait', ids, flags, filter, groups: 'whole' });
    return waitForAll(client, chosen, flags, signal);
  });
}

async function waitForOne(
  client: JobClient,
  context: CliContext,
  id: string,
  { output, timeout = 0 }: WaitFlags,
  signal: AbortSignal,
): Promise<number> {
  const screen = openScreen(output === 'json');
  const onAbort = (): void => {
    if (signal.reason === 'timeout') throw timedOut(id, id, timeout);
  };
  const { exitCode, row } = await followToEnd({ client, context, id, screen, signal, onAbort });
  if (output === 'json' && row) {
    printOut(`${JSON.stringify({ id, phase: row.phase, exitCode, outcome: row.outcome }, null, 2)}\n`);
  }
  return exitCode;
}

/** Returns 0 if all succeeded, otherwise 1; a job that does not exist counts as failed. */
async function waitForAll(
  client: JobClient,
  { rows, groups, missing }: ChosenJobs,
  { output, timeout = 0 }: WaitFlags,
  signal: AbortSignal,
): Promise<number> {
  for (const [id, error] of missing) printErr(`${id}: ${error.message}\n`);
  const all = rows.length + groups.length;
  if (all + missing.size === 0) printErr('no job matches: there is nothing to wait for\n');
  const screen = openScreen(output === 'json');
  const [over, overGroups] = await Promise.all([
    waitForMany(client, rows, screen, signal),
    groups.length === 0 ? [] : waitForGroups(client, groups, screen, signal),
  ]);
  const left = all - over.length - overGroups.length;
  if (output === 'json') {
    const ended = [
      ...over.map(({ id, phase, outcome }) => ({ id, phase, outcome })),
      ...overGroups.map(({ id, counts, end }) => ({ id, counts, end })),
    ];
    const errors = [...missing].map(([id, { message }]) => ({ id, error: message }));
    printOut(`${JSON.stringify({ jobs: [...ended, ...errors], left }, null, 2)}\n`);
  }
  if (left > 0 && signal.reason === 'timeout')
    throw timedOut(
      groups.length === 0 ? `${count(left, 'job')} of ${all}` : `${left} of ${all} jobs and groups`,
      'JOB..',
      timeout,
      left > 1,
    );
  if (left > 0) {
    printErr(`\n${count(left, 'job')} ${left === 1 ? 'goes' : 'go'} on\n`);
    return ExitCode.Interrupted;
  }
  const words = overGroups.length === 0 ? undefined : await import('../../jobs/groups/wait.js');
  const isGood =
    missing.size === 0 &&
    over.every((row) => resultOf(row) === 'succeeded') &&
    overGroups.every((row) => words?.hasSucceeded(row));
  return isGood ? ExitCode.Done : ExitCode.Failed;
}

function timedOut(who: string, ids: string, timeoutMs: number, isPlural = false): CliError {
  return new CliError(
    ExitCode.TimedOut,
    `${who} ${isPlural ? 'have' : 'has'} not ended within ${formatDuration(timeoutMs)}; ${isPlural ? 'they go' : 'it goes'} on`,
    `\`jobctl wait ${ids}\` waits on, \`jobctl status ${ids}\` shows where it stands`,
  );
}

const LOOK_MS = 1_000;
const MOST_IDS = 500;

/**
 * Prints a line as each job ends. A look is one Temporal query per 500 jobs, not per job.
 * @returns rows of the jobs that are over, in the order of their ends: all jobs, unless `signal` ended the watching
 */
async function waitForMany(
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

/** The same for groups, which are few: a look is a call for each. */
async function waitForGroups(
  client: Pick<JobClient, 'group'>,
  groups: readonly GroupRow[],
  screen: Screen,
  signal: AbortSignal,
): Promise<readonly GroupRow[]> {
  const { groupEndLine } = await import('../../jobs/groups/wait.js');
  const waiting = new Set(groups.map(({ id }) => id));
  const over: GroupRow[] = [];
  for (;;) {
    const seen = await Promise.all([...waiting].map((id) => client.group(id))).catch(throwUnlessOutage<GroupRow>);
    for (const row of seen.filter(({ id, endedAt }) => endedAt !== undefined && waiting.delete(id))) {
      over.push(row);
      const line = groupEndLine(row);
      screen.line({ live: line, plain: line });
    }
    if (waiting.size === 0 || signal.aborted) return over;
    await pause(LOOK_MS, signal);
  }
}

async function look(client: Pick<JobClient, 'find'>, ids: readonly string[]): Promise<readonly JobRow[]> {
  const rows: JobRow[] = [];
  for (let from = 0; from < ids.length; from += MOST_IDS)
    rows.push(...(await client.find({ ids: ids.slice(from, from + MOST_IDS) })));
  return rows;
}

function throwUnlessOutage<Row = JobRow>(error: unknown): readonly Row[] {
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
