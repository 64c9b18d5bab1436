import {
  type AskedFor,
  type Demand,
  leaseKey,
  type LeaseId,
  type LeaseMessage,
  type LeaseMessageBody,
} from '../../domain/lease.js';
import type { JobRef } from '../../contract/workflow-ids.js';
import type { MachineRef } from '../../domain/machines.js';
import type { EpochMs, QuotaUnits } from '../../domain/units.js';
import type { Grant, Preemption, TierMoves } from '../../quota/quota-config.js';
import { type FreedLease, FreedLeases } from './freed-leases.js';
import {
  addSlice,
  adoptClaim,
  conform,
  drain,
  holds,
  isInUse,
  type LeaseRow,
  newRow,
  noteAllowed,
  noteAskedBeside,
  noteAskedIn,
  noteChips,
  noteGone,
  notePaused,
  noteStuck,
  startRow,
  unclaim,
} from './lease-row.js';
import { LeaseRows } from './lease-rows.js';
import { CLAIMED_TOO_LATE, unconfirmedBeyond } from './without-room.js';
import { noteAsk, noteEnd, noteGot, type Seen, withHeldTime } from './capacity-book.js';
import {
  type AskingSlice,
  isPending,
  nothingPending,
  type Pending,
  type PendingNow,
  splitPending,
} from './deliveries.js';

export type { FreedLease } from './freed-leases.js';
export type { LeaseRow } from './lease-row.js';
export type { Pending } from './deliveries.js';

/**
 * The leases and waiting requests of one pool, and nothing else: no decision, no clock, no I/O.
 *
 * Inputs: messages of jobs and slices (`apply`), decisions (`grant`, `revoke`), people's calls (`setPriority`), and findings of
 * the reconciler (`jobClosed`, `adopt`). Outputs: `pending`, the news for jobs and slices, and events for the pool's history. A
 * row is freed in one place only (`#settle`): when its job released it, or is closed, and all of its slices were seen gone. That
 * is the whole of "Chips are never granted twice" (docs/design.md): a row that is not freed counts, whatever its state.
 */
export class LeaseBook {
  readonly epoch: number;
  readonly #rows: LeaseRows;
  readonly #freed: FreedLeases;
  readonly #onEvent: (event: BookEvent) => void;
  readonly #onSeen: (seen: Seen) => void;
  #pending: Pending;
  /** Nothing was granted since memory was lost, so the jobs' claims are true (docs/adr/0035). */
  #isRebuilding: boolean;
  /** Jobs that have spoken during the rebuild. */
  readonly #heard = new Set<string>();
  /** Leases without room for another gang beside theirs (docs/adr/0101), with the time at which their jobs were last told. */
  readonly #withoutRoom = new Map<string, EpochMs | undefined>();

