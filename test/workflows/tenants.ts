import {
  condition,
  defineQuery,
  defineSignal,
  getExternalWorkflowHandle,
  ParentClosePolicy,
  proxyActivities,
  setHandler,
  startChild,
  upsertMemo,
  upsertSearchAttributes,
  workflowInfo,
} from '@temporalio/workflow';
import { defineSearchAttributeKey, SearchAttributeType } from '@temporalio/common';
import type { QuotaActivities } from '../../contract/quota-activities.js';
import type { Demand, LeaseId, LeaseMessageBody } from '../../domain/lease.js';
import type { MachineRef } from '../../domain/machines.js';
import { grantedSignal, prioritySignal, restateSignal, revokedSignal, sliceNewsSignal } from '../../contract/job.js';
import { giveUpSignal, leaseAnswerSignal, releaseSliceSignal, type SliceInput } from '../../contract/slice.js';
import { sliceWorkflowId } from '../../contract/workflow-ids.js';
import { Sequence } from '../../workflows/one-at-a-time.js';

/** Jobs and slices that do to a pool what real ones do, and nothing else: they ask, hold, give back, and tell what is live. */
export { quota } from '../../workflows/quota.js';

export interface TenantInput {
  readonly pool: string;
  readonly demand: Omit<Demand, 'submittedAt'>;
  /** It starts no slice before the signal `go`. */
  readonly isSlow?: boolean;
  /** It answers no revocation before the signal `go`. */
  readonly isStubborn?: boolean;
  /** It does not say again what it holds. */
  readonly isMute?: boolean;
}
export interface TenantView {
  readonly number: number;
  readonly state: 'waiting' | 'granted' | 'holding' | 'giving-back';
  readonly revoked?: string;
  readonly tier?: number;
  readonly pricing?: string;
  readonly priority: number;
}

const { sendLease } = proxyActivities<QuotaActivities>({ startToCloseTimeout: '20s' });
const { live } = proxyActivities<{ live(units: number): Promise<void> }>({ startToCloseTimeout: '20s' });
const POOL = defineSearchAttributeKey('JobPool', SearchAttributeType.KEYWORD);
const PHASE = defineSearchAttributeKey('JobPhase', SearchAttributeType.KEYWORD);

