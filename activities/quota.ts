import { createHash } from 'node:crypto';
import { Context, heartbeat, log } from '@temporalio/activity';
import { WorkflowNotFoundError } from '@temporalio/common';
import type { LeaseId } from '../domain/lease.js';
import type { MachineRef } from '../domain/machines.js';
import { grantedSignal, prioritySignal, restateSignal, revokedSignal } from '../contract/job.js';
import { giveUpSignal, leaseAnswerSignal, releaseSliceSignal, type SliceInput } from '../contract/slice.js';
import { publishedQuery } from '../contract/quota.js';
import { quotaWorkflowId, sliceWorkflowId, WorkflowType } from '../contract/workflow-ids.js';
import type {
  Deliveries,
  DeliveryReport,
  PoolFacts,
  QuotaActivities,
  BookPart,
  HistoryPart,
} from '../contract/quota-activities.js';
import { eachOf } from '../domain/semaphore.js';
import type { StorePort } from '../cloud/store/port.js';
import { poolBookObject, poolHistoryObject } from '../domain/store-layout.js';
import type { ActivityDependencies, Installation } from './dependencies.js';
import { type PackedPoolState, unpackState } from '../quota/published-state.js';
import { isWaitedFor } from '../quota/waiting-line.js';
import { LeaseOutbox } from './lease-outbox.js';
import { findStrays, queryPages, readOpenWork } from './quota-open-work.js';
import { PoolWatch } from './pool-watch.js';
import { PoolPublisher } from './quota-publisher.js';
import type { WorkflowClient } from './workflow-lookup.js';

const client = (): WorkflowClient => Context.current().client;

type Files = Pick<ActivityDependencies, 'installation' | 'quota'>;

/** The watch of a worker's pools. The worker begins it, and the activities tell it which pools have read their files. */
export const poolWatch = (dependencies: Files & Pick<ActivityDependencies, 'store'>): PoolWatch =>
  new PoolWatch({
    store: dependencies.store,
    timings: dependencies.installation.timings,
    markOf: async (pool) => markOf(await factsOf(dependencies, pool)),
  });

const factsOf = async ({ installation, quota }: Files, pool: string): Promise<PoolFacts> => ({
  googleProject: installation.googleProject,
  ...(await quota.load(pool)),
  timings: installation.timings,
});

export function quotaActivities(
  dependencies: ActivityDependencies,
  watch: PoolWatch = poolWatch(dependencies),
): QuotaActivities {
  const { installation, quota, store, meter } = dependencies;
  const outbox = new LeaseOutbox(installation.taskQueue);
  const publisher = new PoolPublisher(store, meter, { keepMs: 2 * installation.timings.reconcileMs });
  return {
    sendLease: async (message) => {
      const context = Context.current();
      await outbox.send(context.client, message);
      publisher.changed(context, message.lease.pool);
    },
    deliver: async (batch) => {
      const report = await deliver(client(), installation, batch);
      if (changesPool(batch)) publisher.changed(Context.current(), batch.pool);
      return report;
    },
    loadPool: async (pool, known) => {
      const facts = await factsOf(dependencies, pool);
      // A pool with neither jobs nor leases sends nothing else.
      publisher.changed(Context.current(), pool);
      const mark = markOf(facts);
      watch.hasRead(Context.current(), pool, mark);
      if (known === mark) return { same: mark };
      if (known !== undefined || facts.config !== undefined) return { ...facts, mark };
      return { ...(await quota.lastGood(pool)), ...facts, mark };
    },
    applyFiles: (pool, call) => quota.applyFiles(pool, call),
    readOpenWork: (pool) => readOpenWork(client(), dependencies, pool),
    findStrays: async (pool) => {
      const strays = await findStrays(client(), pool);
      // A worker that died before it could publish leaves an old state behind.
      publisher.changed(Context.current(), pool);
      return strays;
    },
    isWaitedFor: async (question) => {
      const packed = await queryPages(client(), quotaWorkflowId(question.pool), publishedQuery);
      return isWaitedFor(unpackState(packed as PackedPoolState), question);
    },
    writeHistory: (part) => writeHistory(store, part),
    keepBook: (part) => keepBook(store, part),
    readBook: (part) => readBook(store, part),
  };
}

/**
 * Mark of a pool's files, so that unchanged files go into a history only once: a quota file of a hundred projects is kilobytes,
 * and a busy pool reads it 2,880 times a day.
 */
const markOf = (facts: PoolFacts): string =>
  createHash('sha256').update(JSON.stringify(facts)).digest('base64url').slice(0, MARK_LENGTH);
const MARK_LENGTH = 16;

// Carrying out decisions -------------------------------------------------------------------------------------------

/** Signals at one time. The server's own limit per namespace is far above it. */
const WIDTH = 20;

