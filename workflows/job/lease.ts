import { condition, workflowInfo } from '@temporalio/workflow';
import type { Demand, LeaseId } from '../../domain/lease.js';
import type { TierPurchase } from '../../domain/slice.js';
import type { EpochMs } from '../../domain/units.js';
import { grantedForm, restateForm, revokedForm } from '../../contract/job-forms.js';
import {
  type Granted,
  grantedSignal,
  type LeaseGrant,
  type LeaseNews,
  type LeaseRevocation,
  restateSignal,
  revokedSignal,
} from '../../contract/job.js';
import { type LentLease, type LodgerNews, lodgerNewsSignal } from '../../contract/lodging.js';
import type { JobRef } from '../../contract/workflow-ids.js';
import { type Inbox, ofThisTime } from '../inbox.js';
import { OneAtATime } from '../one-at-a-time.js';
import { tell } from '../others.js';
import type { Revocation } from './interruption.js';
import { type Held, LeaseMail, type PresentSlices } from './lease-mail.js';
import { chainRunId } from './story.js';

/**
 * The job's side of its lease: asks for it, holds it, hears of its revocation, repeats its state to a new epoch, gives it back
 * and asks under the next number, and gives it up at the end. It changes nothing else of the job: users of the lease read
 * `isHeld` and `revocation`.
 */
export class LeaseHold {
  #number: number;
  #held: Held;
  /** The highest epoch that was heard. */
  #epoch: number;
  /**
   * The highest epoch that was heard about this number. The first message about a new number is always news, because only a pool
   * that has heard the number can speak of it.
   */
  #numberEpoch: number;
  #askedAt: number | undefined;
  #revocation: Revocation | undefined;
  /** Called if the pool has no room for a request beside the first. */
  onWithoutRoom: (why: string) => void = () => undefined;
  /** Called with the zones of a job that takes any zone, the best first as its pool sees them. */
  onOrder: (zones: readonly string[]) => void = () => undefined;
  /** Called when the lease was granted, or is held no more. */
  onChange: () => void = () => undefined;
  #hasLetGo = false;
  /**
   * The lease was not asked for yet, or was given back. Until it is asked for (again), the pool must hear nothing of its number.
   */
  #isResting: boolean;
  #demand: Demand;
  /** The job whose lease this job uses, so that its pool hears nothing of it (docs/adr/0163). */
  #landlord: JobRef | undefined;
  /** The last grant, even if its chips were given back. */
  #granted: Granted | undefined;
  readonly #pool: string;
  readonly #mail: LeaseMail;
  readonly #restating = new OneAtATime(() => this.#say());

  constructor(pool: string, demand: Demand, slices: PresentSlices, carry: LeaseCarry = FIRST_LEASE) {
    const { number, epoch, numberEpoch = epoch, askedAt, revocation, isResting, landlord, ...held } = carry;
    this.#pool = pool;
    this.#demand = demand;
    this.#mail = new LeaseMail(pool, slices);
    this.#number = number;
    this.#epoch = epoch;
    this.#numberEpoch = numberEpoch;
    this.#askedAt = askedAt;
    this.#revocation = revocation;
    this.#isResting = isResting ?? false;
    this.#landlord = landlord;
    this.#held = held;
    this.#granted = grantedBy(held);
  }

