import assert from 'node:assert/strict';
import { fileURLToPath } from 'node:url';
import { ApplicationFailure, CancelledFailure, WorkflowFailedError, type WorkflowHandle } from '@temporalio/client';
import type { JobNotice, JobView } from '../../contract/job.js';
import type { Outcome } from '../../domain/job-state.js';
import { jobLogPrefix, outcomeObject } from '../../domain/store-layout.js';
import { RehearsalAdmin } from '../end-to-end/rehearsal-admin.js';
import { TestStack } from '../end-to-end/test-stack.js';
import { startTestServer, TEMPORAL_START_MS, type TestServer } from '../temporal-server.js';
import { until } from '../until.js';
import { EXAMPLES } from './examples.js';
import { nothingIsLeft, vmInits } from '../end-to-end/nothing-left.js';
import { shapeOf } from './shape.js';
import { Service, startPlainJob } from './service.js';
import type { listener, parent } from './parents.js';

const PARENTS = fileURLToPath(new URL('./parents.ts', import.meta.url));
const LISTENER = 'contract-listener';
const notify = { to: { workflow: { id: LISTENER, signal: 'jobEnded' } } };
const small = (run: string, more: object = {}): object => ({
  v: 1,
  job: { ...EXAMPLES['least input'].job, command: { run }, ...more },
});

/** Jobs that a service starts, all at once, by the job's id. */
const STARTED: Readonly<Record<string, unknown>> = {
  'contract-least': EXAMPLES['least input'],
  'contract-full': { ...EXAMPLES['full input'], job: { ...EXAMPLES['full input'].job, notify } },
  'contract-fails': small('exit 3', { notify }),
  'contract-refused': small('true', { notify, priority: '3' }),
  'contract-v2': { v: 2, job: { notify } },
  'contract-deaf': small('true', {
    notify: [
      { to: { workflow: { id: 'nobody-there', signal: 's' } } },
      { to: { workflow: { id: 'contract-v2', signal: 's' } } },
    ],
  }),
  'contract-cancelled': small('sleep 600', { notify }),
};

