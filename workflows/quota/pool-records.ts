import type { Admission, Deliveries, GrantedLease, PoolFacts, SameFacts } from '../../contract/quota-activities.js';
import { leaseKey, type LeaseMessage } from '../../domain/lease.js';
import { type Timings, wholeTimings } from '../../domain/timings.js';
import type { EpochMs } from '../../domain/units.js';
import { afterChips } from '../../quota/decision/cool-downs.js';
import { tiersFor } from '../../quota/decision/shapes.js';
import { decide } from '../../quota/decide.js';
import { MOST_STUCK, type PoolSnapshot, type Rebuilding, type StuckSlice } from '../../quota/published-state.js';
import { capacityRows, type OpenAsk } from '../../quota/seen-capacity.js';
import {
  NO_MEMORY,
  type Pool,
  type Preemption,
  type QuotaConfig,
  type QuotaMemory,
  tierOf,
  inProject,
  jobsOf,
  moveMemory,
  type TierMoves,
  tierMoves,
} from '../../quota/quota-config.js';
import { meter } from '../meter.js';
import { openAsks, type Seen, CapacityBook } from './capacity-book.js';
import type { PoolCarry, SettingsCarry } from './carried-state.js';
import { HistoryLog, lineOf } from './history-log.js';
import { type BookEvent, LeaseBook, type LeaseRow } from './lease-book.js';
import { shownRow, toLeases, toRequest } from './lease-row.js';
import { NO_ROOM_BESIDE, withoutRoomBeside } from './without-room.js';

/**
 * State of a run of the quota workflow: the lease book, the files in force, the memory of decisions, the admission. Inputs:
 * messages, files, an admin's calls, the time. Outputs: deliveries. It starts nothing and waits for nothing.
 */
export class PoolRecords {
  readonly pool: string;
  readonly book: LeaseBook;
  readonly history: HistoryLog;
  readonly #capacity: CapacityBook;
  #facts: PoolFacts | undefined;
  #memory: QuotaMemory;
  #admission: Admission;
  #nextAt: EpochMs | undefined;
  #rebuilding: Rebuilding | undefined;
  /** Number of changes of the published state. */
  #changes = 0;
  #changedAt: EpochMs;

  constructor(pool: string, carry: PoolCarry & SettingsCarry, now: EpochMs) {
    this.pool = pool;
    this.#capacity = new CapacityBook(carry.capacity);
    this.book = new LeaseBook(
      carry.book,
      (event) => this.#onEvent(event),
      (seen) => this.#onSeen(seen),
    );
    this.history = new HistoryLog(pool, carry.book.epoch, now, carry.history);
    this.#facts = carry.facts && wholeFacts(carry.facts);
    this.#memory = carry.memory;
    this.#admission = carry.admission ?? { kind: 'open' };
    this.#changedAt = now;
  }

  get facts(): PoolFacts | undefined {
    return this.#facts;
  }

  get admission(): Admission {
    return this.#admission;
  }

