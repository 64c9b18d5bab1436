import type { JobClient } from '../../../client/job-client.js';
import { type JobMetrics, jobMetrics, type MetricsChoice } from '../../../client/job-metrics.js';
import type { StoreReader } from '../../../cloud/store/port.js';
import type { GroupView } from '../../../contract/group.js';
import { assignmentAt, lengthOf, memberIndexes } from '../../../domain/array/array.js';
import { hasFiles, memberId, roundAt } from '../../../domain/array/group-state.js';
import { eachOf } from '../../../domain/semaphore.js';
import { count } from '../../../domain/units.js';
import { withClient } from '../../place/connect.js';
import type { CliContext } from '../../place/context.js';
import { oneLine } from '../../terminal/render/columns.js';

/** A job whose metrics are shown. */
export interface MetricJob {
  readonly id: string;
  /** Its id, or of a group's member the parameters: `lr=0.1`. */
  readonly label: string;
  readonly parameters?: Readonly<Record<string, string | number | boolean>>;
  readonly found: JobMetrics;
}

/** Jobs whose metrics are read at the same time. */
const WIDTH = 16;
/** The most members of a group that are read. */
const MOST_MEMBERS = 1_000;

/**
 * Reads the metrics of jobs, and of the members of groups. The store alone answers for a job that has any, so it may be one that
 * Temporal has forgotten.
 * @param note gets sentences about what is left out
 * @throws JobNotFound
 */
export async function metricJobs(
  {
    store,
    context,
    note,
  }: { readonly store: StoreReader; readonly context: CliContext; readonly note: (text: string) => void },
  ids: readonly string[],
  choice: MetricsChoice,
): Promise<readonly MetricJob[]> {
  const named = [...new Set(ids)];
  const all = new Map<string, readonly MetricJob[]>();
  const others: string[] = [];
  await eachOf(named, WIDTH, async (id) => {
    const found = await jobMetrics(store, id, choice);
    if (found.attempts.length > 0) all.set(id, [{ id, label: id, found }]);
    else others.push(id);
  });
  if (others.length > 0)
    await withClient(context, async (client) => {
      for (const id of others) {
        const view = await groupOf(client, id);
        if (view === undefined) note(`${id}: its program has told no metric on host ${choice.host ?? 0}`);
        else all.set(id, await membersOf(store, view, choice, { note, isAlone: named.length === 1 }));
      }
    });
  return named.flatMap((id) => all.get(id) ?? []);
}

/** The group with this id, or undefined if it is a job. @throws JobNotFound */
async function groupOf(client: JobClient, id: string): Promise<GroupView | undefined> {
  try {
    await client.row(id);
    return undefined;
  } catch (error) {
    if ((error as { isGroup?: boolean }).isGroup !== true) throw error;
    return client.describeGroup(id);
  }
}

async function membersOf(
  store: StoreReader,
  { group, array, state }: GroupView,
  choice: MetricsChoice,
  { note, isAlone }: { readonly note: (text: string) => void; readonly isAlone: boolean },
): Promise<readonly MetricJob[]> {
  const begun = memberIndexes(array).filter((index) => hasFiles(state.marks[index]));
  if (begun.length > MOST_MEMBERS)
    note(
      `${group}: the first ${MOST_MEMBERS} of ${begun.length} members that began are read; name others by their jobs' ids`,
    );
  const found = new Map<number, MetricJob>();
  await eachOf(begun.slice(0, MOST_MEMBERS), WIDTH, async (index) => {
    const id = memberId({ group, index, round: roundAt(state, index) });
    const parameters = assignmentAt(array, index);
    const words = array.axes
      .filter((axis) => lengthOf(axis) > 1)
      .map(({ name }) => `${name}=${String(parameters[name])}`);
    const label = oneLine(words.length === 0 ? id : `${isAlone ? '' : `${group} `}${words.join(', ')}`);
    found.set(index, { id, label, parameters, found: await jobMetrics(store, id, choice) });
  });
  const told = begun.flatMap((index) => found.get(index) ?? []).filter((job) => job.found.attempts.length > 0);
  const silent = Math.min(begun.length, MOST_MEMBERS) - told.length;
  if (silent > 0) note(`${group}: ${count(silent, 'member')} told no metric`);
  return told;
}
