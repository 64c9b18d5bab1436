import type { StoreReader } from '../../../cloud/store/port.js';
import type { ShownEvent } from '../../../domain/job-events/event.js';
import type { SetUpRecord } from '../../../domain/setup-record.js';
import { setUpPrefix } from '../../../domain/store-layout.js';
import type { JobClient } from '../../../client/job-client.js';
import { storedEvents } from '../../../client/job-logs.js';
import { readSetUp } from '../../../client/set-up-records.js';
import type { JobRow } from '../../../client/job-rows.js';
import { openReader } from '../../place/connect.js';
import { type CliContext, storeOf } from '../../place/context.js';
import type { JobAnswer } from '../../jobs/many/each-job.js';
import { lookOf } from '../../terminal/render/look.js';
import { renderTimeline } from '../../jobs/render-timeline.js';
import { timelineOf } from '../../jobs/timeline.js';
import { openJobLog } from '../../jobs/watch/job-log.js';

/** Number of set-ups shown: the last ones of a job that loops. */
const SHOWN_SET_UPS = 20;

/** `jobctl status JOB --timeline`. For an ended job, everything is read from the store, so no worker is needed. */
export async function timelineAnswer(client: JobClient, context: CliContext, row: JobRow): Promise<JobAnswer> {
  const store = await openReader(storeOf(context, `the timeline of ${row.id} cannot be read`));
  const [events, setUps] = await Promise.all([eventsOf(client, store, row), setUpsOf(store, row)]);
  const { id, submittedAt, endedAt } = row;
  const facts = { submittedAt, ...(endedAt === undefined ? {} : { endedAt }), events, setUps };
  const timeline = timelineOf(facts, Date.now());
  return { text: renderTimeline(id, timeline, lookOf(process.stdout, process.env)).join('\n'), json: { ...timeline } };
}

function eventsOf(client: JobClient, store: StoreReader, row: JobRow): Promise<readonly ShownEvent[]> {
  const stored = (): Promise<readonly ShownEvent[]> => storedEvents(store, row.id);
  return row.endedAt === undefined ? openJobLog(client, row.id, { known: (events) => events, stored }) : stored();
}

/** The stored set-ups, not those that the row counts: an attempt whose set-up was cut short is not counted. */
export async function setUpsOf(
  store: Pick<StoreReader, 'list' | 'read'>,
  { id }: Pick<JobRow, 'id'>,
): Promise<readonly { readonly attempt: number; readonly record: SetUpRecord }[]> {
  const names = (await store.list(setUpPrefix(id))).map(({ name }) => name);
  const stored = names.flatMap((name) => /\/a(\d{1,9})\.json$/.exec(name)?.[1] ?? []).map(Number);
  const numbers = stored.toSorted((a, b) => a - b).slice(-SHOWN_SET_UPS);
  const found = await Promise.all(numbers.map((attempt) => readSetUp(store, id, attempt)));
  return found.filter((one) => one !== undefined);
}