  /** Settings, carried over as they are. */
  get settings(): SettingsCarry {
    return { ...(this.#facts === undefined ? {} : { facts: this.#facts }), admission: this.#admission };
  }

  get memory(): QuotaMemory {
    return this.#memory;
  }

  /** Time at which the decision may change without any message. */
  get nextAt(): EpochMs | undefined {
    return this.#nextAt;
  }

  /** Whether no request waits and no lease is held. Only a message changes that. */
  get isIdle(): boolean {
    return this.book.waiting.length === 0 && this.book.leased.length === 0;
  }

  get changes(): number {
    return this.#changes;
  }

  /** Notes a change of the published state at `now`. */
  touch(now: EpochMs): void {
    this.#changes += 1;
    this.#changedAt = now;
  }

  apply(messages: readonly LeaseMessage[], now: EpochMs): void {
    for (const message of messages) this.book.apply(message, now);
    this.touch(now);
  }

  /** Takes the files that were read. A wrong file changes nothing: the last good one stays in force, and its problem is shown. */
  takeFiles(read: PoolFacts | SameFacts, now: EpochMs): PoolFacts {
    this.touch(now);
    if ('same' in read) return this.#factsOfMark(read.same);
    const before = this.#facts?.config;
    // The config beside a problem is the last good one that a worker knows, for a run that knows none.
    this.#facts = wholeFacts(before && read.problem !== undefined ? { ...read, config: before } : read);
    this.#moveTiers(tierMoves(before, this.#facts.config));
    return this.#facts;
  }

  #moveTiers(moves: TierMoves): void {
    if (moves.size === 0) return;
    this.book.moveTiers(moves);
    this.#memory = moveMemory(this.#memory, moves);
  }

  #factsOfMark(mark: string): PoolFacts {
    if (this.#facts?.mark === mark) return this.#facts;
    throw new TypeError(
      `pool ${this.pool}: files of mark '${mark}' were not read, those of '${this.#facts?.mark}' were`,
    );
  }

  /** @returns a sentence for the caller */
  admit(admission: Admission, by: string, now: EpochMs): string {
    this.#admission = { ...admission, set: { by, at: now } };
    this.touch(now);
    const { kind, reason } = admission;
    this.history.add({ at: now, kind: 'admission', by, reason: reason === undefined ? kind : `${kind}: ${reason}` });
    return admissionSentence(this.pool, kind, this.book);
  }

  /** Takes over the admission that was published before this run lost its memory. */
  restoreAdmission(admission: Admission): void {
    this.#admission = admission;
  }

  /** Undefined: all leases are known. */
  get rebuilding(): Rebuilding | undefined {
    return this.#rebuilding;
  }

  /** @param rebuilding undefined: it has ended */
  noteRebuilding(rebuilding: Rebuilding | undefined, now: EpochMs): void {
    this.#rebuilding = rebuilding;
    this.touch(now);
  }

  /**
   * Decides, and writes the decision into the book, for delivery to the jobs (`takeDeliveries`).
   * @returns whether to decide again at once: leases that drain from now on use no nominal quota
   */
  decide(now: EpochMs): boolean {
    if (this.#admission.kind === 'draining') this.#drainAll(now);
    const config = this.#facts?.config;
    this.#nextAt = undefined;
    if (!config) return false;
    if (config.kind === 'limited') this.book.revokeUnconfirmed(config.tiers, now);
    const { grants, preemptions, memory, nextAt } = decide(this.view(config, now), now);
    this.#memory = memory;
    this.#nextAt = nextAt;
    for (const grant of grants) this.book.grant(grant, now);
    for (const preemption of preemptions) this.book.revoke(preemption, this.#reasonOf(preemption), now);
    this.#makeRoom(config, now);
    if (grants.length + preemptions.length > 0) this.touch(now);
    for (const { cause } of preemptions) meter.revoked(this.pool, cause);
    for (let granted = 0; granted < grants.length; granted++) meter.granted(this.pool);
    return preemptions.length > 0;
  }

  /** Takes units back from hedging jobs, which use only units that no other job wants (docs/adr/0101). */
  #makeRoom(config: QuotaConfig, now: EpochMs): void {
    const { leased, waiting } = this.book;
    const isFrozen = this.#admission.kind !== 'open';
    const rows =
      config.kind === 'unlimited' && !isFrozen ? [] : withoutRoomBeside(leased, waiting, config, this.book.askedBeside);
    const asking = isFrozen ? leased.filter(({ state }) => state === 'asking') : rows;
    this.book.noRoomBeside(asking, { reason: NO_ROOM_BESIDE, isTold: !isFrozen, now });
  }

  /** The book's news for jobs and slices, at most `most` of all kinds together; undefined: there are none. */
  takeDeliveries(most: number, now: EpochMs): Deliveries | undefined {
    if (!this.book.hasPending) return undefined;
    const pending = this.book.takePending(most);
    const isEmpty = Object.values(pending).every((list: readonly unknown[]) => list.length === 0);
    if (isEmpty) return undefined;
    const { grants, ...others } = pending;
    const open = this.#openAsks;
    return {
      pool: this.pool,
      epoch: this.book.epoch,
      grants: grants.map((grant) => this.#withOrder(this.#withPurchase(grant), open, now)),
      ...others,
      restate: [],
    };
  }

  view(config: QuotaConfig, now: EpochMs, leased = this.book.leased): Pool {
    return {
      config,
      requests: this.book.waiting.map(toRequest),
      leases: leased.flatMap((row) => toLeases(row, now)),
      memory: this.#memory,
      isFrozen: this.#admission.kind !== 'open',
    };
  }

  get #openAsks(): readonly OpenAsk[] {
    return this.book.leased.flatMap(openAsks);
  }

  /** The pool as of the last change. */
  snapshot(): PoolSnapshot {
    const { config = NOTHING_TO_GIVE, source, problem, zones } = this.#facts ?? {};
    const capacity = capacityRows({ places: this.#capacity.places, open: this.#openAsks }, this.#changedAt);
    const { kind, reason, set } = this.#admission;
    const { unstored } = this.history;
    const stuck = this.book.leased.flatMap(stuckSlices).slice(0, MOST_STUCK);
    return {
      pool: this.pool,
      at: this.#changedAt,
      epoch: this.book.epoch,
      admission: kind,
      ...(reason === undefined ? {} : { admissionReason: reason }),
      ...(set === undefined ? {} : { admissionSet: set }),
      ...(source === undefined ? {} : { source }),
      ...(problem === undefined ? {} : { problem }),
      ...(this.#rebuilding === undefined ? {} : { rebuilding: this.#rebuilding }),
      ...(stuck.length === 0 ? {} : { stuck }),
      ...(zones === undefined ? {} : { poolZones: zones }),
      ...(capacity.length === 0 ? {} : { capacity }),
      ...(unstored.length === 0 ? {} : { unstored }),
      view: this.view(config, this.#changedAt, this.book.leased.map(shownRow)),
    };
  }

  carry(): PoolCarry {
    const capacity = this.#capacity.carry();
    return {
      ...{ book: this.book.carry(), memory: this.#memory, history: this.history.carry() },
      ...(capacity.length === 0 ? {} : { capacity }),
    };
  }

  // ----------------------------------------------------------------------------------------------------------------

  #onEvent(event: BookEvent): void {
    this.history.add(lineOf(event));
    const { kind, row } = event;
    if (kind === 'chips' && row.zone !== undefined)
      this.#memory = afterChips(this.#memory, { units: row.demand.units, tier: row.tier }, row.zone);
  }

  /** A job's own Google project has another quota, so observations there do not count for the pool's zones. */
  #onSeen(seen: Seen): void {
    const { googleProject } = this.#facts ?? {};
    if (googleProject === undefined || seen.ask.googleProject === googleProject) this.#capacity.learn(seen);
  }

  #withOrder(grant: GrantedLease, open: readonly OpenAsk[], now: EpochMs): GrantedLease {
    const { demand } = this.book.get(leaseKey(grant)) ?? {};
    const zones = demand && this.#capacity.orderFor(demand, grant, open, now);
    return zones === undefined ? grant : { ...grant, zones };
  }

  #drainAll(now: EpochMs): void {
    const reason = `pool ${this.pool} is drained by an admin${this.#admission.reason ? `: ${this.#admission.reason}` : ''}`;
    for (const { lease, state } of this.book.leased) {
      if (state === 'draining') continue;
      this.book.revoke({ id: leaseKey(lease), cause: 'quota' }, reason, now);
      meter.revoked(this.pool, 'drain');
    }
  }

  #withPurchase(grant: GrantedLease): GrantedLease {
    const config = this.#facts?.config;
    if (config?.kind !== 'limited') return grant;
    const demand = this.book.get(leaseKey(grant))?.demand;
    const own = tierOf(grant, config.tiers.length);
    const otherTiers = demand === undefined ? [] : tiersFor(config, demand).filter((tier) => tier !== own);
    return { ...grant, ...config.rules?.tiers[grant.tier], ...(otherTiers.length === 0 ? {} : { otherTiers }) };
  }

  /** For the job's user, in one sentence. */
  #reasonOf({ id, for: winner, cause }: Preemption): string {
    const [loser, taker] = [this.book.get(id), this.book.get(winner)];
    const who = taker ? `job ${taker.lease.job} ${inProject(taker.demand.project)}` : 'another job';
    switch (cause) {
      case 'asking':
        return `it got no chips in time, and ${who} waits for them`;
      case 'tier':
        return `it got no chips in tier ${(loser?.tier ?? 0) + 1}, and there is room for it in another`;
      case 'parked':
        return `it is paused, and ${who} waits for its chips`;
      case 'quota':
        return `${jobsOf(loser?.demand.project ?? '')} borrowed these chips, and ${who} has them in its quota`;
    }
  }
}

/**
 * Completes facts of a worker or a run that knows no `poolLookMs` (docs/adr/0151): `reconcileMs` stands for it too. A time that
 * is not a number would end all comparisons.
 */
const wholeFacts = (facts: PoolFacts): PoolFacts => {
  const sent: Partial<Timings> = facts.timings;
  const { poolLookMs = facts.timings.reconcileMs } = sent;
  return { ...facts, timings: wholeTimings({ ...sent, poolLookMs }) };
};

const stuckSlices = ({ lease, stuck = {} }: LeaseRow): readonly StuckSlice[] =>
  Object.entries(stuck).map(([slice, deletion]) => ({ id: leaseKey(lease), slice, ...deletion }));

/** The configuration until the first file has been read: nothing is granted. */
const NOTHING_TO_GIVE: QuotaConfig = { kind: 'limited', tiers: [], projects: [] };

/** State of a run without memory. */
export const emptyCarry = (epoch: number): PoolCarry => ({
  book: { epoch, rows: [], freed: [], isRebuilding: true },
  memory: NO_MEMORY,
});

function admissionSentence(pool: string, kind: Admission['kind'], book: LeaseBook): string {
  const held = book.leased.filter(({ state }) => state !== 'draining').length;
  const waiting = `${book.waiting.length} waiting`;
  switch (kind) {
    case 'open':
      return `pool ${pool} is open: ${waiting} are looked at again`;
    case 'frozen':
      return `pool ${pool} is frozen: nothing new is granted, ${held} with a lease go on, ${waiting}`;
    case 'draining':
      return `pool ${pool} is drained: ${held} with a lease are asked to give it back and wait then, ${waiting}`;
  }
}
