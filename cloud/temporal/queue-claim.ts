import { randomUUID } from 'node:crypto';
import type { Connection } from '@temporalio/client';

/** The task queue from which the workers of one installation take their tasks. */
export interface QueuePlace {
  readonly connection: Pick<Connection, 'workflowService'>;
  readonly namespace: string;
  readonly taskQueue: string;
}

/**
 * Holds the owner of a task queue (docs/adr/0103): a Temporal Schedule that is paused and has no times, so that it starts
 * nothing. Its memo names the owner id of the installation. Creating one is atomic and needs only a worker's rights, and the
 * server keeps it until it is deleted.
 */
export const claimScheduleId = (taskQueue: string): string => `jobctl-installation-${taskQueue}`;

/**
 * The owner id that holds the queue; empty if the claim names none. Undefined if it is unclaimed, or the server forgot the claim.
 */
export async function ownerOfQueue({ connection, namespace, taskQueue }: QueuePlace): Promise<string | undefined> {
  const scheduleId = claimScheduleId(taskQueue);
  try {
    const { memo } = await connection.workflowService.describeSchedule({ namespace, scheduleId });
    const data = memo?.fields?.['owner']?.data;
    return data ? String(JSON.parse(Buffer.from(data).toString('utf8'))) : '';
  } catch (error) {
    if ((error as { code?: number }).code === NOT_FOUND) return undefined;
    throw error;
  }
}

/** Claims a queue that has no owner. May be repeated. @returns the owner id after the call */
export async function claimQueue(place: QueuePlace, owner: string): Promise<string> {
  const before = await ownerOfQueue(place);
  if (before !== undefined) return before;
  try {
    await place.connection.workflowService.createSchedule(claimRequest(place, owner));
    return owner;
  } catch (error) {
    if ((error as { code?: number }).code !== ALREADY_EXISTS) throw error;
    return (await ownerOfQueue(place)) ?? owner;
  }
}

/** Takes the queue from its holder, for an operator who says that the other installation is gone. */
export async function takeQueueOver(place: QueuePlace, owner: string): Promise<void> {
  const { connection, namespace, taskQueue } = place;
  await connection.workflowService
    .deleteSchedule({ namespace, scheduleId: claimScheduleId(taskQueue) })
    .catch((error: unknown) => {
      if ((error as { code?: number }).code !== NOT_FOUND) throw error;
    });
  await connection.workflowService.createSchedule(claimRequest(place, owner));
}

/** The error text for a worker of installation `ours` if another installation holds the queue. */
export function foreignQueueText(
  { namespace, taskQueue }: Omit<QueuePlace, 'connection'>,
  theirs: string,
  ours: string,
): string {
  return (
    `task queue '${taskQueue}' of namespace '${namespace}' is installation '${theirs}', and this is installation '${ours}': ` +
    `its tasks are left to the workers of '${theirs}'. Is the server the right one, and the bucket? Two installations need two task ` +
    `queues or namespaces; if '${theirs}' is gone for good, 'jobctl setup server --take-over' makes the queue this one's`
  );
}

/** Codes of gRPC. */
const NOT_FOUND = 5;
const ALREADY_EXISTS = 6;

const NOTES = "Says which jobctl installation this task queue is (memo 'owner'). It starts nothing; leave it paused.";

function claimRequest({ namespace, taskQueue }: QueuePlace, owner: string) {
  return {
    namespace,
    scheduleId: claimScheduleId(taskQueue),
    schedule: {
      spec: {},
      action: {
        startWorkflow: {
          workflowId: claimScheduleId(taskQueue),
          workflowType: { name: 'janitor' },
          taskQueue: { name: taskQueue },
          input: { payloads: [payloadOf({ v: 1 })] },
        },
      },
      policies: {},
      state: { paused: true, notes: NOTES },
    },
    memo: { fields: { owner: payloadOf(owner) } },
    requestId: randomUUID(),
  };
}

/** Never encrypted: a worker without the codec key must be able to read it. */
const payloadOf = (value: unknown) => ({
  metadata: { encoding: Buffer.from('json/plain') },
  data: Buffer.from(JSON.stringify(value)),
});
