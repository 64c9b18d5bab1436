import { createHash } from 'node:crypto';
import { Context, heartbeat, log } from '@temporalio/activity';
import { WorkflowNotFoundError } from '@temporalio/common';
import type { LeaseId } from '../domain/lease.js';
import type { SliceRef } from '../domain/slice.js';
import {
  grantedSignal,
  leaseAnswerSignal,
  prioritySignal,
  releaseSliceSignal,
  restateSignal,
  revokedSignal,
  type SliceInput,
  sliceWorkflowId,
  WorkflowType,
} from '../workflows/messages.js';
import type { Deliveries, DeliveryReport, PoolFacts, QuotaActivities } from './contract.js';
import type { ActivityDependencies, Installation } from './dependencies.js';
import { LeaseOutbox } from './lease-outbox.js';
import { findStrays, inspectHolders, readOpenWork } from './quota-open-work.js';
import { PoolPublisher } from './quota-publisher.js';
import { keepBook, readBook, writeHistory } from './quota-store.js';
import { eachOf, type WorkflowClient } from './workflow-lookup.js';

const client = (): WorkflowClient => Context.current().client;

export function quotaActivities(dependencies: ActivityDependencies): QuotaActivities {
  const { installation, quota, store, meter } = dependencies;
  const outbox = new LeaseOutbox(installation.taskQueue);
  const publisher = new PoolPublisher(store, meter);
  return {
    sendLease: async (message) => {
      const context = Context.current();
      await outbox.send(context.client, message);
      publisher.changed(context, message.lease.pool);
    },
    deliver: async (batch) => {
      const report = await deliver(client(), installation, batch);
      for (const pool of poolsOf(batch)) publisher.changed(Context.current(), pool);
      return report;
    },
    loadPool: async (pool, known) => {
      const facts = { ...(await quota.load(pool)), timings: installation.timings };
      // Of a pool with neither jobs nor leases this is all that is ever heard.
      publisher.changed(Context.current(), pool);
      const mark = markOf(facts);
      if (known === mark) return { same: mark };
      if (known !== undefined || facts.config !== undefined) return { ...facts, mark };
      return { ...(await quota.lastGood(pool)), ...facts, mark };
    },
    applyFiles: (pool, call) => quota.applyFiles(pool, call),
    readOpenWork: (pool) => readOpenWork(client(), dependencies, pool),
    inspectHolders: (questions) => inspectHolders(client(), questions),
    findStrays: async (pool) => {
      const strays = await findStrays(client(), pool);
      // A worker that died before it could publish leaves an old state behind.
      publisher.changed(Context.current(), pool);
      return strays;
    },
    writeHistory: (part) => writeHistory(store, part),
    keepBook: (part) => keepBook(store, part),
    readBook: (part) => readBook(store, part),
  };
}

/** A quota file of a hundred projects is kilobytes, and a pool reads it 2,880 times a day: it goes into a history once. */
const markOf = (facts: PoolFacts): string =>
  createHash('sha256').update(JSON.stringify(facts)).digest('base64url').slice(0, MARK_LENGTH);
const MARK_LENGTH = 16;

// Carrying decisions out -------------------------------------------------------------------------------------------

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
    // A grant to a job that has ended is no error: the lease comes back (facts/production.md 2, the first of two bugs).
    if (!wasHeard) closedJobs.push(lease);
  });
  await eachOf(batch.revocations ?? [], WIDTH, async ({ lease, reason, cause }) => {
    const { job, run, number } = lease;
    const wasHeard = await signalIfOpen(() =>
      temporal.workflow.getHandle(job).signal(revokedSignal, { run, number, epoch, reason, cause }),
    );
    if (!wasHeard) closedJobs.push(lease);
  });
  await eachOf(batch.priorities ?? [], WIDTH, async ({ job, priority }) => {
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

/** One slice workflow per name: an open one is told to go, a closed or unknown one is started anew to find what is left. */
export async function startReclaim(
  temporal: WorkflowClient,
  installation: Installation,
  lease: LeaseId,
  ref: SliceRef,
): Promise<void> {
  const ownership = { owner: installation.owner, job: lease.job, run: lease.run, generation: 0, spec: '' };
  const input: SliceInput = { v: 1, task: { kind: 'reclaim', ref, ownership }, lease, timings: installation.timings };
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

/** A batch is of one pool; an answer to a slice does not name it, and changes nothing that is published. */
const poolsOf = ({ grants, revocations = [], reclaims }: Deliveries): ReadonlySet<string> =>
  new Set(
    [...grants, ...revocations.map(({ lease }) => lease), ...reclaims.map(({ lease }) => lease)].map(
      ({ pool }) => pool,
    ),
  );
