import type { StoreReader } from '../../../cloud/store/port.js';
import type { SetUpRecord } from '../../../domain/setup-record.js';
import { setUpObject } from '../../../domain/store-layout.js';
import type { JobEvent } from '../../../contract/job.js';
import type { JobClient } from '../../job-client.js';
import { storedJobLog } from '../../job-logs.js';
import type { JobRow } from '../../job-rows.js';
import { openReader, withClient } from '../connect.js';
import { resolveContext, storeOf } from '../context.js';
import { ExitCode } from '../exit-codes.js';
import { lookOf } from '../render/look.js';
import { renderTimeline } from '../render/timeline.js';
import { timelineOf } from '../timeline.js';
import { jobLogText } from '../watch/job-log.js';
import type { StatusFlags } from './status.js';

/** Of a job that loops, the last ones. */
const SHOWN_SET_UPS = 20;

/** `jobctl status JOB --timeline`. Of a job that has ended everything is read from the store: no worker is needed. */
export async function statusTimeline(id: string, flags: StatusFlags): Promise<number> {
  const context = resolveContext(flags);
  const store = await openReader(storeOf(context, `the timeline of ${id} cannot be read`));
  return withClient(context, async (client) => {
    const row = await client.row(id);
    const [events, setUps] = await Promise.all([eventsOf(client, store, row), setUpsOf(store, row)]);
    const { submittedAt, endedAt } = row;
    const facts = { submittedAt, ...(endedAt === undefined ? {} : { endedAt }), events, setUps };
    const timeline = timelineOf(facts, Date.now());
    if (flags.output === 'json') process.stdout.write(`${JSON.stringify({ id, ...timeline }, null, 2)}\n`);
    else process.stdout.write(`${renderTimeline(id, timeline, lookOf(process.stdout, process.env)).join('\n')}\n`);
    return ExitCode.Done;
  });
}

async function eventsOf(client: JobClient, store: StoreReader, { id, endedAt }: JobRow): Promise<readonly JobEvent[]> {
  const stored = async (): Promise<string> => (await storedJobLog(store, id)).toString('utf8');
  const text = endedAt === undefined ? await jobLogText(client, id, stored) : await stored();
  return text.split('\n').flatMap((line) => {
    const [, time = '', words = ''] = /^(\S+Z) (.*)$/.exec(line) ?? [];
    const at = Date.parse(time);
    return Number.isNaN(at) ? [] : [{ at, text: words }];
  });
}

async function setUpsOf(
  store: StoreReader,
  { id, attempts }: JobRow,
): Promise<readonly { readonly attempt: number; readonly record: SetUpRecord }[]> {
  // One more than the row counts: an attempt is counted when its command starts.
  const first = Math.max(1, attempts + 2 - SHOWN_SET_UPS);
  const numbers = Array.from({ length: attempts + 2 - first }, (_, at) => first + at);
  const texts = await Promise.all(numbers.map((attempt) => store.read(setUpObject(id, attempt))));
  return numbers.flatMap((attempt, at) => {
    const text = texts[at];
    return text === undefined ? [] : [{ attempt, record: JSON.parse(text.toString('utf8')) as SetUpRecord }];
  });
}
