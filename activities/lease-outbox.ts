import type { LeaseMessage } from '../domain/lease.js';
import { leaseMessagesSignal, quotaStart } from '../contract/quota.js';
import { WorkflowType } from '../contract/workflow-ids.js';
import { Outbox, SIGNAL_DEADLINE_MS } from './outbox.js';
import type { WorkflowClient } from './workflow-lookup.js';

/**
 * The lease messages of one worker, coalesced for each pool. Each batch is one signal-with-start, so that a quota workflow that
 * was terminated comes back with the next message.
 */
export class LeaseOutbox {
  readonly #outbox: Outbox<WorkflowClient, LeaseMessage>;

  constructor(taskQueue: string, deadlineMs: number = SIGNAL_DEADLINE_MS) {
    this.#outbox = new Outbox((client, pool, batch) =>
      client.withDeadline(Date.now() + deadlineMs, () =>
        client.workflow.signalWithStart(WorkflowType.Quota, {
          ...quotaStart(pool, taskQueue),
          signal: leaseMessagesSignal,
          signalArgs: [batch],
        }),
      ),
    );
  }

  send(client: WorkflowClient, message: LeaseMessage): Promise<void> {
    return this.#outbox.send(client, message.lease.pool, message);
  }
}
