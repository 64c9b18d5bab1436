import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { noteGone, storeCounted } from '../../activities/counted.js';
import { TerminatedJobs } from '../../activities/terminated.js';
import { readDayFiles } from '../../client/counted.js';
import { ensureStore, openStore } from '../../cloud/store/open-store.js';
import type { StorePort } from '../../cloud/store/port.js';
import type { JobRecord } from '../../domain/counted/record.js';
import { NO_PARTS } from '../../domain/counted/usage.js';

const DAY = Date.UTC(2026, 10, 20);
const END = DAY + 3_600_000;

/** The account of a job as its workflow knows it at `at`: 8 chips that have run since the day began. */
function account(job: string, at: number, more: Partial<JobRecord> = {}): JobRecord {
  const charged = ((at - DAY) / 1_000) * 8;
  return {
    ...{ v: 1, job, run: `first-of-${job}`, user: 'ann', project: 'vision', pool: 'default', kind: 'cloud-tpu' },
    ...{ accelerator: 'v5litepod-8', zone: 'us-central1-a', pricing: 'spot', count: 8, slices: 1, unit: 'chip' },
    ...{ result: 'terminated', attempts: 1, preemptions: 0, lost: 'none', charged },
    ...{ submittedAt: DAY, endedAt: at, countedTo: at, parts: { ...NO_PARTS, useful: charged } },
    places: [{ zone: 'us-central1-a', pricing: 'spot', charged }],
    leaving: [{ slice: `${job}-s0`, chips: 8 }],
    ...more,
  };
}

interface Job {
  /** Run that Temporal shows as the last one of the id. */
  readonly lastRun?: string;
  /** Answer of its workflow. Null: no worker had accepted it. */
  readonly answer?: (at: number) => JobRecord | null;
}

describe('jobs that were ended in Temporal', () => {
  let folder: string;
  let store: StorePort;
  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'jobctl-terminated-'));
    await ensureStore({ bucket: `file://${folder}` });
    store = openStore({ bucket: `file://${folder}` });
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  /** A server that knows these jobs, each terminated at `END` in a run `run-ID`. */
  function terminated(jobs: Readonly<Record<string, Job>>) {
    const asked: string[] = [];
    const workflow = {
      list: () => Object.keys(jobs).map((id) => ({ workflowId: id, runId: `run-${id}`, closeTime: new Date(END) })),
      getHandle: (id: string) => ({
        describe: async () => ({
          runId: jobs[id]?.lastRun ?? `run-${id}`,
          raw: { workflowExecutionInfo: { firstRunId: `first-of-${id}` } },
        }),
        query: async (_: unknown, at: number) => {
          asked.push(id);
          return (jobs[id]?.answer ?? ((to: number) => account(id, to)))(at);
        },
      }),
    };
    const client = { workflow, withDeadline: (_: number, call: () => unknown) => call() };
    return { asked, looks: new TerminatedJobs(client as never, store, 'q') };
  }
  const counted = async () => (await readDayFiles(store, DAY)).records;

  it('are counted once, up to that time, by what their workflow knew', async () => {
    const { looks, asked } = terminated({ a: {} });
    assert.deepEqual([await looks.count(END), await looks.count(END)], [1, 0]);
    assert.deepEqual(await counted(), [account('a', END)]);
    assert.deepEqual(asked, ['a']);
    const another = terminated({ a: {} });
    assert.equal(await another.looks.count(END), 0, 'by another worker it is known');
    assert.deepEqual(another.asked, [], 'and no worker reads its history again');
  });

  it('have the draining of their slices, whichever is seen first', async () => {
    await noteGone(store, 'a', 'a-s0', END + 2_000);
    await terminated({ a: {}, b: {} }).looks.count(END);
    await noteGone(store, 'b', 'b-s0', END + 3_000);
    const drained = new Map((await counted()).map(({ job, parts, leaving }) => [job, [parts.draining, leaving]]));
    assert.deepEqual(
      [drained.get('a'), drained.get('b')],
      [
        [16, undefined],
        [24, undefined],
      ],
    );
  });

  it('are not counted where a reset has left a run behind, or no worker had accepted them', async () => {
    const { looks } = terminated({ reset: { lastRun: 'later' }, early: { answer: () => null } });
    assert.equal(await looks.count(END), 0);
    assert.deepEqual(await counted(), []);
  });

  it('keep the outcome that they had, with what their kept slices cost after it', async () => {
    await storeCounted(store, account('a', END - 60_000, { result: 'succeeded' }));
    await terminated({ a: {} }).looks.count(END);
    const [record] = await counted();
    assert.deepEqual([record?.result, record?.endedAt, record?.countedTo], ['succeeded', END - 60_000, END]);
    assert.equal(record?.charged, 8 * 3_600);
  });

  it('are asked again if none answered, and do not keep others from being counted', async () => {
    let isAway = true;
    const answer = (at: number): JobRecord => {
      if (isAway) throw new Error('no worker');
      return account('a', at);
    };
    const { looks } = terminated({ a: { answer }, b: {} });
    await assert.rejects(looks.count(END), /^Error: a: Error: no worker$/);
    assert.deepEqual(
      (await counted()).map(({ job }) => job),
      ['b'],
    );
    isAway = false;
    assert.equal(await looks.count(END), 1);
  });
});
