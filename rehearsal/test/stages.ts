import type { NodeState } from '../tpu/model.js';
import type { Settings } from '../tpu/settings.js';
import type { PureCloud } from './pure-cloud.js';
import { requestName } from './pure-cloud.js';

/** What a test does to a cloud whose queued resource, and its node, are called `a`. */
export type Step = (cloud: PureCloud) => void;

/** Each phase lasts a second. */
export const SECOND: Partial<Settings> = {
  ...{ creatingMs: 1000, queueMs: 1000, provisioningMs: 1000, suspendingMs: 1000, deletingMs: 1000 },
  ...{ stoppingMs: 1000, startingMs: 1000, repairingMs: 1000, updatingMs: 1000 },
};

export function inTurn(...steps: readonly Step[]): Step {
  return (cloud) => {
    for (const step of steps) step(cloud);
  };
}

export const second: Step = (c) => void c.step(1000);
export const preempted: Step = (c) => c.cloud.preempt(c.node('a'), 'preempted');
export const remove =
  (force: boolean): Step =>
  (c) =>
    void c.cloud.deleteQueuedResource(requestName('a'), force);

/** Stages of the queued resource. */
export const queued: Step = (c) => void c.queue('a');
export const waiting = inTurn(queued, second);
export const provisioning = inTurn(waiting, second);
export const active = inTurn(provisioning, second);
export const suspending = inTurn(active, preempted);
export const suspended = inTurn(suspending, second);

/** Of a node that is not DELETING. */
export const NODE_STATES: readonly NodeState[] = [
  ...(['CREATING', 'READY', 'RESTARTING', 'REIMAGING', 'REPAIRING', 'STOPPED', 'STOPPING', 'STARTING'] as const),
  ...(['PREEMPTED', 'TERMINATED', 'HIDING', 'HIDDEN', 'UNHIDING', 'UNKNOWN'] as const),
];
