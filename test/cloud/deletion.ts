import assert from 'node:assert/strict';
import { MockActivityEnvironment } from '@temporalio/testing';
import { deleteUntilGone } from '../../activities/giving-back.js';
import type { Machines } from '../../cloud/machines/port.js';
import type { StuckDeletion } from '../../domain/lease.js';
import type { MachinePlan } from '../../domain/machines.js';
import { DEFAULT_TIMINGS } from '../../domain/timings.js';

/** A deletion is told at its first answer. */
const timings = { ...DEFAULT_TIMINGS, giveBackMs: 0, notFoundApartMs: 50 };

export type Tell = (deletion: StuckDeletion) => Promise<void>;

/** What the slice workflow asks for, by one worker. */
export function deletionOf(port: Machines, { ref, ownership }: MachinePlan, more: object = {}, tell?: Tell) {
  const { owner, job, run } = ownership;
  const input = { ref, owner: { owner, job, run }, notBefore: 0, timings, ...more };
  const environment = new MockActivityEnvironment();
  return { environment, done: environment.run(() => deleteUntilGone(port, input, tell)) };
}

export const shouldNotTell: Tell = (stuck) => assert.fail(`told: ${JSON.stringify(stuck)}`);
