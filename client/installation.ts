import { randomBytes } from 'node:crypto';
import type { Client } from '@temporalio/client';
import type { StorePort } from '../cloud/store/port.js';
import { changesObject, ownerObject } from '../domain/store-layout.js';
import { type Change, CHANGES, switchesOfNewInstallation } from '../contract/changes.js';
import { type JanitorInput, janitorScheduleId } from '../contract/janitor.js';
import { WorkflowType } from '../contract/workflow-ids.js';
import { TASK_QUEUE } from '../domain/temporal-server.js';

const OWNER_BYTES = 6;

export interface InstallationOwner {
  /** 12 hexadecimal digits. */
  readonly id: string;
  readonly isNew: boolean;
}

/**
 * The random id that labels every cloud resource of this installation (docs/design.md, "Nothing leaks"). The first call creates,
 * in the job bucket, the switches of the changes that this build requires, and then the id. Concurrent first calls return the
 * same id.
 * @param known the changes of this build
 */
export async function ensureOwner(
  store: StorePort,
  known: Readonly<Record<string, Change>> = CHANGES,
): Promise<InstallationOwner> {
  const before = await store.read(ownerObject);
  if (before !== undefined) return { id: textOf(before), isNew: false };
  const switches = switchesOfNewInstallation(known, Date.now());
  if (Object.keys(switches.changes).length > 0)
    await store.write(changesObject, JSON.stringify(switches), 'absent', 'application/json');
  const id = randomBytes(OWNER_BYTES).toString('hex');
  const { kind } = await store.write(ownerObject, id, 'absent', 'text/plain');
  if (kind === 'written') return { id, isNew: true };
  const other = await store.read(ownerObject);
  if (other === undefined)
    throw new Error(`${ownerObject} in bucket ${store.bucket}: was removed while it was being made`);
  return { id: textOf(other), isNew: false };
}

const textOf = (bytes: Buffer): string => bytes.toString('utf8').trim();

/** Default interval. Workers start a sweep in between if it would find something (docs/adr/0152). */
export const JANITOR_EVERY_MS = 60 * 60_000;

/** Creates the Temporal Schedule of the janitor. An existing schedule is not changed, so operators' edits stay. */
export async function ensureJanitorSchedule(
  client: Client,
  taskQueue: string,
): Promise<'created' | 'exists' | 'paused'> {
  const { ScheduleAlreadyRunning } = await import('@temporalio/client');
  const input: JanitorInput = { v: 1 };
  const scheduleId = janitorScheduleId(taskQueue);
  try {
    await client.schedule.create({
      scheduleId,
      spec: { intervals: [{ every: JANITOR_EVERY_MS }] },
      action: {
        type: 'startWorkflow',
        workflowType: WorkflowType.Janitor,
        workflowId: taskQueue === TASK_QUEUE ? 'janitor' : `janitor-${taskQueue}`,
        taskQueue,
        args: [input],
      },
      // Sweeps never overlap.
      policies: { overlap: 'SKIP', catchupWindow: '1 minute' },
    });
    return 'created';
  } catch (error) {
    if (!(error instanceof ScheduleAlreadyRunning)) throw error;
    const { state } = await client.schedule.getHandle(scheduleId).describe();
    return state.paused ? 'paused' : 'exists';
  }
}