  /** @param onSeen hears of chips that a zone gave, refused or took */
  constructor(
    carry: LeaseBookCarry,
    onEvent: (event: BookEvent) => void = () => undefined,
    onSeen: (seen: Seen) => void = () => undefined,
  ) {
    this.epoch = carry.epoch;
    this.#rows = new LeaseRows(
      carry.rows.map((row) => ({
        ...row,
        slices: [...row.slices],
        gone: [...row.gone],
        sequences: { ...row.sequences },
      })),
    );
    this.#freed = new FreedLeases(carry.freed);
    this.#pending = { ...nothingPending(), ...carry.pending };
    this.#onEvent = onEvent;
    this.#onSeen = onSeen;
    this.#isRebuilding = carry.isRebuilding ?? false;
  }

  get waiting(): readonly LeaseRow[] {
    return this.#rows.all().filter((row) => row.state === 'waiting');
  }

  /** Everything that counts against the pool. */
  get leased(): readonly LeaseRow[] {
    return this.#rows.all().filter((row) => row.state !== 'waiting');
  }

  /** Whether no request waits and every lease is held, so that there is nothing to ask of a job, and nothing to repeat. */
  get isQuiet(): boolean {
    return this.#rows.all().every(({ state, revoked }) => state === 'held' && revoked === undefined);
  }

  get(key: string): LeaseRow | undefined {
    return this.#rows.get(key);
  }

  /** The job's row that is not draining. A job has one. */
  ofJob(job: string): LeaseRow | undefined {
    return this.#rows.ofJob(job).find(({ state }) => state !== 'draining');
  }

  // Outputs --------------------------------------------------------------------------------------------------------

  /** News since the last call, to be delivered: at most `most` of all kinds together, as of now. */
  takePending(most = Infinity): PendingNow {
    const [now, later] = splitPending(this.#pending, most);
    this.#pending = later;
    const { asked, regrants, revocations, withdrawals = [], ...pending } = now;
    return {
      ...pending,
      grants: eachOnce(regrants).flatMap((lease) => {
        const row = this.#rows.get(leaseKey(lease));
        return row && holds(row) ? [{ ...lease, tier: row.tier }] : [];
      }),
      revocations: [
        ...eachOnce(revocations).flatMap((lease) => {
          const revoked = this.#rows.get(leaseKey(lease))?.revoked;
          return revoked ? [{ lease, reason: revoked.reason, cause: revoked.cause }] : [];
        }),
        ...withdrawals.map((each) => ({ ...each, cause: 'beside' as const })),
      ],
      answers: asked.map((asking) => {
        const { key, slice, isBeside } = asking;
        const row = this.#rows.get(key);
        const isRoom = isBeside === undefined || (row?.state === 'asking' && !this.#withoutRoom.has(key));
        const isHeld = row !== undefined && holds(row) && isRoom;
        if (isHeld && isBeside) allow(row, asking);
        return { slice, isHeld };
      }),
    };
  }

  get hasPending(): boolean {
    return isPending(this.#pending);
  }

  // Facts ----------------------------------------------------------------------------------------------------------

  apply(message: LeaseMessage, now: EpochMs): void {
    const key = leaseKey(message.lease);
    if (this.#isRebuilding && message.sender === JOB) this.#heard.add(`${message.lease.job}/${message.lease.run}`);
    if (this.#isOld(key, message)) return;
    this.#whileHeld(key, now, () => this.#note(key, message, now), message.body);
    this.#remember(key, message, now);
    this.#settle(key, now);
  }

  #note(key: string, { lease, sender, body }: LeaseMessage, now: EpochMs): void {
    switch (body.kind) {
      case 'request':
        this.#request(key, lease, { ...body, demand: this.#supersedeOthers(lease, key, body.demand, now) }, now);
        return;
      case 'release':
        this.#release(key, body.slices, now);
        return;
      case 'slice':
        this.#register(key, body, now);
        return;
      case 'gone':
        this.#gone(key, sender, body, now);
        return;
      case 'stuck': {
        const row = this.#rows.get(key);
        if (row) noteStuck(row, body.slice, body);
        return;
      }
      case 'chips':
        this.#chips(key, body.zone, now);
        return;
      case 'parked': {
        const row = this.#rows.get(key);
        if (row) notePaused(row, body.isParked, now);
        return;
      }
    }
  }

  /** Notes that the job of this lease has ended without a message. Its slices, if any, must still be seen gone. */
  jobClosed(key: string, now: EpochMs, reason: string): void {
    const row = this.#rows.get(key);
    if (!row) return;
    this.#whileHeld(key, now, () => this.#release(key, [], now));
    for (const ref of row.slices) this.#pending.releases.push({ slice: ref.name, reason });
    this.#settle(key, now);
  }

  /** Takes a slice that only the cloud or a closed workflow knows of: another slice workflow must find and delete it. */
  abandoned(key: string, ref: MachineRef): void {
    this.#pending.reclaims.push({ lease: this.#mustHave(key).lease, ref });
  }

  /** Ends the rebuild. From now on leases may be granted, so a job that claims an older one has no more right to its chips. */
  endRebuild(): void {
    this.#isRebuilding = false;
    this.#heard.clear();
  }

  /**
   * Called when the jobs are asked what they hold. Their earlier messages may be old, since a run that was reset receives all
   * signals of its history again. So none of them makes a lease held: a row with slices counts, and a row without slices waits.
   */
  hearAnew(now: EpochMs): void {
    this.#heard.clear();
    for (const row of this.#rows.all()) unclaim(row, now);
  }

  /** Whether the job itself has answered since it was asked during the rebuild, even if only by a release. */
  hasHeard({ id, run }: JobRef): boolean {
    return this.#heard.has(`${id}/${run}`);
  }

  /**
   * Makes the lease held, because the cloud has slices of it and the job did not say what it holds. It counts as its project's,
   * like any other, as if it was granted when the job was submitted: taking it back would free no chips.
   */
  holdUnheard(key: string, now: EpochMs): void {
    const row = this.#mustHave(key);
    startRow(row, { tier: row.tier }, row.demand.submittedAt);
    noteChips(row, row.slices[0]?.zone, now);
  }

  /** Called during a rebuild if chips are in use under a lease that no job has claimed, or that its job was heard to wait for. */
  adopt(lease: LeaseId, demand: Demand, ref: MachineRef, now: EpochMs, tier = 0): void {
    const key = leaseKey(lease);
    const unclaimed = (): LeaseRow =>
      this.#insert(key, newRow(lease, demand, { state: 'draining', tier, startedAt: now }));
    const row = this.#rows.get(key) ?? unclaimed();
    addSlice(row, ref);
    if (row.state === 'waiting') drain(row, now);
  }

  /** All rows of a job: it may have one that it holds and one that drains. */
  /** Ids of the jobs that have a row. */
  get jobs(): readonly string[] {
    return [...new Set(this.#rows.all().map(({ lease }) => lease.job))];
  }

  allOfJob(job: string): readonly LeaseRow[] {
    return this.#rows.ofJob(job);
  }

  /** Whether a lease of the job was freed in the last minutes. */
  wasFreed(job: string): boolean {
    return this.#freed.hasOf(job);
  }

  /** A draining lease without a known start drains from now on. */
  noteDraining(now: EpochMs): void {
    for (const row of this.#rows.all()) if (row.state === 'draining') row.drainingSince ??= now;
  }

  /**
   * Gives slices up, because a person vouches that nothing of them is left. They are no longer waited for, and their slice
   * workflows are told (docs/adr/0099).
   */
  giveUp(key: string, slices: readonly string[], { by, because, now }: GivenUp): void {
    const row = this.#mustHave(key);
    for (const slice of slices) {
      noteGone(row, slice);
      this.#pending.giveUps.push({ slice, reason: `${by} released it: ${because}` });
    }
    this.#onEvent({ kind: 'released', row, at: now, by, reason: `${slices.join(', ')}: ${because}` });
    this.#settle(key, now);
  }

  // Decisions ------------------------------------------------------------------------------------------------------

  grant({ id, tier, isFromReservation = false }: Grant, now: EpochMs): void {
    const row = this.#mustHave(id);
    if (row.state !== 'waiting') throw new TypeError(`lease ${id} is ${row.state}, only a waiting one can be granted`);
    startRow(row, { tier, isFromReservation }, now);
    this.#pending.regrants.push(row.lease);
    this.#onEvent({ kind: 'granted', row, at: now });
  }

  /** Tells the job to give its lease back. Chips count until it did and they are seen gone. */
  revoke({ id, for: winner, cause }: RevokedFor, reason: string, now: EpochMs): void {
    const row = this.#mustHave(id);
    if (!holds(row)) throw new TypeError(`lease ${id} is ${row.state}, only one that is held can be revoked`);
    this.#whileHeld(id, now, () => drain(row, now));
    row.revoked = { cause, reason, toldAt: now };
    this.#pending.revocations.push(row.lease);
    this.#onEvent({ kind: 'revoked', row, at: now, reason, ...(winner === undefined ? {} : { for: winner }) });
  }

  /** Revokes unconfirmed leases beyond the pool's units. Call it before `takePending`, which says yes to slices. */
  revokeUnconfirmed(tiers: readonly QuotaUnits[], now: EpochMs): void {
    for (const row of unconfirmedBeyond(this.leased, tiers))
      this.revoke({ id: leaseKey(row.lease), cause: 'quota' }, CLAIMED_TOO_LATE, now);
  }

  /** Slices that ask whether there is room for them beside the first gang, by lease key. */
  get askedBeside(): ReadonlyMap<string, readonly string[]> {
    const asked = new Map<string, string[]>();
    for (const { key, slice, isBeside } of this.#pending.asked)
      if (isBeside) asked.set(key, [...(asked.get(key) ?? []), slice]);
    return asked;
  }

  /**
   * Called with leases that have no room for a gang beside the first. Slices of such a gang that ask are told no. Jobs that have
   * one are told to give it up, again after `REMIND_MS`. Call it before `takePending`, which answers the slices.
   * @param isTold whether jobs that have one are told
   */
  noRoomBeside(rows: readonly LeaseRow[], { reason, isTold, now }: NoRoom): void {
    const told = new Map(this.#withoutRoom);
    const asking = this.askedBeside;
    this.#withoutRoom.clear();
    for (const { lease } of rows) {
      const key = leaseKey(lease);
      const before = told.get(key);
      // Slices that are told no tell their job themselves.
      const isDue = isTold && !asking.has(key) && (before === undefined || now - before >= REMIND_MS);
      this.#withoutRoom.set(key, isDue ? now : before);
      if (isDue) (this.#pending.withdrawals ??= []).push({ lease, reason });
    }
  }

  /** Repeats revocations that were not answered for `afterMs`: the job may have been reset to a time before it heard. */
  remind(now: EpochMs, afterMs: number): void {
    for (const { lease, revoked } of this.#rows.all()) {
      if (!revoked || now - revoked.toldAt < afterMs) continue;
      revoked.toldAt = now;
      this.#pending.revocations.push(lease);
    }
  }

  /** Moves tiers whose place in the pool's files has changed. Jobs are told: they report their tier to a pool without memory. */
  moveTiers(moves: TierMoves): void {
    for (const row of this.leased) {
      const place = moves.get(row.tier);
      if (place === undefined) continue;
      row.tier = place;
      if (holds(row)) this.#pending.regrants.push(row.lease);
    }
  }

  /** @returns false if the job has no row here */
  setPriority(job: string, priority: number, now: EpochMs, by: string): boolean {
    const row = this.ofJob(job);
    if (!row) return false;
    row.priority = priority;
    row.demand = { ...row.demand, priority };
    this.#pending.priorities.push({ job: { id: job, run: row.lease.run }, priority });
    this.#onEvent({ kind: 'priority', row, at: now, by, reason: `priority ${priority}` });
    return true;
  }

  // Each message ---------------------------------------------------------------------------------------------------

  #request(key: string, lease: LeaseId, body: Extract<LeaseMessageBody, { kind: 'request' }>, now: EpochMs): void {
    const known = this.#rows.get(key);
    const row = known ?? this.#insert(key, newRow(lease, body.demand));
    const isFirstWord = known !== undefined && !(JOB in known.sequences);
    row.waitingSince ??= body.askedAt ?? now;
    // A priority that a person set holds until the job repeats it.
    if (row.priority === body.demand.priority) delete row.priority;
    row.demand = row.priority === undefined ? body.demand : { ...body.demand, priority: row.priority };
    for (const ref of body.slices) addSlice(row, ref);
    if (row.revoked) {
      this.#pending.revocations.push(lease);
      return;
    }
    // A draining row that its job claims again was only thought to be abandoned.
    if (row.state === 'draining' || isFirstWord || (row.state === 'waiting' && isInUse(body)))
      adoptClaim(row, body, now, this.#isRebuilding);
    else if (row.state !== 'waiting') conform(row, body, now);
    if (holds(row)) this.#pending.regrants.push(lease);
  }

  /**
   * Ends the job's other leases: it has one at a time, and after a reset it may ask under an old number. A priority that a person
   * set is kept.
   */
  #supersedeOthers(lease: LeaseId, key: string, demand: Demand, now: EpochMs): Demand {
    let { priority } = demand;
    for (const other of this.#rows.ofJob(lease.job)) {
      const otherKey = leaseKey(other.lease);
      if (otherKey === key || other.lease.run !== lease.run) continue;
      priority = other.priority ?? priority;
      for (const ref of other.slices)
        this.#pending.releases.push({ slice: ref.name, reason: `its job asked for lease ${lease.number}` });
      this.#release(otherKey, [], now);
      this.#settle(otherKey, now);
    }
    return { ...demand, priority };
  }

  #release(key: string, slices: readonly MachineRef[], now: EpochMs): void {
    const row = this.#rows.get(key);
    if (!row) return;
    for (const ref of slices) addSlice(row, ref);
    delete row.revoked;
    drain(row, now);
  }

  /** Registers slices of a draining lease too: a slice that is told 'no' reports itself gone. */
  #register(key: string, { ref, isBeside, asks, isPlaceKept }: BodyOf<'slice'>, now: EpochMs): void {
    const row = this.#rows.get(key);
    if (row) {
      // The slice's own message is later than the 'gone' of an earlier life under this name (after a reset).
      row.gone = row.gone.filter((name) => name !== ref.name);
      const isNew = addSlice(row, ref);
      if (isBeside && isNew) noteAskedBeside(row, ref.name);
      if (!isBeside) asksProvider(row, ref, asks, now);
      if (row.state !== 'held' && !isBeside) row.zone = ref.zone;
      // It does not ask in vain (docs/adr/0170).
      if (row.state === 'asking' && isPlaceKept) row.askingSince = now;
    }
    this.#pending.asked.push({ key, slice: ref.name, at: now, ...(isBeside && { isBeside, ...(asks && { asks }) }) });
  }

  #gone(key: string, sliceName: string, { refused, isRefused }: BodyOf<'gone'>, now: EpochMs): void {
    const row = this.#rows.get(key);
    if (!row) return;
    const ref = row.slices.find(({ name }) => name === sliceName);
    if (ref !== undefined && isRefused) noteAskedIn(row, ref.zone, 'refused');
    noteEnd(row, sliceName, refused, { now, told: this.#onSeen });
    noteGone(row, sliceName);
  }

  #chips(key: string, zone: string | undefined, now: EpochMs): void {
    const row = this.#rows.get(key);
    if (!row || !holds(row)) return;
    if (zone !== undefined) noteGot(row, zone, now, this.#onSeen);
    if (!noteChips(row, zone, now)) return;
    this.#onEvent({ kind: zone === undefined ? 'lost-chips' : 'chips', row, at: now });
    // Its pool knows by now which zones are better.
    if (zone === undefined && row.demand.anyZone !== undefined) this.#pending.regrants.push(row.lease);
  }

  #whileHeld(key: string, now: EpochMs, change: () => void, body?: LeaseMessageBody): void {
    const row = this.#rows.get(key);
    if (row) withHeldTime(row, body, { now, told: this.#onSeen }, change);
    else change();
  }

  // Bookkeeping ----------------------------------------------------------------------------------------------------

  #isOld(key: string, { sender, sequence }: LeaseMessage): boolean {
    const sequences = this.#rows.get(key)?.sequences ?? this.#freed.sequences(key);
    return (sequences?.[sender] ?? 0) >= sequence;
  }

  #remember(key: string, { sender, sequence }: LeaseMessage, now: EpochMs): void {
    const row = this.#rows.get(key);
    if (row) row.sequences[sender] = sequence;
    else this.#freed.add(key, now, { ...this.#freed.sequences(key), [sender]: sequence });
  }

  #settle(key: string, now: EpochMs): void {
    const row = this.#rows.get(key);
    if (row?.state !== 'draining' || row.revoked || row.slices.length > 0) return;
    this.#rows.delete(key);
    this.#freed.add(key, now, row.sequences);
    this.#onEvent({ kind: row.startedAt === undefined ? 'withdrawn' : 'freed', row, at: now });
  }

  #insert(key: string, row: LeaseRow): LeaseRow {
    const fresh = { ...row, sequences: { ...this.#freed.take(key) } };
    this.#rows.set(key, fresh);
    return fresh;
  }

  #mustHave(key: string): LeaseRow {
    const row = this.#rows.get(key);
    if (!row) throw new TypeError(`no lease ${key} in the book`);
    return row;
  }

  /** Plain JSON: a Map would arrive as `{}` in the next run. */
  carry(): LeaseBookCarry {
    return {
      epoch: this.epoch,
      rows: this.#rows.all(),
      freed: this.#freed.carry(),
      pending: this.#pending,
    };
  }
}

function asksProvider(row: LeaseRow, ref: MachineRef, asks: AskedFor | undefined, now: EpochMs): void {
  noteAsk(row, ref, asks, now);
  noteAskedIn(row, ref.zone, 'asked');
}

function allow(row: LeaseRow, { slice, asks, at }: AskingSlice): void {
  noteAllowed(row, slice);
  const ref = row.slices.find(({ name }) => name === slice);
  if (ref !== undefined) asksProvider(row, ref, asks, at);
}

type BodyOf<Kind extends LeaseMessageBody['kind']> = Extract<LeaseMessageBody, { kind: Kind }>;

/** Sender of a job's own messages; a slice's sender is its name. */
const JOB = 'job';

const eachOnce = (leases: readonly LeaseId[]): readonly LeaseId[] => [
  ...new Map(leases.map((lease) => [leaseKey(lease), lease])).values(),
];

/** Time after which a signal is repeated that may have been lost with its job's worker. */
const REMIND_MS = 60_000;

interface NoRoom {
  /** For the job's user. */
  readonly reason: string;
  readonly isTold: boolean;
  readonly now: EpochMs;
}

/** `for` is absent if an admin drains the pool. */
type RevokedFor = Omit<Preemption, 'for'> & { readonly for?: string };

/** The person who gave slices up, and the reason. */
export interface GivenUp {
  readonly by: string;
  readonly because: string;
  readonly now: EpochMs;
}

/** An event that the pool's history keeps. */
export interface BookEvent {
  readonly kind: 'granted' | 'chips' | 'lost-chips' | 'revoked' | 'freed' | 'priority' | 'released' | 'withdrawn';
  readonly row: LeaseRow;
  readonly at: EpochMs;
  /** The request that a revoked lease's chips are for. */
  readonly for?: string;
  readonly reason?: string;
  readonly by?: string;
}

export interface LeaseBookCarry {
  readonly epoch: number;
  readonly rows: readonly LeaseRow[];
  readonly freed: readonly FreedLease[];
  /** Absent: no. Never carried over: a run that hands over knows all leases. */
  readonly isRebuilding?: boolean;
  /** News that was not delivered yet: a handler may have run between the last delivery and the continue-as-new. */
  readonly pending?: Pending;
}
