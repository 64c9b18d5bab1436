import { activityInfo, cancellationSignal, heartbeat, log, sleep, Context } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import { CloudUnavailable, type Machines } from '../cloud/machines/port.js';
import { sliceNewsSignal } from '../contract/job.js';
import type { AwaitSliceInput, DeleteSliceInput, SliceActivities } from '../contract/slice.js';
import type { MachinePlan } from '../domain/machines.js';
import { deletionSender } from '../domain/lease.js';
import { FailureType, messageOf } from '../domain/errors.js';
import type { Condition, CreateAnswer } from '../domain/slice.js';
import { noteGone } from './counted.js';
import { jobTeller } from './attempt/activity-end.js';
import type { ActivityDependencies, Installation } from './dependencies.js';
import { translated } from './failures.js';
import { Few, deleteUntilGone, type TellStuck } from './giving-back.js';
import { LeaseOutbox } from './lease-outbox.js';
import { isChainOpen } from './workflow-lookup.js';

export function sliceActivities({
  machinesOf,
  installation,
  store,
}: Pick<ActivityDependencies, 'machinesOf' | 'installation' | 'store'>): SliceActivities {
  const outbox = new LeaseOutbox(installation.taskQueue);
  return {
    createSlice: async (plan) =>
      refusalOfOther(installation, plan) ?? translated(() => machinesOf(plan.ref.kind).create(plan)),
    inspectSlice: (input) => translated(() => machinesOf(input.ref.kind).observe(input)),
    awaitSlice: (input) => translated(() => awaitSlice(machinesOf(input.ref.kind), input, tellJob(input))),
    deleteUntilGone: async (input) => {
      refuseOther(installation, input);
      await deleteUntilGone(machinesOf(input.ref.kind), input, tellPool(outbox, input));
      // Its lease is freed whether or not the store takes the mark.
      if (input.isNeverAccepted === undefined)
        await noteGone(store, input.owner.job, input.ref.name, Date.now()).catch((error: unknown) => {
          log.warn(`the end of ${input.ref.name} is not counted: ${messageOf(error)}`);
        });
    },
    putAside: ({ ref, uid, host, reason }) =>
      translated(async () => machinesOf(ref.kind).putAside?.({ ref, uid, host }, reason)),
    isJobOpen: (job) => isChainOpen(Context.current().client, job),
  };
}

/** Tells the pool of the slice's lease. A deletion of an earlier build names no lease. */
function tellPool(outbox: LeaseOutbox, { lease, ref: { name } }: DeleteSliceInput): TellStuck | undefined {
  if (lease === undefined) return undefined;
  const { client } = Context.current();
  return (deletion) =>
    outbox.send(client, {
      lease,
      sender: deletionSender(name),
      sequence: Date.now(),
      body: { kind: 'stuck', slice: name, ...deletion },
    });
}

// Only the owner of this worker counts: anyone who reaches Temporal can start a slice workflow with any input, and can read the
// labels of other installations (docs/adr/0044).

/** The problem with the owner that an input names; undefined: it is this installation. */
function otherOwner({ owner }: Pick<Installation, 'owner'>, named: string, name: string): string | undefined {
  if (owner !== '' && named === owner) return undefined;
  return `${name}: the input names owner '${named}', and this installation is '${owner}'. It creates and deletes nothing of another`;
}

/**
 * Returns an answer, not a failure, because a create call without an answer would be repeated again and again. The answer ends no
 * job: the job waits, and says why, until a worker of the other installation takes the call, or a person cancels the job
 * (docs/adr/0103).
 */
function refusalOfOther(installation: Installation, { ref, ownership }: MachinePlan): CreateAnswer | undefined {
  const message = otherOwner(installation, ownership.owner, ref.name);
  return message === undefined ? undefined : { kind: 'refused', scope: 'installation', message };
}

/** @throws ApplicationFailure InvalidInput, never retried: the workflow fails, and reports no lease as free. */
function refuseOther(installation: Installation, { ref, owner: { owner } }: DeleteSliceInput): void {
  const message = otherOwner(installation, owner, ref.name);
  if (message === undefined) return;
  throw ApplicationFailure.create({ type: FailureType.InvalidInput, nonRetryable: true, message });
}

/** Ends with the first condition that the slice workflow must know of. A failed call is not an answer. */
export async function awaitSlice(
  machines: Machines,
  input: AwaitSliceInput,
  tell: (detail: string) => void = () => undefined,
): Promise<Condition> {
  const looks = new Looks(machines, input);
  return untilKnown(looks, machines, input, tell).finally(() => looks.end());
}