export async function job({
  pool,
  demand: own,
  isSlow = false,
  isStubborn = false,
  isMute = false,
}: TenantInput): Promise<void> {
  const { workflowId, firstExecutionRunId: run, startTime } = workflowInfo();
  const sequence = new Sequence();
  let demand: Demand = { ...own, submittedAt: startTime.getTime(), zones: ['z'] };
  let number = 1;
  let state: TenantView['state'] = 'waiting';
  let heldSince: number | undefined;
  let terms: { tier?: number; pricing?: string } = {};
  let revoked: string | undefined;
  let slices: MachineRef[] = [];
  let isReady = false;
  let [mayGo, isDone] = [!isSlow && !isStubborn, false];
  const lease = (): LeaseId => ({ pool, job: workflowId, run, number });
  const tell = (body: LeaseMessageBody): Promise<void> =>
    sendLease({ lease: lease(), sender: 'job', sequence: sequence.next(), body });
  const ask = (): Promise<void> =>
    tell({
      kind: 'request',
      demand,
      slices,
      ...(heldSince === undefined ? {} : { heldSince }),
      ...(terms.tier === undefined ? {} : { tier: terms.tier }),
      ...(isReady ? { zone: 'z' } : {}),
    });

  setHandler(grantedSignal, (grant) => {
    if (grant.number !== number) return;
    heldSince ??= Date.now();
    terms = {
      ...(grant.tier === undefined ? {} : { tier: grant.tier }),
      ...(grant.pricing && { pricing: grant.pricing }),
    };
  });
  setHandler(revokedSignal, (news) => {
    if (news.number === number) revoked = news.reason;
  });
  setHandler(prioritySignal, ({ priority }) => {
    demand = { ...demand, priority };
  });
  setHandler(restateSignal, () => (isMute ? undefined : ask()));
  setHandler(sliceNewsSignal, ({ news }) => {
    if (news.kind === 'ready') isReady = true;
    if (news.kind === 'gone') [slices, isReady] = [[], false];
  });
  setHandler(defineSignal('go'), () => void (mayGo = true));
  setHandler(defineSignal('finish'), () => void (isDone = true));
  setHandler(defineQuery<TenantView>('tenant'), (): TenantView => ({
    number,
    state,
    ...(revoked === undefined ? {} : { revoked }),
    ...terms,
    priority: demand.priority,
  }));
  upsertMemo({ run });
  upsertSearchAttributes([{ key: POOL, value: pool }]);

  while (!isDone) {
    state = 'waiting';
    upsertSearchAttributes([{ key: PHASE, value: 'queued' }]);
    await ask();
    await condition(() => heldSince !== undefined || revoked !== undefined || isDone);
    state = 'granted';
    upsertSearchAttributes([{ key: PHASE, value: 'provisioning' }]);
    if (isSlow) await condition(() => mayGo || revoked !== undefined || isDone);
    if (revoked === undefined && !isDone) {
      await startSlice();
      await condition(() => isReady || slices.length === 0);
      if (isReady) await tell({ kind: 'chips', zone: 'z' });
      state = 'holding';
      await condition(() => revoked !== undefined || isDone || slices.length === 0);
    }
    state = 'giving-back';
    if (isStubborn) await condition(() => mayGo);
    for (const { name } of slices)
      await getExternalWorkflowHandle(sliceWorkflowId(name)).signal(releaseSliceSignal, { reason: 'given back' });
    await condition(() => slices.length === 0);
    await tell({ kind: 'release', slices: [] });
    number += 1;
    [heldSince, revoked, terms] = [undefined, undefined, {}];
  }

  async function startSlice(): Promise<void> {
    const ref: MachineRef = {
      kind: 'cloud-tpu',
      googleProject: 'test',
      zone: 'z',
      name: `jc-${workflowId}-g${number}`,
      mode: 'tpu-vm',
    };
    slices = [ref];
    const input = {
      v: 1,
      task: { kind: 'create', plan: { ref } },
      lease: lease(),
      timings: {},
    } as unknown as SliceInput;
    await startChild('slice', {
      workflowId: sliceWorkflowId(ref.name),
      args: [input],
      parentClosePolicy: ParentClosePolicy.ABANDON,
      memo: { lease: lease(), demand, ref, tier: terms.tier },
      typedSearchAttributes: [{ key: POOL, value: pool }],
    });
  }
}

/** Chips are live from when the pool said yes until just before it says that they are gone. */
export async function slice({ lease, task }: SliceInput): Promise<void> {
  const ref = task.kind === 'create' ? task.plan.ref : task.ref;
  const sequence = new Sequence();
  let isTold = task.kind === 'reclaim';
  let isHeld: boolean | undefined;
  let isGivenUp = false;
  setHandler(releaseSliceSignal, () => void (isTold = true));
  setHandler(giveUpSignal, () => void (isGivenUp = true));
  setHandler(leaseAnswerSignal, (answer) => void (isHeld = answer.isHeld));
  const tell = (body: LeaseMessageBody): Promise<void> =>
    sendLease({ lease, sender: ref.name, sequence: sequence.next(), body });
  const report = async (news: 'ready' | 'gone'): Promise<void> => {
    await getExternalWorkflowHandle(lease.job)
      .signal(sliceNewsSignal, { name: ref.name, run: lease.run, news: { kind: news } as never })
      .catch(() => undefined);
  };
  if (!isTold) {
    await tell({ kind: 'slice', ref });
    while (!(await condition(() => isHeld !== undefined || isTold, '2s'))) await tell({ kind: 'slice', ref });
  }
  if (isHeld === true) {
    await live(1);
    await report('ready');
    await condition(() => isTold);
    // Its provider refuses every call.
    if (lease.job.endsWith('undeletable')) await condition(() => isGivenUp);
    await live(-1);
  }
  await report('gone');
  await tell({ kind: 'gone' });
}
