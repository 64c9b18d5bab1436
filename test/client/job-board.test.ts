import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { Client } from '@temporalio/client';
import { defineSearchAttributeKey, SearchAttributeType } from '@temporalio/common';
import { gatherBoard } from '../../client/job-board.js';
import { JobClient } from '../../client/job-client.js';
import type { JobFilter } from '../../client/job-query.js';
import { WorkflowType } from '../../contract/workflow-ids.js';
import type { WaitingLine } from '../../quota/waiting-line.js';
import { eventually } from '../cloud/eventually.js';
import { TEMPORAL_START_MS, testServer } from '../temporal-server.js';
import { until } from '../until.js';

const USERS = ['alice', 'bob', 'carol', 'dave', 'erin'];
const RUNNING = 7;
const JOBS = 1_200;
const ENDED = 5;

/** Workflows that no worker takes, with the attributes of jobs: what Temporal's own lists make of them is real. */
describe('the board, of more jobs than one page of Temporal has', function () {
  this.timeout(120_000);
  const tag = `b${randomBytes(3).toString('hex')}`;
  const filter: JobFilter = { project: tag };
  let temporal: Client;
  let jobs: JobClient;

  const start = (id: string, attributes: Readonly<Record<string, string>>): Promise<unknown> =>
    temporal.workflow.start(WorkflowType.Job, {
      workflowId: id,
      taskQueue: tag,
      args: [],
      memo: { name: 'lr', slice: 'v5litepod-16' },
      typedSearchAttributes: Object.entries(attributes).map(([name, value]) => ({
        key: defineSearchAttributeKey(name, SearchAttributeType.KEYWORD),
        value,
      })),
    });
  const id = (index: number): string => `lr-${tag}-${index}`;

  before(async function () {
    this.timeout(TEMPORAL_START_MS);
    const { connection, namespace } = await testServer();
    temporal = new Client({ connection, namespace });
    jobs = await JobClient.connect({ client: temporal });
    // The first of all run: in Temporal's order they stand behind everybody who waits.
    for (let from = 0; from < JOBS; from += 50)
      await Promise.all(
        Array.from({ length: 50 }, (_, offset) => {
          const index = from + offset;
          const phase = index < RUNNING ? 'running' : 'queued';
          const user = USERS[index % 5] ?? '';
          return start(id(index), { JobProject: tag, JobUser: user, JobPool: tag, JobPhase: phase });
        }),
      );
    for (let index = JOBS - ENDED; index < JOBS; index++)
      await temporal.workflow.getHandle(id(index)).terminate('test');
    await eventually(
      'all are listed',
      () => jobs.count(filter),
      ({ total, open }) => total === JOBS && open === JOBS - ENDED,
    );
  });
  after(async () => {
    const handles = Array.from({ length: JOBS - ENDED }, (_, index) => temporal.workflow.getHandle(id(index)));
    for (let from = 0; from < handles.length; from += 50)
      await Promise.all(
        handles.slice(from, from + 50).map((handle) => handle.terminate('over').catch(() => undefined)),
      );
  });

  const WAITING = JOBS - ENDED - RUNNING;
  /** The pool serves them in an order that no time gives. */
  const line: WaitingLine = {
    v: 1,
    pool: tag,
    at: 0,
    epoch: 1,
    sentences: [['waits']],
    rows: Array.from({ length: WAITING }, (_, index) => [id(RUNNING + ((index * 7 + 3) % WAITING)), 0] as const),
  };
  const rest = line.rows.map(([job]) => job);
  const gather = (more: JobFilter, limit: number, lines: readonly WaitingLine[] = [line]) => {
    let calls = 0;
    const counted: Pick<JobClient, 'find' | 'count'> = {
      find: (...args) => (calls++, jobs.find(...args)),
      count: (...args) => (calls++, jobs.count(...args)),
    };
    return gatherBoard(counted, { ...filter, ...more }, { limit, linesOf: async () => lines }).then((board) => ({
      ...board,
      ids: board.rows.map((each) => each.id),
      calls,
    }));
  };
  const running = Array.from({ length: RUNNING }, (_, index) => id(index)).toSorted();

  it('has those that run, then the front of the line, in a few calls whatever there is', async () => {
    const { ids, total, open, phases, calls } = await gather({}, 50);
    assert.deepEqual(ids.slice(0, RUNNING).toSorted(), running);
    assert.deepEqual(ids.slice(RUNNING), rest.slice(0, 50 - RUNNING));
    assert.deepEqual([total, open], [JOBS, JOBS - ENDED]);
    assert.deepEqual(Object.fromEntries(phases), {
      running: { jobs: RUNNING, chips: RUNNING * 16 },
      queued: { jobs: JOBS - ENDED - RUNNING },
      terminated: { jobs: ENDED },
    });
    assert.ok(calls <= 5, `${calls} calls`);
  });

  it('has as much of the line as there is room for', async () => {
    const { ids } = await gather({}, 700);
    assert.deepEqual(ids.slice(RUNNING), rest.slice(0, 700 - RUNNING));
  });

  it('has the front of the line of one user too, wherever the jobs of others stand', async () => {
    const { ids, total } = await gather({ user: 'carol', state: 'open' }, 30);
    assert.equal(total, (JOBS - ENDED) / 5);
    const carols = (job: string): boolean => Number(job.split('-').at(-1)) % 5 === 2;
    assert.deepEqual(ids, [...running.filter(carols), ...rest.filter(carols)].slice(0, 30));
  });

  it('has the oldest first where no place is known, although Temporal lists them last', async () => {
    const { ids } = await gather({}, 20, []);
    assert.deepEqual(ids.slice(0, RUNNING).toSorted(), running);
    const waiting = ids.slice(RUNNING).map((each) => Number(each.split('-').at(-1)));
    assert.ok(Math.max(...waiting) < 60, waiting.join(' '));
  });

  it('cuts after the order, those that ended last of all', async () => {
    const { ids } = await gather({}, JOBS);
    assert.equal(ids.length, JOBS);
    assert.deepEqual(ids.slice(RUNNING, RUNNING + rest.length), rest);
    assert.deepEqual(
      ids.slice(-ENDED).toSorted(),
      Array.from({ length: ENDED }, (_, index) => id(JOBS - ENDED + index)),
    );
  });

  const found: Record<string, { filter: JobFilter; want: number }> = {
    'a phase': { filter: { phase: 'running' }, want: RUNNING },
    'several phases, one of them an end': { filter: { phase: ['running', 'terminated'] }, want: RUNNING + ENDED },
    'a pattern': { filter: { name: `lr-${tag}-11?` }, want: 10 },
    'a pattern with an end of its own': { filter: { name: `lr-*-9` }, want: 1 },
    'an id': { filter: { name: id(3) }, want: 1 },
    'a name, whose ids have a random suffix of four': { filter: { name: `lr-${tag}` }, want: JOBS - 1_000 },
    ids: { filter: { ids: [id(1), id(2), 'no-such'] }, want: 2 },
    'no ids': { filter: { ids: [] }, want: 0 },
    'ended lately, or open': { filter: { endedSince: Date.now() + 3_600_000 }, want: JOBS - ENDED },
    'neither submitted nor ended lately': { filter: { since: Date.now() + 3_600_000 }, want: 0 },
    open: { filter: { state: 'open' }, want: JOBS - ENDED },
  };
  for (const [name, { filter: more, want }] of Object.entries(found))
    it(`finds by ${name}`, async () => {
      const rows = await jobs.find({ ...filter, ...more });
      assert.equal(rows.length, want);
      assert.equal(new Set(rows.map((each) => each.id)).size, want);
    });

  it('a job that another service started, and no worker took, is queued, and is there within a second', async () => {
    const bare = `bare-${tag}`;
    await start(bare, {});
    try {
      const row = await until('it is listed', async () => (await jobs.find({ name: bare, phase: 'queued' }))[0], 1_000);
      assert.deepEqual([row.id, row.phase, row.chips], [bare, 'queued', 16]);
    } finally {
      await temporal.workflow.getHandle(bare).terminate('over');
    }
  });

  it('the run that an operator reset is no second job', async () => {
    const again = `again-${tag}`;
    for (let run = 0; run < 2; run++) {
      await start(again, { JobProject: tag, JobPhase: 'running' });
      if (run === 0) await temporal.workflow.getHandle(again).terminate('reset');
    }
    try {
      const rows = await eventually(
        'the second run is listed',
        () => jobs.find({ name: again }),
        ([first]) => first?.phase === 'running',
      );
      assert.equal(rows.length, 1);
    } finally {
      await temporal.workflow.getHandle(again).terminate('over');
    }
  });
});
