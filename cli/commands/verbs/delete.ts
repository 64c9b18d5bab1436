import type { Asker } from '../../../domain/job-state.js';
import { eachOf } from '../../../domain/semaphore.js';
import type { SliceDeletion } from '../../../domain/lease.js';
import { count } from '../../../domain/units.js';
import type { StorePort } from '../../../cloud/store/port.js';
import type { JobClient } from '../../../client/job-client.js';
import type { JobRow } from '../../../client/job-rows.js';
import { releaseRemedy, stuckOf, stuckText } from '../../../quota/explanation/explain-words.js';
import type { StuckSlice } from '../../../quota/published-state.js';
import { readPoolState } from '../../../client/pool-state.js';
import type { Purged } from '../../../client/job-records.js';
import { CliError, ExitCode } from '../../terminal/cli-error.js';
import { openReader, openWritableStore } from '../../place/connect.js';
import { type CliContext, resolveContext } from '../../place/context.js';
import { mustHaveEnded } from '../../jobs/groups/changes.js';
import { actOnJobs, type ManyFlags } from '../../jobs/many/act-on-jobs.js';
import { type ChosenJobs, WIDTH, type JobAnswer } from '../../jobs/many/chosen-jobs.js';
import { recordedText, unattended, unattendedOnce } from '../../jobs/unattended.js';
import { watchEnd } from '../../terminal/interruptions.js';
import { pause } from '../../../client/errors.js';
import { asTyped, printOut } from '../../terminal/print.js';
import { oneLine } from '../../terminal/render/columns.js';
import { utcMinute } from '../../terminal/render/quantities.js';
import { placeOfObject } from '../../../domain/store-place.js';

export interface DeleteFlags extends ManyFlags {
  readonly purge?: true;
  /** Milliseconds. */
  readonly timeout?: number;
}

/** `delete JOB..`: deletes slices and keeps records and logs. `--purge` also removes records and logs of ended jobs. */
export function deleteJobs(jobs: readonly string[], flags: DeleteFlags): Promise<number> {
  return flags.purge === true ? purgeJobs(jobs, flags) : endJobs(jobs, flags);
}

function endJobs(jobs: readonly string[], flags: DeleteFlags): Promise<number> {
  const context = resolveContext(flags);
  const isQuiet = flags.output === 'json' || jobs.length !== 1;
  const signal = watchEnd(flags.timeout);
  const cancelled = new Set<string>();
  const noWorkerOf = unattendedOnce();
  const cancel = async (client: JobClient, { id, endedAt }: JobRow, by: Asker): Promise<void> => {
    if (endedAt !== undefined || cancelled.has(id)) return;
    await client.cancel(id, { ...by, verb: 'delete' });
    cancelled.add(id);
  };
  return actOnJobs(jobs, flags, {
    verb: 'delete',
    act: 'delete',
    among: jobs.length > 0 ? {} : { state: 'open' },
    groups: 'members',
    check: (client, chosen) => mustHaveEnded(client, jobs, chosen),
    warning: wouldBeCancelled,
    // All jobs are cancelled before the first wait. A failure here occurs again in the job's own answer.
    before: (client, rows, by) => eachOf(rows, WIDTH, (row) => cancel(client, row, by).catch(() => undefined)),
    width: WAITED_FOR_AT_ONCE,
    answer: async (client, row, by) => {
      await cancel(client, row, by);
      return untilGone(client, row, { context, signal, isQuiet, noWorkerOf });
    },
  });
}

const WAITED_FOR_AT_ONCE = 64;

/** The warning about open jobs; a job whose command has ended loses nothing. */
function wouldBeCancelled({ rows }: ChosenJobs): string | undefined {
  const open = rows.filter(({ phase, endedAt }) => endedAt === undefined && phase !== 'holding');
  const [only] = open;
  if (only === undefined) return undefined;
  if (open.length === 1) return `${only.id} is ${only.phase}; it would be cancelled`;
  return `${open.length} jobs have not ended; they would be cancelled`;
}