describe('a service of another team', function () {
  this.timeout(60_000);
  let server: TestServer;
  let stack: TestStack;
  let service: Service;
  let notices: Promise<readonly JobNotice[]>;
  before(async function () {
    this.timeout(TEMPORAL_START_MS);
    // Its own: the examples name no pool, and the quota workflow of `default` is one per server.
    server = await startTestServer();
    stack = await TestStack.start({ server });
    service = await Service.start(stack.server, PARENTS);
    const { taskQueue } = service;
    const listening = await stack.client.workflow.start<typeof listener>('listener', {
      workflowId: LISTENER,
      taskQueue,
      args: [5],
    });
    notices = listening.result();
    await stack.client.workflow.start('job', {
      workflowId: 'contract-early',
      taskQueue: stack.taskQueue,
      args: [small('true', { notify })],
      startDelay: '2s',
    });
    await stack.jobs.cancel('contract-early');
    for (const [id, input] of Object.entries(STARTED)) await startPlainJob(stack.client, stack.taskQueue, id, input);
    await until('one runs', async () => (await stack.jobs.row('contract-cancelled')).phase === 'running');
    await stack.jobs.cancel('contract-cancelled');
  });
  after(async () => {
    await service?.stop();
    await stack?.stop();
    await server?.stop();
  });

  const resultOf = (id: string): Promise<Outcome> => stack.client.workflow.getHandle(id).result() as Promise<Outcome>;
  const failureOf = async (id: string): Promise<ApplicationFailure> => {
    const error: unknown = await resultOf(id).then(
      () => assert.fail(`${id} succeeded`),
      (reason: unknown) => reason,
    );
    assert.ok(error instanceof WorkflowFailedError && error.cause instanceof ApplicationFailure, String(error));
    return error.cause;
  };
  const noticeOf = async (id: string): Promise<JobNotice> => {
    const found = (await notices).filter(({ job }) => job === id);
    assert.equal(found.length, 1, `${id} told ${found.length} times`);
    return found[0] as JobNotice;
  };

  it('gets an Outcome as documented from the least job that can be started', async () =>
    assert.deepEqual(shapeOf(await resultOf('contract-least')), shapeOf(EXAMPLES['outcome of success'])));

  it('is told once of a success, with the outcome that the result has', async () => {
    const outcome = await resultOf('contract-full');
    const notice = await noticeOf('contract-full');
    assert.deepEqual(shapeOf(notice), shapeOf(EXAMPLES.notice));
    assert.deepEqual(notice, { v: 1, job: 'contract-full', run: notice.run, result: 'succeeded', outcome });
  });

  it('is told of a failure; the failure of the workflow is JobFailed and its only detail the same outcome', async () => {
    const failure = await failureOf('contract-fails');
    assert.deepEqual([failure.type, failure.details?.length], ['JobFailed', 1]);
    assert.deepEqual(shapeOf(failure.details?.[0]), shapeOf(EXAMPLES['outcome of failure']));
    const notice = await noticeOf('contract-fails');
    assert.deepEqual(notice.result === 'refused' ? undefined : notice.outcome, failure.details?.[0]);
  });

  it('is told of a refusal in the words of jobctl validate; the failure of the workflow is InvalidJob', async () => {
    const { type, message } = await failureOf('contract-refused');
    assert.deepEqual([type, message], ['InvalidJob', EXAMPLES['notice of a refusal'].message]);
    const notice = await noticeOf('contract-refused');
    assert.deepEqual(shapeOf(notice), shapeOf(EXAMPLES['notice of a refusal']));
    assert.equal(notice.result === 'refused' && notice.message, message);
  });

  it('is told of a cancel', async () => {
    await assert.rejects(
      resultOf('contract-cancelled'),
      (error) => error instanceof WorkflowFailedError && error.cause instanceof CancelledFailure,
    );
    assert.equal((await noticeOf('contract-cancelled')).result, 'cancelled');
  });

  it('is told of a cancel that came before a worker took the job', async () => {
    await assert.rejects(resultOf('contract-early'), (error) => error instanceof WorkflowFailedError);
    const notice = await noticeOf('contract-early');
    const outcome = notice.result === 'refused' ? undefined : notice.outcome;
    assert.equal(outcome?.cause?.message, 'cancelled before a worker took it');
    assert.deepEqual(await stack.jobs.wait('contract-early'), outcome);
    const { phase } = await stack.jobs.row('contract-early');
    assert.equal(phase, 'cancelled');
  });

  it('is told when the outcome was stored, and before the workflow is closed', async () => {
    await resultOf('contract-full');
    const events = (await stack.client.workflow.getHandle('contract-full').fetchHistory()).events ?? [];
    const told = events.find((event) => signalOf(event)?.signalName === 'jobEnded');
    const places = [
      events.findIndex((event) => event.activityTaskScheduledEventAttributes?.activityType?.name === 'recordOutcome'),
      events.findIndex((event) => event === told),
      events.findIndex((event) => String(signaledOf(event)?.initiatedEventId) === String(told?.eventId)),
      events.findIndex((event) => event.workflowExecutionCompletedEventAttributes),
    ];
    assert.ok(!places.includes(-1), places.join());
    assert.deepEqual(
      places,
      places.toSorted((a, b) => a - b),
    );
  });

  it('sees an input of a version that is not known refused, not tried for ever', async () => {
    const { type, message } = await failureOf('contract-v2');
    assert.equal(type, 'InvalidJob');
    assert.match(message, /^input\.v: 2 is not a version of a job's input that this worker knows\n {2}known: 1/);
  });

  it('that is not there or closed is a line in the story of the job, which ends as it did', async () => {
    assert.equal((await resultOf('contract-deaf')).result, 'succeeded');
    const log = String(await stack.store.read(`${jobLogPrefix('contract-deaf')}0`));
    assert.match(log, /notify: workflow nobody-there \(signal s\) could not be told: .*not found/);
    assert.match(log, /notify: workflow contract-v2 \(signal s\) could not be told: .*not found/);
  });

  it('leaves memo and search attributes out, and its jobs are listed like all others', async () => {
    await resultOf('contract-full');
    const { rows } = await until('all are listed as done', async () => {
      const page = await stack.jobs.list({ phase: 'succeeded', user: 'alice', project: 'vision' });
      return page.rows.length === 1 ? page : undefined;
    });
    const { id, slice, pool, label, attempts } = rows[0]!;
    assert.deepEqual([id, slice, pool, label, attempts], ['contract-full', 'v5litepod-8', 'default', 'REHEARSAL', 1]);
    const { memo } = await stack.client.workflow.getHandle('contract-full').describe();
    assert.deepEqual(shapeOf(memo), shapeOf(EXAMPLES.memo));
    // What was refused was no job.
    const failed = await until('the one that failed is listed', async () => {
      const page = await stack.jobs.list({ phase: 'failed' });
      return page.rows.length > 0 ? page : undefined;
    });
    assert.deepEqual(
      failed.rows.map((row) => row.id),
      ['contract-fails'],
    );
    for (const id of ['contract-refused', 'contract-v2']) assert.equal((await stack.jobs.row(id)).phase, 'failed', id);
  });

  it('submits the same job by JobClient under the same name, and it is the same job', async () => {
    const { job } = EXAMPLES['least input'];
    assert.deepEqual((await stack.jobs.submit({ name: 'contract-least', job })).isNew, false);
  });

  it('cannot start another job under the id of one that has ended, whatever its reuse policy', async () => {
    const before = await resultOf('contract-fails').catch(() => undefined);
    await startPlainJob(stack.client, stack.taskQueue, 'contract-fails', EXAMPLES['least input']);
    const { type, message } = await failureOf('contract-fails');
    assert.deepEqual([before, type], [undefined, 'InvalidJob']);
    assert.match(message, /^workflow id: a job contract-fails has run before .*\n {2}start the job under another id$/);
    const kept = JSON.parse(String(await stack.store.read(outcomeObject('contract-fails')))) as Outcome;
    assert.equal(kept.exitCode, 3);
  });

  it('may start a job again under the id of one that was refused', async () => {
    await failureOf('contract-v2');
    await startPlainJob(stack.client, stack.taskQueue, 'contract-v2', EXAMPLES['least input']);
    assert.equal((await resultOf('contract-v2')).result, 'succeeded');
  });

  it('reads by the query what is documented', async () => {
    const view = await stack.client.workflow.getHandle('contract-least').query<JobView>('describe');
    assert.deepEqual(shapeOf(view), shapeOf(EXAMPLES.view));
  });

  it('that dies as the parent of a running job leaves no node, no queued resource, no process and no lease', async () => {
    const admin = new RehearsalAdmin(stack.rehearsal.endpoints.admin);
    const { client, taskQueue: jobQueue } = stack;
    const job = small('echo started; sleep 600') as { v: 1; job: unknown };
    const handle = await client.workflow.start<typeof parent>('parent', {
      workflowId: 'contract-parent',
      taskQueue: service.taskQueue,
      args: [{ id: 'contract-child', jobQueue, job, policy: 'REQUEST_CANCEL' }],
    });
    await until('the child runs', async () => (await stack.jobs.row('contract-child')).phase === 'running');
    const inits = await vmInits(admin);
    await handle.terminate('test');
    assert.equal((await stack.jobs.wait('contract-child')).result, 'cancelled');
    await nothingIsLeft(stack, admin, inits);
  });
});

type HistoryEvent = NonNullable<Awaited<ReturnType<WorkflowHandle['fetchHistory']>>['events']>[number];
const signalOf = (event: HistoryEvent) => event.signalExternalWorkflowExecutionInitiatedEventAttributes;
const signaledOf = (event: HistoryEvent) => event.externalWorkflowExecutionSignaledEventAttributes;