async function deliver(
  temporal: WorkflowClient,
  installation: Installation,
  batch: Deliveries,
): Promise<DeliveryReport> {
  const closedJobs: LeaseId[] = [];
  const { epoch } = batch;
  await eachOf(batch.grants, WIDTH, async (lease) => {
    const { job, run, number, pool: _, ...terms } = lease;
    const wasHeard = await signalIfOpen(() =>
      temporal.workflow.getHandle(job).signal(grantedSignal, { run, number, epoch, ...terms }),
    );
    // A grant to a job that has ended is not an error: the lease is returned (docs/facts.md, "Temporal", the first of two bugs).
    if (!wasHeard) closedJobs.push(lease);
  });
  await eachOf(batch.revocations, WIDTH, async ({ lease, reason, cause }) => {
    const { job, run, number } = lease;
    const wasHeard = await signalIfOpen(() =>
      temporal.workflow.getHandle(job).signal(revokedSignal, { run, number, epoch, reason, cause }),
    );
    if (!wasHeard) closedJobs.push(lease);
  });
  await eachOf(batch.priorities, WIDTH, async ({ job, priority }) => {
    await signalIfOpen(() => temporal.workflow.getHandle(job.id).signal(prioritySignal, { run: job.run, priority }));
  });
  await eachOf(batch.answers, WIDTH, async ({ slice, isHeld }) => {
    await signalIfOpen(() =>
      temporal.workflow.getHandle(sliceWorkflowId(slice)).signal(leaseAnswerSignal, { epoch, isHeld }),
    );
  });
  await eachOf(batch.releases, WIDTH, async ({ slice, reason }) => {
    await signalIfOpen(() =>
      temporal.workflow.getHandle(sliceWorkflowId(slice)).signal(releaseSliceSignal, { reason }),
    );
  });
  await eachOf(batch.giveUps ?? [], WIDTH, async ({ slice, reason }) => {
    await signalIfOpen(() => temporal.workflow.getHandle(sliceWorkflowId(slice)).signal(giveUpSignal, { reason }));
  });
  await eachOf(batch.restate, WIDTH, async ({ id }) => {
    await signalIfOpen(() => temporal.workflow.getHandle(id).signal(restateSignal, { epoch }));
  });
  await eachOf(batch.reclaims, WIDTH, ({ lease, ref }) => startReclaim(temporal, installation, lease, ref));
  return { closedJobs };
}

/** False: the workflow is closed, or unknown. */
async function signalIfOpen(send: () => Promise<void>): Promise<boolean> {
  heartbeat();
  try {
    await send();
    return true;
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return false;
    throw error;
  }
}

/**
 * Starts the slice workflow that deletes a slice's remains. There is one workflow for a name: an open one is told to end, and a
 * closed or unknown one is started anew.
 */
export async function startReclaim(
  temporal: WorkflowClient,
  installation: Installation,
  lease: LeaseId,
  ref: MachineRef,
): Promise<void> {
  const owner = { owner: installation.owner, job: lease.job, run: lease.run };
  const input: SliceInput = { v: 1, task: { kind: 'reclaim', ref, owner }, lease, timings: installation.timings };
  log.info(`reclaiming ${ref.name}`, { lease });
  await temporal.workflow.signalWithStart(WorkflowType.Slice, {
    workflowId: sliceWorkflowId(ref.name),
    taskQueue: installation.taskQueue,
    args: [input],
    signal: releaseSliceSignal,
    signalArgs: [{ reason: 'its workflow was closed before it was seen gone' }],
    staticSummary: `reclaims ${ref.name}, left behind by ${lease.job}`,
  });
}

/** Whether the deliveries change what is published. An answer to a slice does not; the priority of a lease's job does. */
export const changesPool = ({
  grants,
  revocations,
  priorities,
  reclaims,
  restate,
  giveUps = [],
}: Deliveries): boolean =>
  [grants, revocations, priorities, reclaims, restate, giveUps].some((news) => news.length > 0);

/** The same lines always get the same name, so an existing object already has them. */
export async function writeHistory(store: StorePort, { pool, day, name, lines }: HistoryPart): Promise<void> {
  const text = lines.map((line) => `${line}\n`).join('');
  await store.write(poolHistoryObject(pool, day, name), text, 'absent', 'application/x-ndjson');
}

/** Stored with its hash, so that a part of another book is not taken for this one. */
async function keepBook(store: StorePort, { pool, name, text }: BookPart & { text: string }): Promise<void> {
  await store.replace(poolBookObject(pool, name), `${hashOf(text)}\n${text}`, 'application/json');
}

/** Undefined: it does not exist, or is not whole. */
async function readBook(store: StorePort, { pool, name }: BookPart): Promise<string | undefined> {
  const content = (await store.read(poolBookObject(pool, name)))?.toString('utf8');
  if (content === undefined) return undefined;
  const lineEnd = content.indexOf('\n');
  const text = content.slice(lineEnd + 1);
  return content.slice(0, lineEnd) === hashOf(text) ? text : undefined;
}

const hashOf = (text: string): string => createHash('sha256').update(text).digest('hex');