  /** Hears the pool's messages from now on. */
  listen(inbox: Inbox): void {
    inbox.on(grantedSignal, ofThisTime(grantedForm), (grant) => this.#onGranted(grant));
    inbox.on(revokedSignal, ofThisTime(revokedForm), (revoked) => this.#onRevoked(revoked));
    inbox.on(restateSignal, ofThisTime(restateForm), ({ epoch }) => this.#restate(epoch));
  }

  get isHeld(): boolean {
    return this.#held.heldSince !== undefined;
  }

  /** Set if the pool wants the lease back, whatever the job does with it. Answer it by `giveBack`. */
  get revocation(): Revocation | undefined {
    return this.#revocation;
  }

  get id(): LeaseId {
    return { pool: this.#pool, job: workflowInfo().workflowId, run: chainRunId(), number: this.#number };
  }

  get demand(): Demand {
    return this.#demand;
  }

  /** Undefined if the grant named no tier. */
  get tier(): number | undefined {
    return this.#held.tier;
  }

  /** Other tiers in which the job could be. */
  get otherTiers(): readonly number[] {
    return this.#held.otherTiers ?? [];
  }

  get granted(): Granted | undefined {
    return this.#granted;
  }

  /** Pricing and reservation by which slices under this lease are bought. */
  get bought(): TierPurchase {
    return this.#held.bought ?? {};
  }

  /** The job stands in line since this time. Call it before it asks for the first time. */
  standsInLineSince(submittedAt: EpochMs): void {
    this.#demand = { ...this.#demand, submittedAt };
  }

  /** Takes over a priority that the pool itself has set, so the pool is not told. */
  reprioritize(priority: number): void {
    this.#demand = { ...this.#demand, priority };
  }

  get isParked(): boolean {
    return this.#held.isParked ?? false;
  }

  /** Whether the job holds the lease or waits for it. */
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

  /**
   * Tells the pool that nothing runs on its chips, or that something does again. A pool that needs chips asks for those of parked
   * leases first.
   */
  async park(isParked: boolean): Promise<void> {
    const { isParked: wasParked = false } = this.#held;
    if (!this.isHeld || this.#hasLetGo || this.#revocation !== undefined || isParked === wasParked) return;
    const { isParked: _, ...held } = this.#held;
    this.#held = { ...held, ...(isParked ? { isParked } : {}) };
    if (this.isLodged) return this.#tellLandlord({ kind: 'parked', isParked });
    await this.#mail.parked(this.id, isParked);
  }

  /** Called when a slice was told that its lease is not valid: a quota workflow without memory did not know the lease. */
  lost(): void {
    this.#held = {};
    this.onChange();
  }

  /**
   * Tells the pool the zone in which all slices are ready, or that some are lost again or preempted. It does not wait until the
   * pool knows; see `settled`.
   */
  chips(zone: string | undefined, isPreempted = false): void {
    if (this.isLodged) return;
    if (!this.isHeld || this.#hasLetGo || this.#revocation !== undefined || zone === this.#held.chipsIn) return;
    const { chipsIn: _, ...held } = this.#held;
    this.#held = { ...held, ...(zone === undefined ? {} : { chipsIn: zone }) };
    this.#mail.chips(this.id, zone, isPreempted);
  }

  /** Resolves once the pool has acknowledged every message. A run that ended before would drop messages that are on their way. */
  async settled(): Promise<void> {
    await this.#mail.settled();
  }

  /**
   * Gives the lease back, revoked or not, once no slice of the job is left. The job asks again under the next number.
   * @param isResting true: not before the next `acquire`
   */
  async giveBack(isResting = false): Promise<void> {
    if (this.isLodged) return this.#leave(false);
    const given = this.id;
    this.#isResting = isResting;
    this.#number += 1;
    this.#numberEpoch = 0;
    this.#held = {};
    this.#askedAt = undefined;
    this.#revocation = undefined;
    this.onChange();
    await this.#mail.release(given);
  }

  /**
   * Gives up the lease for good. Its units are free once all remaining slices are seen gone. Repeating is safe.
   * @param isClean nothing of the command runs any more: for a landlord
   */
  async letGo(isClean = false): Promise<void> {
    this.#hasLetGo = true;
    if (this.isLodged) return this.#leave(isClean);
    this.#held = {};
    this.onChange();
    await this.#mail.release(this.id);
  }

  // The lease of another job -----------------------------------------------------------------------------------------

  get isLodged(): boolean {
    return this.#landlord !== undefined;
  }

  get landlord(): JobRef | undefined {
    return this.#landlord;
  }

  /** Uses the lease of this job, which has lent its slices. */
  lodge(landlord: JobRef, { tier, bought }: LentLease): void {
    this.#landlord = landlord;
    this.#held = { heldSince: Date.now(), bought, ...(tier === undefined ? {} : { tier }) };
    this.#granted = grantedBy(this.#held);
  }

  /** Its landlord has to give back. */
  evicted(revocation: Revocation): void {
    if (this.isLodged) this.#revocation ??= revocation;
  }

  /** Its pool has heard nothing, and hears nothing before the job asks for a lease of its own. */
  async #leave(isClean: boolean): Promise<void> {
    await this.#tellLandlord({ kind: 'left', isClean });
    this.#landlord = undefined;
    this.#held = {};
    this.#revocation = undefined;
    this.#isResting = true;
  }

  async #tellLandlord(news: NewsOfLodger): Promise<void> {
    if (this.#landlord === undefined) return;
    const lodger = { id: workflowInfo().workflowId, run: chainRunId() };
    await tell(this.#landlord.id, lodgerNewsSignal, { v: 1, lodger, ...news });
  }

  // Messages from the pool -----------------------------------------------------------------------------------------

  #isNews({ run, number, epoch }: LeaseNews): boolean {
    return run === chainRunId() && number === this.#number && epoch >= this.#numberEpoch && !this.#hasLetGo;
  }

  #onGranted(grant: LeaseGrant): void {
    if (!this.#isNews(grant)) return;
    const { epoch, tier, pricing, reservation, zones, otherTiers } = grant;
    this.#hear(epoch);
    if (zones !== undefined) this.onOrder(zones);
    const { otherTiers: _, ...held } = this.#held;
    // The first grant of a lease counts, because its slices were bought by it. Since then its tier may have moved in the files.
    this.#held = {
      heldSince: Date.now(),
      bought: { ...(pricing === undefined ? {} : { pricing }), ...(reservation === undefined ? {} : { reservation }) },
      ...held,
      ...(tier === undefined ? {} : { tier }),
      ...(otherTiers === undefined ? {} : { otherTiers }),
    };
    this.#granted = grantedBy(this.#held) ?? this.#granted;
    this.onChange();
  }

  #onRevoked(revoked: LeaseRevocation): void {
    if (!this.#isNews(revoked)) return;
    const { epoch, reason, cause } = revoked;
    this.#hear(epoch);
    if (cause === 'beside') {
      this.onWithoutRoom(reason);
      return;
    }
    // Repeated until it is answered. The reason that the command was told first stays true.
    this.#revocation ??= { reason, cause };
  }

  #restate(epoch: number): void {
    if (epoch < this.#epoch) return;
    this.#hear(epoch);
    this.sayAgain();
  }

  #hear(epoch: number): void {
    this.#epoch = Math.max(this.#epoch, epoch);
    this.#numberEpoch = epoch;
  }

  /** Tells the pool what the job holds, and which slices it started. */
  sayAgain(): void {
    const answers = this.#restating.ask();
    if (answers) this.#mail.post(answers);
  }

  async #say(): Promise<void> {
    // A pool that rebuilds its memory waits for the answer of each job that may hold something.
    if (this.#hasLetGo || this.isLodged) await this.#mail.release(this.id);
    else if (!this.#isResting) await this.#ask();
  }

  #ask(): Promise<void> {
    this.#askedAt ??= Date.now();
    return this.#mail.ask(this.id, { demand: this.#demand, askedAt: this.#askedAt, held: this.#held });
  }

  carry(): LeaseCarry {
    return {
      number: this.#number,
      epoch: this.#epoch,
      ...(this.#numberEpoch === this.#epoch ? {} : { numberEpoch: this.#numberEpoch }),
      ...this.#held,
      ...(this.#askedAt === undefined ? {} : { askedAt: this.#askedAt }),
      ...(this.#revocation === undefined ? {} : { revocation: this.#revocation }),
      ...(this.#isResting ? { isResting: true } : {}),
      ...(this.#landlord && { landlord: this.#landlord }),
    };
  }
}

/** Undefined: nothing is held, or its grant did not say. */
const grantedBy = ({ tier, bought }: Held): Granted | undefined =>
  tier === undefined ? undefined : { tier, ...bought };

export interface LeaseCarry extends Held {
  readonly number: number;
  readonly epoch: number;
  /** Absent: the same as `epoch`. */
  readonly numberEpoch?: number;
  /** When it was first asked for. */
  readonly askedAt?: number;
  readonly revocation?: Revocation;
  /** Given back, and not asked for again. Absent: no. */
  readonly isResting?: true;
  /** The job whose lease it is. Absent: the job's own. */
  readonly landlord?: JobRef;
}

type NewsOfLodger =
  | Pick<Extract<LodgerNews, { kind: 'left' }>, 'kind' | 'isClean'>
  | Pick<Extract<LodgerNews, { kind: 'parked' }>, 'kind' | 'isParked'>;

/**
 * The lease of a job that was just accepted. Its pool hears nothing before it asks: it may wait for other jobs or its image
 * first.
 */
export const FIRST_LEASE: LeaseCarry = { number: 1, epoch: 0, isResting: true };