interface Waiting {
  readonly context: CliContext;
  readonly signal: AbortSignal;
  readonly isQuiet: boolean;
  /** Asked once for each task queue, before the wait. */
  readonly noWorkerOf: typeof unattended;
}

/** Waits until the slices are gone. Also ends if the pool reports a deletion that does not end: the wait could last forever. */
async function untilGone(client: JobClient, row: JobRow, waiting: Waiting): Promise<JobAnswer> {
  const { id, pool } = row;
  const { context, signal, isQuiet, noWorkerOf } = waiting;
  if (!isQuiet && row.endedAt === undefined) {
    const noWorker = await noWorkerOf(client, row);
    const until = noWorker && `\n  ${recordedText(noWorker)}`;
    printOut(`${id}: its deletion is recorded. A worker deletes its slices.${until ?? ''}\n`);
  }
  let left = await whatIsLeft(client, id);
  let told = '';
  for (let look = 1; left !== undefined && !signal.aborted; look++) {
    await pause(LOOK_MS, signal);
    left = await whatIsLeft(client, id);
    if (left === undefined || look % LOOKS_AT_POOL !== 0) continue;
    const lines = left.map(leftText);
    if (!isQuiet && told !== lines.join()) for (const line of lines) printOut(`${id}: waits for ${line}\n`);
    told = lines.join();
    const stuck = await stuckSlices(context, row);
    if (stuck.length > 0) return stuckAnswer(id, pool, stuck);
  }
  const last = await client.row(id);
  const { phase } = last;
  const json = { phase, left: (left ?? []).map(({ slice }) => slice) };
  if (left === undefined)
    return {
      text: `${id} has ended (${phase}), and nothing of it is left in the cloud. Its record and logs stay.`,
      json,
    };
  const isLate = signal.reason === 'timeout';
  const late = isLate ? ', and the time of --timeout is over' : '';
  // A worker may have come or gone since the wait began. The task queue's polls count even if the job has ended meanwhile.
  const { endedAt: _, ...open } = last;
  const noWorker = await unattended(client, open);
  const text = [
    noWorker === undefined
      ? `${id}: its slices are still being deleted${late}; that goes on without you`
      : `${id}: its deletion is recorded, and its slices are not deleted yet${late}`,
    ...(noWorker === undefined ? [] : [recordedText(noWorker)]),
    ...left.map(leftText),
  ];
  return {
    text: text.join('\n  '),
    json: { ...json, ...(noWorker && { noWorker }) },
    exitCode: isLate ? ExitCode.TimedOut : ExitCode.Interrupted,
  };
}

/** `slice s, which is being deleted since 2026-11-26 20:01 UTC: ANSWER` */
function leftText({ slice, since, answer }: SliceDeletion): string {
  if (since === undefined || answer === undefined) return `slice ${slice}`;
  return `slice ${slice}, which is being deleted since ${utcMinute(since)} UTC: ${oneLine(answer)}`;
}

const LOOK_MS = 1_000;
/** Number of looks at the job per look at the pool, whose published state changes twice a minute. */
const LOOKS_AT_POOL = 5;

/** Slices whose deletion does not end. If they cannot be read, the wait continues. */
async function stuckSlices({ store }: CliContext, { id, pool }: JobRow): Promise<readonly StuckSlice[]> {
  if (store === undefined) return [];
  const state = await openReader(store)
    .then((reader) => readPoolState(reader, pool))
    .catch(() => undefined);
  return state === undefined ? [] : stuckOf(state, id);
}

function stuckAnswer(id: string, pool: string, stuck: readonly StuckSlice[]): JobAnswer {
  const lines = stuck.map((each) => stuckText(each, Date.now()));
  const text = [
    `${id}: not all of it can be deleted; that goes on without you`,
    ...lines,
    asTyped(releaseRemedy(id, pool)),
  ];
  return { text: text.join('\n  '), json: { left: stuck.map(({ slice }) => slice), stuck }, exitCode: ExitCode.Failed };
}

