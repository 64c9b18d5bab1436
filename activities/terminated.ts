import { setTimeout as sleep } from 'node:timers/promises';
import type { Client, WorkflowExecutionInfo } from '@temporalio/client';
import type { StorePort } from '../cloud/store/port.js';
import { inItsTurn } from '../contract/early-query.js';
import { accountQuery } from '../contract/job.js';
import { WorkflowType } from '../contract/workflow-ids.js';
import { type JobRecord, readRecord } from '../domain/counted/record.js';
import { usageObject } from '../domain/store-layout.js';
import type { EpochMs } from '../domain/units.js';
import { storeCounted } from './counted.js';
import { describe, firstRunOf } from './workflow-lookup.js';

/** Older ones have been looked at by then, unless no worker was there for so long. */
const LOOK_BACK_MS = 7 * 86_400_000;
/** Jobs that one look counts: each has its history read by a worker. */
const MOST_AT_ONCE = 100;
const ANSWER_MS = 30_000;

/**
 * Counts jobs whose workflow was ended in Temporal, by a terminate or a timeout (docs/adr/0182). They left no outcome, so their
 * workflow is asked for its account up to that time, while Temporal still has its history.
 */
export class TerminatedJobs {
  readonly #client: Pick<Client, 'workflow' | 'withDeadline'>;
  readonly #store: StorePort;
  readonly #taskQueue: string;
  /** Runs that need no further look. */
  readonly #seen = new Set<string>();

  constructor(client: Pick<Client, 'workflow' | 'withDeadline'>, store: StorePort, taskQueue: string) {
    this.#client = client;
    this.#store = store;
    this.#taskQueue = taskQueue;
  }

  /** @returns the number of jobs that it has counted @throws Error that names the jobs of which no account could be had */
  async count(now: EpochMs): Promise<number> {
    const query =
      `WorkflowType = '${WorkflowType.Job}' AND TaskQueue = '${this.#taskQueue}'` +
      " AND (ExecutionStatus = 'Terminated' OR ExecutionStatus = 'TimedOut')" +
      ` AND CloseTime > '${new Date(now - LOOK_BACK_MS).toISOString()}'`;
    const problems: string[] = [];
    let [looks, counted] = [0, 0];
    for await (const execution of this.#client.workflow.list({ query, pageSize: 1_000 })) {
      if (this.#seen.has(execution.runId)) continue;
      if ((looks += 1) > MOST_AT_ONCE) break;
      try {
        if (await this.#countOne(execution)) counted += 1;
        this.#seen.add(execution.runId);
      } catch (error) {
        problems.push(`${execution.workflowId}: ${String(error).split('\n')[0]}`);
      }
    }
    if (problems.length > 0) throw new Error(problems.join('; '));
    return counted;
  }

  async #countOne({ workflowId: id, runId, closeTime }: WorkflowExecutionInfo): Promise<boolean> {
    if (closeTime === undefined) return false;
    // The run that a reset or a later job has left behind.
    const last = await describe(this.#client as Client, id);
    if (last?.runId !== runId) return false;
    const endedAt = closeTime.getTime();
    const known = await this.#known(id);
    const isCounted = (run: string | undefined): boolean =>
      known !== undefined && known.run === run && known.countedTo >= endedAt;
    // Before the question, which has a worker read the whole history.
    if (isCounted(firstRunOf(last))) return false;
    const account = await this.#account(id, runId, endedAt);
    if (account === null || isCounted(account.run)) return false;
    // It had its outcome, and kept its slices until then.
    const outcome = known?.run === account.run && { result: known.result, endedAt: known.endedAt };
    await storeCounted(this.#store, { ...account, ...outcome });
    return true;
  }

  async #known(job: string): Promise<JobRecord | undefined> {
    const content = await this.#store.read(usageObject(job));
    return content && readRecord(content.toString('utf8'));
  }

  #account(id: string, runId: string, endedAt: EpochMs): Promise<JobRecord | null> {
    const ask = () => this.#client.workflow.getHandle(id, runId).query(accountQuery, endedAt);
    return inItsTurn(() => this.#client.withDeadline(Date.now() + ANSWER_MS, ask), sleep);
  }
}
