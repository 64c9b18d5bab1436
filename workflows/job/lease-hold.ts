import { condition, setHandler, workflowInfo } from '@temporalio/workflow';
import type { Demand, LeaseId, LeaseMessageBody } from '../../domain/lease.js';
import type { SliceRef } from '../../domain/slice.js';
import type { TierPurchase } from '../../domain/slice-plan.js';
import { formatUnits } from '../../quota/quota-units.js';
import { quotaMail } from '../activity-options.js';
import { grantedSignal, restateSignal, revokedSignal, type LeaseNews } from '../messages.js';
import { Sequence } from '../sequence.js';
import type { Revocation } from './revocation.js';
import { chainRunId } from './story.js';

/**
 * The job's side of its lease: asks, holds, hears that it is revoked, says again to a new epoch, gives back and asks under the
 * next number, lets go. It moves nothing else of the job: who uses the lease looks at `isHeld` and `revocation`.
 */
export class LeaseHold {
  #number: number;
  #held: Held;
  #epoch: number;
  #askedAt: number | undefined;
  #revocation: Revocation | undefined;
  #hasLetGo = false;
  /** Given back until it is asked for again: the pool is to hear nothing of the next number before. */
  #isResting: boolean;
  #demand: Demand;
  /** News that nobody waits for, and that are not acknowledged yet. */
  #newsUnderWay = 0;
  readonly #pool: string;
  /** Slices of this job that are not seen gone. */
  readonly #slices: () => readonly SliceRef[];
  readonly #sequence = new Sequence();

