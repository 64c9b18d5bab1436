import type { AttemptEnd, AttemptInput } from '../../contract/job-activities.js';
import { type JobView, describeQuery, grantedSignal, revokedSignal } from '../../contract/job.js';
import type { QuotaActivities } from '../../contract/quota-activities.js';
import { leaseAnswerSignal } from '../../contract/slice.js';
import { sliceWorkflowId, WorkflowType } from '../../contract/workflow-ids.js';
import type { MachinePlan, MachineRef } from '../../domain/machines.js';
import type { Condition, CreateAnswer } from '../../domain/slice.js';
import type { Outcome } from '../../domain/job-state.js';
import { DEFAULT_TIMINGS, type Timings } from '../../domain/timings.js';
import { Sandboxes } from '../virtual-clock/sandboxes.js';
import { virtualActivities, type VirtualCloud } from '../virtual-clock/virtual-activities.js';
import { type Ended, VirtualServer } from '../virtual-clock/virtual-server.js';

export const START = Date.UTC(2026, 10, 1);
const ID = 'waits';

/** What a cloud answers; what a script leaves out takes no time and is good, and no slice is ever ready. */
export interface Answers extends Partial<Pick<VirtualCloud, 'stop'>> {
  readonly create?: (zone: string, nth: number, plan: MachinePlan) => CreateAnswer;
  /** Of a request that was accepted. Undefined: it waits on. */
  readonly wait?: (zone: string, nth: number) => Condition | undefined;
  /** Of a command. Undefined: it runs on until the signal. */
  readonly run?: (input: AttemptInput, signal: AbortSignal) => Promise<AttemptEnd> | undefined;
  /** Undefined: it is never gone. */
  readonly removeMs?: (zone: string) => number | undefined;
}

/** A pool that grants at once. */
interface TightPool {
  /** Whether a request beside the first may be made. */
  hasRoom(): boolean;
}

/** One job that waits for chips, in virtual time. Its pool grants at once, or never. */
export class WaitingJob {
  readonly server: VirtualServer;
  /** Zones in the order in which they were asked, and when, in ms since the submit. */
  readonly asked: { readonly zone: string; readonly at: number }[] = [];
  #lease: { readonly run: string; readonly number: number } | undefined;
  /** How it ended, and when, in ms since the submit. */
  end: (Ended & { readonly at: number }) | undefined;

  private constructor(server: VirtualServer) {
    this.server = server;
  }

  static async submit(
    file: { readonly zones: readonly string[]; readonly tpu?: object; readonly [key: string]: unknown },
    answers: Answers,
    timings: Partial<Timings> = {},
    pool: 'grants' | 'is silent' | TightPool = 'grants',
  ): Promise<WaitingJob> {
    const { zones, tpu, ...more } = file;
    const server = new VirtualServer(await Sandboxes.ofThisProcess(), { startAt: START, delayMs: () => 50 });
    const job = new WaitingJob(server);
    const own =
      pool === 'grants' ? [] : [pool === 'is silent' ? { sendLease: async () => undefined } : job.#tightPool(pool)];
    server.serve(virtualActivities(server, job.#cloud(answers), { ...DEFAULT_TIMINGS, ...timings }, ...own));
    const spot = { accelerator: 'v6e-8', allocation_mode: 'queued-resources', pricing: 'spot' };
    const input = { name: 'train', tpu: { ...spot, zones, ...tpu }, command: { run: 'train' }, ...more };
    void server.start(WorkflowType.Job, ID, { v: 1, job: input }).then((end) => (job.end = { ...end, at: job.#now }));
    return job;
  }

  get isOpen(): boolean {
    return this.server.isOpen(ID);
  }

  get #now(): number {
    return this.server.now - START;
  }

  /** Lets time pass until `ms` after the submit. */
  async until(ms: number): Promise<this> {
    // Else a call of a person would come at the time of the last event.
    this.server.at(START + ms, () => undefined);
    await this.server.run(START + ms);
    return this;
  }

  /** Its pool has no room for a second request any more. */
  withdraw(): void {
    this.server.signal(ID, revokedSignal.name, { ...this.#lease, epoch: 1, reason: 'no room', cause: 'beside' });
  }

  view(): Promise<JobView> {
    return this.server.query<JobView>(ID, describeQuery.name);
  }

  /** @returns the job's answer @throws its refusal */
  ask(update: string, call: object = {}): Promise<string> {
    return this.server.update(ID, update, call);
  }

  cancel(): void {
    this.server.cancel(ID);
  }

  /** Of a job that failed. */
  get outcome(): Outcome {
    const { error } = this.end as Ended & { readonly error: Error & { readonly details?: readonly Outcome[] } };
    return error.details?.[0] as Outcome;
  }

  #tightPool({ hasRoom }: TightPool) {
    const sendLease: QuotaActivities['sendLease'] = async ({ lease: { run, number }, body, sender }) => {
      this.#lease = { run, number };
      if (body.kind === 'request' && body.heldSince === undefined)
        this.server.signal(ID, grantedSignal.name, { ...this.#lease, epoch: 1, tier: 0 });
      if (body.kind !== 'slice') return;
      const isHeld = body.isBeside === undefined || hasRoom();
      this.server.signal(sliceWorkflowId(sender), leaseAnswerSignal.name, { epoch: 1, isHeld });
    };
    return { sendLease };
  }

  #cloud({ create, wait, run, stop, removeMs = () => 0 }: Answers): VirtualCloud {
    const times = new Map<string, number>();
    const nth = (what: string): number => {
      times.set(what, (times.get(what) ?? 0) + 1);
      return times.get(what) as number;
    };
    const never = (signal?: AbortSignal): Promise<never> =>
      this.server.sleep(Infinity, signal).then(() => Promise.reject(new Error('never')));
    return {
      create: async (plan: MachinePlan) => {
        const { zone } = plan.ref;
        this.asked.push({ zone, at: this.#now });
        return create?.(zone, nth(`create ${zone}`), plan) ?? { kind: 'accepted' };
      },
      inspect: async () => ({ kind: 'missing' }),
      wait: async ({ zone }: MachineRef, signal) => wait?.(zone, nth(`wait ${zone}`)) ?? never(signal),
      remove: async ({ zone }: MachineRef) => {
        const ms = removeMs(zone);
        return ms === undefined ? never() : this.server.sleep(ms);
      },
      run: (input, signal) => run?.(input, signal) ?? never(signal),
      ...(stop && { stop }),
    };
  }
}

export const refused = (
  scope: Extract<CreateAnswer, { kind: 'refused' }>['scope'],
  message: string = scope,
): CreateAnswer => ({ kind: 'refused', scope, message });
