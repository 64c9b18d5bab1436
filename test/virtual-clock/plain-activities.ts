import assert from 'node:assert/strict';
import { Context } from '@temporalio/activity';
import type { JobActivities } from '../../contract/job-activities.js';
import { grantedSignal } from '../../contract/job.js';
import type { QuotaActivities } from '../../contract/quota-activities.js';
import { leaseAnswerSignal, type SliceActivities } from '../../contract/slice.js';
import { sliceWorkflowId } from '../../contract/workflow-ids.js';
import { machineRequestOf } from '../../domain/machines.js';
import type { Timings } from '../../domain/timings.js';

export type ScriptedActivities = JobActivities & SliceActivities & Pick<QuotaActivities, 'sendLease'>;

/** One host. */
export const READY = {
  kind: 'ready',
  uid: 'uid',
  hosts: [{ reach: 'ssh', index: 0, internalIp: '10.0.0.1' }],
} as const;
export const WAITING = { kind: 'waiting', detail: 'PROVISIONING' } as const;

/**
 * Activities of the workflows of jobs and slices behind which there is no host, no cloud and no pool: everything is granted at once,
 * and the command ends with code 0. A test replaces what it is about.
 */
export function plainActivities(taskQueue: string, timings: Timings): ScriptedActivities {
  return {
    acceptJob: async ({ spec }) => ({ ...SETTINGS, timings, machines: machineRequestOf(spec) }),
    claimWorker: async () => ({ taskQueue }),
    setUpHosts: async () => ({ kind: 'ready' }),
    setUpAgain: async () => ({ kind: 'ready' }),
    stopSetUp: async () => undefined,
    superviseAttempt: async () => ({ kind: 'exited', code: 0, at: { slice: 0, host: 0 }, startedAt: 0 }),
    stopAttempt: async () => undefined,
    runHook: async () => assert.fail('the job has no hooks'),
    holdSlices: async () => [],
    recordAttempt: async () => undefined,
    findDoneTwice: async () => ({}),
    findInputs: async () => assert.fail('the job has no inputs'),
    recordOutcome: async () => undefined,
    sendLease: (message) => answerLease(message),
    createSlice: async () => ({ kind: 'accepted' }),
    putAside: async () => undefined,
    inspectSlice: async () => WAITING,
    awaitSlice: async () => READY,
    deleteUntilGone: async () => undefined,
    isJobOpen: async () => true,
  };
}

/** As a pool that grants each request would, from within an activity. @param hasRoom whether a slice that asks may be created */
export async function answerLease(
  { lease, body, sender }: Parameters<QuotaActivities['sendLease']>[0],
  hasRoom: (isBeside: boolean) => boolean = () => true,
): Promise<void> {
  const { workflow } = Context.current().client;
  if (body.kind === 'request' && body.heldSince === undefined)
    await workflow
      .getHandle(lease.job)
      .signal(grantedSignal.name, { run: lease.run, number: lease.number, epoch: 1, tier: 0 });
  if (body.kind === 'slice')
    await workflow
      .getHandle(sliceWorkflowId(sender))
      .signal(leaseAnswerSignal.name, { epoch: 1, isHeld: hasRoom(body.isBeside === true) });
}

const SETTINGS = {
  owner: 'owner',
  bucket: 'bucket',
  googleProject: 'rehearsal',
  publicKey: 'ssh-ed25519 AAAA',
  loginUser: 'alice',
  user: 'alice',
  project: 'none',
  quotaNote: 'pool default',
} as const;
