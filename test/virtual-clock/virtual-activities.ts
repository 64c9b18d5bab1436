import type { AttemptEnd, AttemptInput } from '../../contract/job-activities.js';
import { grantedSignal } from '../../contract/job.js';
import type { QuotaActivities } from '../../contract/quota-activities.js';
import { leaseAnswerSignal } from '../../contract/slice.js';
import { sliceWorkflowId } from '../../contract/workflow-ids.js';
import type { MachinePlan, MachineRef } from '../../domain/machines.js';
import type { Condition, CreateAnswer } from '../../domain/slice.js';
import type { StopNotice } from '../../domain/early-end.js';
import type { Timings } from '../../domain/timings.js';
import { plainActivities } from './plain-activities.js';
import type { VirtualActivities, VirtualServer } from './virtual-server.js';

/** What the activities of a `VirtualServer` meet. Each promise takes virtual time, and rejects once its signal says so. */
export interface VirtualCloud {
  create(plan: MachinePlan): Promise<CreateAnswer>;
  inspect(ref: MachineRef): Promise<Condition>;
  /** Until the slice is ready or lost. */
  wait(ref: MachineRef, signal: AbortSignal): Promise<Condition>;
  /** Until the slice is gone. */
  remove(ref: MachineRef): Promise<void>;
  /** A command on slices, until it ends or they are lost. */
  run(input: AttemptInput, signal: AbortSignal): Promise<AttemptEnd>;
  /** It is told to end. Absent: it does not hear. */
  stop?(input: AttemptInput & { readonly notice: StopNotice }): Promise<void>;
}

type PoolActivities = Pick<QuotaActivities, 'sendLease'>;

/** @param pool who grants leases; absent: every request is granted at once */
export function virtualActivities(
  server: VirtualServer,
  cloud: VirtualCloud,
  timings: Timings,
  pool: PoolActivities = openPool(server),
): VirtualActivities {
  return {
    ...plainActivities('virtual', timings),
    ...pool,
    createSlice: (plan: MachinePlan) => cloud.create(plan),
    putAside: async () => undefined,
    inspectSlice: ({ ref }: { readonly ref: MachineRef }) => cloud.inspect(ref),
    awaitSlice: ({ ref }: { readonly ref: MachineRef }, signal) => cloud.wait(ref, signal),
    deleteUntilGone: ({ ref }: { readonly ref: MachineRef }) => cloud.remove(ref),
    isJobOpen: async ({ id }: { readonly id: string }) => server.isOpen(id),
    stopAttempt: async (input: AttemptInput & { readonly notice: StopNotice }) => cloud.stop?.(input),
    superviseAttempt: (input: AttemptInput, signal) => supervise(server, cloud, timings, input, signal),
  };
}

function openPool(server: VirtualServer): PoolActivities {
  return {
    sendLease: async ({ lease: { job, run, number }, body, sender }) => {
      if (body.kind === 'request' && body.heldSince === undefined)
        server.signal(job, grantedSignal.name, { run, number, epoch: 1, tier: 0 });
      if (body.kind === 'slice')
        server.signal(sliceWorkflowId(sender), leaseAnswerSignal.name, { epoch: 1, isHeld: true });
    },
  };
}

async function supervise(
  server: VirtualServer,
  cloud: VirtualCloud,
  { superviseMs }: Timings,
  input: AttemptInput,
  signal: AbortSignal,
): Promise<AttemptEnd> {
  const over = new AbortController();
  const either = AbortSignal.any([signal, over.signal]);
  try {
    return await Promise.race([
      cloud.run(input, either),
      server.sleep(superviseMs, either).then((): AttemptEnd => ({ kind: 'still-running' })),
    ]);
  } finally {
    over.abort(new Error('over'));
  }
}