  constructor(pool: string, demand: Demand, slices: () => readonly SliceRef[], carry?: LeaseCarry) {
    const { number, epoch, askedAt, revocation, isResting, ...held }: LeaseCarry = carry ?? { number: 1, epoch: 0 };
    this.#pool = pool;
    this.#demand = demand;
    this.#slices = slices;
    this.#number = number;
    this.#epoch = epoch;
    this.#askedAt = askedAt;
    this.#revocation = revocation;
    this.#isResting = isResting ?? false;
    // Slices that a job of 0.1.0 took along were bought as the job says.
    this.#held = held.heldSince === undefined ? {} : { bought: {}, ...held };
    setHandler(grantedSignal, (grant) => this.#onGranted(grant));
    setHandler(revokedSignal, (revoked) => this.#onRevoked(revoked));
    setHandler(restateSignal, ({ epoch: current }) => this.#restate(current));
  }

  get isHeld(): boolean {
    return this.#held.heldSince !== undefined;
  }

  /** The pool wants it back, whatever the job does with it: to be answered by `giveBack`. */
  get revocation(): Revocation | undefined {
    return this.#revocation;
  }

  get id(): LeaseId {
    return { pool: this.#pool, job: workflowInfo().workflowId, run: chainRunId(), number: this.#number };
  }

  get demand(): Demand {
    return this.#demand;
  }

  /** Absent: the grant did not say. */
  get tier(): number | undefined {
    return this.#held.tier;
  }

  /** What slices under this lease are bought as. */
  get bought(): TierPurchase {
    return this.#held.bought ?? {};
  }

  /** The pool knows already: it is the pool that says so. */
  reprioritize(priority: number): void {
    this.#demand = { ...this.#demand, priority };
  }

  get isParked(): boolean {
    return this.#held.isParked ?? false;
  }

  /** It is held, or waited for. */
  get isWanted(): boolean {
    return this.isHeld || this.#askedAt !== undefined;
  }

  /**
   * Resolves when the lease is held, revoked before the job heard of its grant, or no longer wanted.
   * @returns false: none of these, and `timeoutMs` is over
   */
  async acquire(isUnwanted: () => boolean = () => false, timeoutMs?: number): Promise<boolean> {
    if (this.isHeld) return true;
    this.#isResting = false;
    await this.#ask();
    const isAnswered = (): boolean => this.isHeld || this.#revocation !== undefined || isUnwanted();
    if (timeoutMs !== undefined) return condition(isAnswered, timeoutMs, { summary: 'timeouts.queue' });
    await condition(isAnswered);
    return true;
  }

  /** Tells the pool that nothing runs on its chips, or that something does again; it is the first to be asked for them. */
  async park(isParked: boolean): Promise<void> {
    const { isParked: wasParked = false, tier } = this.#held;
    if (!this.isHeld || this.#hasLetGo || this.#revocation !== undefined || isParked === wasParked) return;
    const { isParked: _, ...held } = this.#held;
    this.#held = { ...held, ...(isParked ? { isParked } : {}) };
    // As for chips: a pool of 0.1.0 knows no such message.
    if (tier === undefined) return;
    const what = isParked ? 'that nothing runs on its chips' : 'that its chips are used again';
    await this.#send(`tell quota pool ${this.#pool} ${what}`, { kind: 'parked', isParked });
  }

  /** A slice was told that its lease does not stand: a quota workflow without memory did not know of it. */
  lost(): void {
    this.#held = {};
  }

  /** Tells the pool where all slices are ready, or that some are lost again. Nobody waits until it knows; see `settled`. */
  chips(zone: string | undefined): void {
    if (!this.isHeld || this.#hasLetGo || this.#revocation !== undefined || zone === this.#held.chipsIn) return;
    const { chipsIn: _, ...held } = this.#held;
    this.#held = { ...held, ...(zone === undefined ? {} : { chipsIn: zone }) };
    this.#tellOfChips();
  }

  /** A continue-as-new would drop what is still on its way. */
  async settled(): Promise<void> {
    await condition(() => this.#newsUnderWay === 0);
  }

  /**
   * Gives it back, revoked or not, once no slice of the job is left. The job asks again under the next number.
   * @param isResting not before somebody says so
   */
  async giveBack(isResting = false): Promise<void> {
    const given = this.id;
    this.#isResting = isResting;
    this.#number += 1;
    this.#held = {};
    this.#askedAt = undefined;
    this.#revocation = undefined;
    await this.#release(given);
  }

  /** For good: free once all slices that are left are seen gone. Repeating is safe. */
  async letGo(): Promise<void> {
    this.#hasLetGo = true;
    this.#held = {};
    await this.#release(this.id);
  }

  // What the pool says ---------------------------------------------------------------------------------------------

  #isNews({ run, number, epoch }: LeaseNews): boolean {
    return run === chainRunId() && number === this.#number && epoch >= this.#epoch && !this.#hasLetGo;
  }

  #onGranted(grant: GrantNews): void {
    if (!this.#isNews(grant)) return;
    const { epoch, tier, pricing, reservation } = grant;
    this.#epoch = epoch;
    const isTierNew = this.#held.tier === undefined && tier !== undefined;
    // Said again, the first word counts: what is there was bought by it, and a lease changes its tier only with a new attempt.
    this.#held = {
      heldSince: Date.now(),
      bought: { ...(pricing === undefined ? {} : { pricing }), ...(reservation === undefined ? {} : { reservation }) },
      ...(tier === undefined ? {} : { tier }),
      ...this.#held,
    };
    if (isTierNew && this.#held.chipsIn !== undefined) this.#tellOfChips();
  }

  #onRevoked(revoked: LeaseNews & Revocation): void {
    if (!this.#isNews(revoked)) return;
    const { epoch, reason, cause } = revoked;
    this.#epoch = epoch;
    // Said until it is answered: what the command was told first stays true.
    this.#revocation ??= { reason, cause };
  }

  async #restate(epoch: number): Promise<void> {
    if (epoch < this.#epoch) return;
    this.#epoch = epoch;
    if (this.#hasLetGo) await this.#release(this.id);
    else if (!this.#isResting) await this.#ask();
  }

  // What the pool is told ------------------------------------------------------------------------------------------

  #ask(): Promise<void> {
    this.#askedAt ??= Date.now();
    const { heldSince, tier, chipsIn, isParked } = this.#held;
    const units = formatUnits(this.#demand.units);
    const summary = this.isHeld
      ? `tell quota pool ${this.#pool} again that the job holds ${units}`
      : `ask quota pool ${this.#pool} for ${units} of project ${this.#demand.project}`;
    return this.#send(summary, {
      kind: 'request',
      demand: this.#demand,
      slices: this.#slices(),
      askedAt: this.#askedAt,
      ...(heldSince === undefined ? {} : { heldSince }),
      ...(tier === undefined ? {} : { tier }),
      ...(chipsIn === undefined ? {} : { zone: chipsIn }),
      ...(isParked === undefined ? {} : { isParked }),
    });
  }

  #tellOfChips(): void {
    const { tier, chipsIn: zone } = this.#held;
    // A pool of 0.1.0 grants without a tier and knows no such message: so histories of then hold none either, and replay.
    if (tier === undefined) return;
    const what = zone === undefined ? 'that some of its chips are lost' : `that all of its chips are there, in ${zone}`;
    this.#newsUnderWay += 1;
    void this.#send(`tell quota pool ${this.#pool} ${what}`, { kind: 'chips', ...(zone === undefined ? {} : { zone }) })
      // Only a cancel ends it, and then the lease goes back anyway.
      .catch(() => undefined)
      .finally(() => (this.#newsUnderWay -= 1));
  }

  #release(lease: LeaseId): Promise<void> {
    const body = { kind: 'release', slices: this.#slices() } as const;
    return this.#send(`let the lease of quota pool ${this.#pool} go`, body, lease);
  }

  #send(summary: string, body: LeaseMessageBody, lease = this.id): Promise<void> {
    return quotaMail(summary).sendLease({ lease, sender: 'job', sequence: this.#sequence.next(), body });
  }

  carry(): LeaseCarry {
    return {
      number: this.#number,
      epoch: this.#epoch,
      ...this.#held,
      ...(this.#askedAt === undefined ? {} : { askedAt: this.#askedAt }),
      ...(this.#revocation === undefined ? {} : { revocation: this.#revocation }),
      ...(this.#isResting ? { isResting: true } : {}),
    };
  }
}

type GrantNews = LeaseNews & TierPurchase & { readonly tier?: number };

/** What is known of the present lease, while it is held. */
interface Held {
  readonly heldSince?: number;
  readonly tier?: number;
  readonly bought?: TierPurchase;
  /** All slices are ready, in this zone. */
  readonly chipsIn?: string;
  /** Nothing runs on its chips. */
  readonly isParked?: true;
}

export interface LeaseCarry extends Held {
  readonly number: number;
  readonly epoch: number;
  /** When it was first asked for. */
  readonly askedAt?: number;
  readonly revocation?: Revocation;
  /** Given back, and not asked for again. Absent: no. */
  readonly isResting?: true;
}
