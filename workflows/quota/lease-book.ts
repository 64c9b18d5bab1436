import { type Demand, leaseKey, type LeaseId, type LeaseMessage } from '../../domain/lease.js';
import type { SliceRef } from '../../domain/slice.js';
import type { EpochMs } from '../../domain/units.js';

/**
 * The leases and waiting requests of one pool, and nothing else: no decision, no clock, no I/O.
 *
 * What enters: messages of jobs and slices (`apply`), grants (`grant`), and what the reconciler found (`jobClosed`,
 * `adopt`). What leaves: `pending`, the things that somebody must be told. A row is freed in one place only (`#settle`):
 * when its job let go, or is closed, and none of its slices is still to be seen gone. That is the whole of "chips are
 * never granted twice" (DESIGN.md 2): a row that is not freed counts, whatever its state.
 */
export class LeaseBook {
  readonly epoch: number;
  readonly #rows: Map<string, LeaseRow>;
  /** Freed leases with their highest sequences: a late or doubled message must not bring one back. */
  readonly #freed: Map<string, FreedLease>;
  #pending: Pending = nothing();

  constructor(carry: LeaseBookCarry) {
    this.epoch = carry.epoch;
    this.#rows = new Map(
      carry.rows.map((row) => [
        leaseKey(row.lease),
        { ...row, slices: [...row.slices], gone: [...row.gone], sequences: { ...row.sequences } },
      ]),
    );
    this.#freed = new Map(carry.freed.map((freed) => [freed.key, freed]));
    this.#pending = carry.pending ?? nothing();
  }

  get waiting(): readonly LeaseRow[] {
    return [...this.#rows.values()].filter((row) => row.state === 'waiting');
  }

  /** Everything that counts against the pool: held and draining. */
  get leased(): readonly LeaseRow[] {
    return [...this.#rows.values()].filter((row) => row.state !== 'waiting');
  }

  /** What was decided or asked since the last call, to be delivered. Questions are answered as of now. */
  takePending(): Omit<Pending, 'asked'> & { readonly answers: readonly { slice: string; isHeld: boolean }[] } {
    const { asked, ...pending } = this.#pending;
    this.#pending = nothing();
    const answers = asked.map(({ key, slice }) => ({ slice, isHeld: this.#rows.get(key)?.state === 'held' }));
    return { ...pending, answers };
  }

  get hasPending(): boolean {
    return (
      this.#pending.regrants.length +
        this.#pending.asked.length +
        this.#pending.reclaims.length +
        this.#pending.releases.length >
      0
    );
  }

  // Facts ----------------------------------------------------------------------------------------------------------

  apply(message: LeaseMessage, now: EpochMs): void {
    const key = leaseKey(message.lease);
    if (this.#isOld(key, message)) return;
    const { body } = message;
    switch (body.kind) {
      case 'request':
        this.#supersedeOthers(message.lease, key, now);
        this.#request(key, message.lease, body);
        break;
      case 'release':
        this.#release(key, body.slices);
        break;
      case 'slice':
        this.#register(key, body.ref);
        break;
      case 'gone':
        this.#gone(key, message.sender);
        break;
    }
    this.#remember(key, message, now);
    this.#settle(key, now);
  }

  grant(key: string, tier: number, now: EpochMs): void {
    const row = this.#mustHave(key);
    if (row.state !== 'waiting') throw new TypeError(`lease ${key} is ${row.state}, only a waiting one can be granted`);
    Object.assign(row, { state: 'held', tier, startedAt: now });
  }

  /** The job of this lease has ended without a word; its slices, if any, are still to be seen gone. */
  jobClosed(key: string, now: EpochMs, reason: string): void {
    const row = this.#rows.get(key);
    if (!row) return;
    this.#release(key, []);
    for (const ref of row.slices) this.#pending.releases.push({ slice: ref.name, reason });
    this.#settle(key, now);
  }

  /** A slice that only the cloud or a closed workflow knows of: somebody must find and delete it. */
  abandoned(key: string, ref: SliceRef): void {
    const row = this.#mustHave(key);
    this.#pending.reclaims.push({ lease: row.lease, ref });
  }

  /** While rebuilding: chips are in use under a lease that no job has claimed yet. */
  adopt(lease: LeaseId, demand: Demand, ref: SliceRef, now: EpochMs): void {
    const key = leaseKey(lease);
    const row =
      this.#rows.get(key) ??
      this.#insert(key, {
        lease,
        demand,
        state: 'draining',
        tier: 0,
        startedAt: now,
        slices: [],
        gone: [],
        sequences: {},
      });
    addSlice(row, ref);
  }

  // Each message ---------------------------------------------------------------------------------------------------

  #request(
    key: string,
    lease: LeaseId,
    body: { demand: Demand; heldSince?: EpochMs; slices: readonly SliceRef[] },
  ): void {
    const row = this.#rows.get(key);
    const isInUse = body.heldSince !== undefined && body.slices.length > 0;
    if (!row) {
      const state = isInUse ? 'held' : 'waiting';
      this.#insert(key, {
        lease,
        demand: body.demand,
        state,
        tier: 0,
        ...(isInUse ? { startedAt: body.heldSince } : {}),
        slices: [...body.slices],
        gone: [],
        sequences: {},
      });
      if (isInUse) this.#pending.regrants.push(lease);
      return;
    }
    row.demand = body.demand;
    for (const ref of body.slices) addSlice(row, ref);
    // A draining row that its job claims again was only thought to be abandoned.
    if (row.state === 'draining') row.state = 'held';
    if (row.state === 'waiting' && isInUse) Object.assign(row, { state: 'held', startedAt: body.heldSince });
    if (row.state === 'held') this.#pending.regrants.push(lease);
  }

  /** A job has one lease at a time; after a reset it may ask under an old number. */
  #supersedeOthers(lease: LeaseId, key: string, now: EpochMs): void {
    for (const [otherKey, other] of this.#rows) {
      if (otherKey === key || other.lease.job !== lease.job || other.lease.run !== lease.run) continue;
      for (const ref of other.slices)
        this.#pending.releases.push({ slice: ref.name, reason: `its job asked for lease ${lease.number}` });
      this.#release(otherKey, []);
      this.#settle(otherKey, now);
    }
  }

  #release(key: string, slices: readonly SliceRef[]): void {
    const row = this.#rows.get(key);
    if (!row) return;
    for (const ref of slices) addSlice(row, ref);
    row.state = 'draining';
  }

  /** Of a draining lease too: a slice that is told 'no' reports itself gone. */
  #register(key: string, ref: SliceRef): void {
    const row = this.#rows.get(key);
    if (row) {
      // Its own word, later than the 'gone' of an earlier life under this name (after a reset).
      row.gone = row.gone.filter((name) => name !== ref.name);
      addSlice(row, ref);
    }
    this.#pending.asked.push({ key, slice: ref.name });
  }

  #gone(key: string, sliceName: string): void {
    const row = this.#rows.get(key);
    if (!row) return;
    row.slices = row.slices.filter((ref) => ref.name !== sliceName);
    if (!row.gone.includes(sliceName)) row.gone.push(sliceName);
  }

  // Bookkeeping ----------------------------------------------------------------------------------------------------

  #isOld(key: string, { sender, sequence }: LeaseMessage): boolean {
    const sequences = this.#rows.get(key)?.sequences ?? this.#freed.get(key)?.sequences;
    return (sequences?.[sender] ?? 0) >= sequence;
  }

  #remember(key: string, { sender, sequence }: LeaseMessage, now: EpochMs): void {
    const row = this.#rows.get(key);
    if (row) row.sequences[sender] = sequence;
    else this.#forgetLater(key, now, { ...this.#freed.get(key)?.sequences, [sender]: sequence });
  }

  #settle(key: string, now: EpochMs): void {
    const row = this.#rows.get(key);
    if (row?.state !== 'draining' || row.slices.length > 0) return;
    this.#rows.delete(key);
    this.#forgetLater(key, now, row.sequences);
  }

  /** Keeps freed leases in the order of their times, so that the old ones are found without a look at the others. */
  #forgetLater(key: string, now: EpochMs, sequences: FreedLease['sequences']): void {
    this.#freed.delete(key);
    this.#freed.set(key, { key, at: now, sequences });
    for (const [old, { at }] of this.#freed) {
      if (now - at <= REMEMBER_FREED_MS) break;
      this.#freed.delete(old);
    }
  }

  #insert(key: string, row: LeaseRow): LeaseRow {
    const freed = this.#freed.get(key);
    const fresh = { ...row, sequences: { ...freed?.sequences } };
    this.#freed.delete(key);
    this.#rows.set(key, fresh);
    return fresh;
  }

  #mustHave(key: string): LeaseRow {
    const row = this.#rows.get(key);
    if (!row) throw new TypeError(`no lease ${key} in the book`);
    return row;
  }

  get(key: string): LeaseRow | undefined {
    return this.#rows.get(key);
  }

  /** Plain JSON: a Map would arrive as `{}` in the next run. */
  carry(): LeaseBookCarry {
    return {
      epoch: this.epoch,
      rows: [...this.#rows.values()],
      freed: [...this.#freed.values()].slice(-MOST_FREED),
      pending: this.#pending,
    };
  }
}

export interface LeaseRow {
  readonly lease: LeaseId;
  demand: Demand;
  /** `draining`: the job let go or is closed, slices are still to be seen gone. */
  state: 'waiting' | 'held' | 'draining';
  tier: number;
  startedAt?: EpochMs;
  /** Slices that were started, or may have been, and were not seen gone. */
  slices: SliceRef[];
  /** Names seen gone: a message of the job that is older than that news must not bring one back. */
  gone: string[];
  /** Highest sequence by sender. */
  readonly sequences: Record<string, number>;
}

export interface FreedLease {
  readonly key: string;
  readonly at: EpochMs;
  readonly sequences: Readonly<Record<string, number>>;
}

export interface LeaseBookCarry {
  readonly epoch: number;
  readonly rows: readonly LeaseRow[];
  readonly freed: readonly FreedLease[];
  /** Said to nobody yet: a handler may have run between the last delivery and the continue-as-new. */
  readonly pending?: Pending;
}

export interface Pending {
  /** Grants that hold already, said again. */
  readonly regrants: LeaseId[];
  /** Slices that want to know whether their lease stands. */
  readonly asked: { key: string; slice: string }[];
  readonly reclaims: { lease: LeaseId; ref: SliceRef }[];
  readonly releases: { slice: string; reason: string }[];
}

const nothing = (): Pending => ({ regrants: [], asked: [], reclaims: [], releases: [] });

/** Longer than any message of ours stays on its way: an activity's retries included. */
const REMEMBER_FREED_MS = 10 * 60_000;
/**
 * In a carried book, of 100 bytes each: so many and 18,000 waiting requests are one payload. One that is forgotten too early
 * and asked for again by a late message is granted to a job that is closed, and taken back.
 */
export const MOST_FREED = 5_000;

function addSlice(row: LeaseRow, ref: SliceRef): void {
  if (row.gone.includes(ref.name) || row.slices.some((known) => known.name === ref.name)) return;
  row.slices.push(ref);
}