/** Slices that are not yet deleted, empty while the job is open; undefined: nothing is left. */
async function whatIsLeft(client: JobClient, id: string): Promise<readonly SliceDeletion[] | undefined> {
  if ((await client.row(id)).endedAt === undefined) return [];
  const open = await client.deletions(id);
  return open.length === 0 ? undefined : open;
}

// Purging ------------------------------------------------------------------------------------------------------------

async function purgeJobs(jobs: readonly string[], flags: DeleteFlags): Promise<number> {
  const context = resolveContext(flags);
  const purger = purgerAt(context);
  return actOnJobs(jobs, flags, {
    verb: 'delete',
    act: 'remove the record and logs, for good, of',
    among: jobs.length > 0 ? {} : { state: 'ended' },
    groups: 'members',
    check: async (client, chosen) => {
      const { rows, isFound, missing } = chosen;
      await mustHaveEnded(client, jobs, chosen);
      const [only] = rows;
      if (only === undefined || isFound || rows.length + missing.size > 1) return;
      await mustBePurgeable(client, only);
      await purger.open(only.id);
    },
    warning: ({ rows }) => {
      const [only] = rows;
      const whose = rows.length === 1 && only ? `${only.id}, ${purger.placeOf(only.id)},` : count(rows.length, 'job');
      return `the record and logs of ${whose} would be removed for good`;
    },
    answer: async (client, row) => {
      await mustBePurgeable(client, row);
      const purged = await purger.purge(row.id);
      return {
        text: `${row.id}: ${count(purged.objects, 'object')} with ${purged.bytes} bytes removed from ${purger.placeOf(row.id)}. Its id may be used again when Temporal has forgotten it.`,
        json: { objects: purged.objects, bytes: purged.bytes },
      };
    },
  });
}

/** Removes the stored data of jobs, in the bucket directly or through a server. */
interface Purger {
  /** Prepares the removal. Throws, before the user is asked, if it is not possible. */
  open(id: string): Promise<unknown>;
  purge(id: string): Promise<Purged>;
  placeOf(id: string): string;
}

function purgerAt(context: CliContext): Purger {
  const { server } = context;
  if (server !== undefined) {
    const purge = async (id: string): Promise<Purged> => {
      const [{ purgeOverHttp }, { serverOptionsOf }] = await Promise.all([
        import('../../../client/http/access.js'),
        import('../../place/login/server-access.js'),
      ]);
      return purgeOverHttp(serverOptionsOf(server), id);
    };
    return { open: () => Promise.resolve(), purge, placeOf: (id) => `jobs/${id}/ of ${server.url}` };
  }
  let store: Promise<StorePort> | undefined;
  const open = (id: string): Promise<StorePort> =>
    (store ??= openWritableStore(context, `what is kept of ${id} cannot be removed`));
  const purge = async (id: string): Promise<Purged> => {
    const { purgeJob } = await import('../../../client/job-records.js');
    return purgeJob(await open(id), id);
  };
  return { open, purge, placeOf: (id) => placeOfObject(context.bucket?.bucket ?? '', `jobs/${id}/`) };
}

async function mustBePurgeable(client: JobClient, { id, endedAt, phase }: JobRow): Promise<void> {
  if (endedAt === undefined) {
    throw new CliError(
      ExitCode.Refused,
      `${id} is ${phase}, and what is kept of it is still written: nothing was removed`,
      `\`jobctl delete ${id}\` ends it; then purge`,
    );
  }
  const left = await client.openSlices(id);
  if (left.length > 0) {
    const names = left.join(', ');
    throw new CliError(
      ExitCode.Refused,
      `${id}: slices of it are still being deleted: ${names}`,
      'purge when they are gone',
    );
  }
}