async function untilKnown(
  looks: Looks,
  machines: Machines,
  input: AwaitSliceInput,
  tell: (detail: string) => void,
): Promise<Condition> {
  const { incompleteMs } = input.timings;
  let missing = 0;
  let told: string | undefined;
  let incompleteSince: number | undefined;
  let waitingSince: number | undefined;
  let toldAt = -Infinity;
  const cycles = new Cycles(activityInfo().heartbeatDetails);
  for (;;) {
    heartbeat(cycles.carry);
    const condition = await patiently(() => looks.next());
    if (!condition) continue;
    if (condition.kind === 'waiting') {
      missing = 0;
      incompleteSince = condition.isIncomplete ? (incompleteSince ?? Date.now()) : undefined;
      // The addresses of a new slice appear one by one.
      const isLasting = incompleteSince !== undefined && Date.now() - incompleteSince >= BEFORE_TOLD_MS;
      waitingSince ??= Date.now();
      const { tellAfterMs = Infinity } = condition;
      const isNews = Date.now() - waitingSince >= tellAfterMs && Date.now() - toldAt >= TOLD_APART_MS;
      cycles.note(condition.place);
      const detail = cycles.told(condition.detail);
      if ((isLasting || isNews) && detail !== told) {
        tell((told = detail));
        toldAt = Date.now();
      }
      if (incompleteSince === undefined || Date.now() - incompleteSince < incompleteMs) continue;
      return {
        kind: 'lost',
        cause: 'failed',
        message: `${condition.detail}, for ${Math.round(incompleteMs / 1000)} s`,
      };
    }
    if (condition.kind !== 'missing') return condition;
    // A listing that misses it is not evidence yet. Two direct looks are, apart, with no other answer between them.
    const seen = await patiently(() => machines.observe(input));
    if (seen) missing = seen.kind === 'missing' ? missing + 1 : 0;
    if (missing >= 2) return condition;
    await sleep(input.timings.notFoundApartMs);
  }
}

/**
 * Counts how often chips were chosen for a request and then taken elsewhere. If another worker takes over the activity, it
 * continues the count.
 */
class Cycles {
  #granted: string | undefined;
  #back = 0;
  #word = '';

  constructor(carry: unknown) {
    const { back, word, granted } = (carry ?? {}) as Partial<CyclesCarry>;
    if (!Number.isSafeInteger(back) || typeof word !== 'string') return;
    this.#back = back ?? 0;
    this.#word = word;
    this.#granted = typeof granted === 'string' ? granted : undefined;
  }

  note(place: Extract<Condition, { kind: 'waiting' }>['place']): void {
    if (place === undefined) return;
    if (place === 'queued' && this.#granted !== undefined) {
      this.#back += 1;
      this.#word = this.#granted;
    }
    this.#granted = place === 'queued' ? undefined : place.granted;
  }

  told(detail: string): string {
    if (this.#back === 0) return detail;
    return `${detail}; it has been ${this.#word} and gone back ${TIMES[this.#back] ?? `${this.#back} times`}`;
  }

  get carry(): CyclesCarry {
    return { back: this.#back, word: this.#word, ...(this.#granted !== undefined && { granted: this.#granted }) };
  }
}

const TIMES: Readonly<Record<number, string>> = { 1: 'once', 2: 'twice' };

interface CyclesCarry {
  readonly back: number;
  /** The provider's word for a request for which chips were chosen. */
  readonly word: string;
  readonly granted?: string;
}

/** Tells the text that `status` and `why` show of the slice while it is not ready. */
function tellJob({ ref, ownership: { job: id, run } }: AwaitSliceInput): (detail: string) => void {
  const tell = jobTeller({ job: { id, run } }, sliceNewsSignal, 'that its slice is not whole');
  return (detail) => tell({ name: ref.name, run, news: { kind: 'progress', detail } });
}

const BEFORE_TOLD_MS = 1_000;
/** Shortest time between two messages to a job. Each is three events of its history, and a thousand pods start one by one. */
const TOLD_APART_MS = 10_000;

/**
 * Looks at the slice by itself in the first seconds, since many slices are ready at once, and then by the zone's listing, which
 * all share. If more than a few slices are asked for at once, or another worker has waited before, the listing is used from the
 * start.
 */
class Looks {
  readonly #machines: Machines;
  readonly #input: AwaitSliceInput;
  #early: number[] = [...EARLY_LOOKS_MS];
  readonly #leave = YOUNG.enter();

  constructor(machines: Machines, input: AwaitSliceInput) {
    this.#machines = machines;
    this.#input = input;
    if (activityInfo().heartbeatDetails !== undefined) this.end();
  }

  async next(): Promise<Condition> {
    if (YOUNG.isExceeded) this.end();
    const early = this.#early.shift();
    if (early === undefined) {
      this.end();
      return this.#machines.watch(this.#input, { isUrgent: true, signal: cancellationSignal() });
    }
    await sleep(early);
    return this.#machines.observe(this.#input);
  }

  /** Ends the direct looks of the first seconds. */
  end(): void {
    this.#early = [];
    this.#leave();
  }
}

/** Pauses before each direct look. A request that was accepted a moment ago is ready nowhere. */
const EARLY_LOOKS_MS = [250, 350, 600, 1000];
/** Slices of this worker in their first seconds. */
const YOUNG = new Few();

/** Undefined: the provider did not answer, which says nothing about the slice. */
async function patiently(call: () => Promise<Condition>): Promise<Condition | undefined> {
  try {
    return await call();
  } catch (error) {
    if (!(error instanceof CloudUnavailable)) throw error;
    log.warn(`the cloud did not answer: ${error.message}`);
    await sleep(UNAVAILABLE_PAUSE_MS);
    return undefined;
  }
}

const UNAVAILABLE_PAUSE_MS = 2_000;
