import {
  type AskedFor,
  deletionSender,
  type Demand,
  leaseKey,
  type LeaseId,
  type LeaseMessageBody,
  type StuckDeletion,
} from '../../domain/lease.js';
import type { MachineRef } from '../../domain/machines.js';
import type { EpochMs, QuotaUnits } from '../../domain/units.js';
import type { Everywhere, LeaseState, Preemption, QuotaLease, QuotaRequest } from '../../quota/quota-config.js';

/** One lease of the pool's book, or the request for it. */
export interface LeaseRow {
  readonly lease: LeaseId;
  demand: Demand;
  state: 'waiting' | LeaseState;
  tier: number;
  /** When its job first asked under this number. Absent: a rebuild found its slices, and its job has not spoken yet. */
  waitingSince?: EpochMs;
  /** The time of the grant. */
  startedAt?: EpochMs;
  /** Time that it had its chips before `heldSince`, in ms, in every phase but paused. */
  heldMs?: number;
  /** Time since which a held lease has its chips. */
  heldSince?: EpochMs;
  /** Time since which an asking lease has no chips. */
  askingSince?: EpochMs;
  /** For a parked lease: its slices were ready when it was paused, or came since. */
  hasChips?: boolean;
  /** Zone in which its last slice asked, or is. */
  zone?: string;
  /** For an asking lease: the zones that it names in which it has asked since `askingSince`, and which have refused it. */
  askedIn?: Readonly<Record<string, Everywhere>>;
  isFromReservation?: boolean;
  /** Priority that a person gave and the job has not repeated yet. It counts, whatever priority the job states. */
  priority?: number;
  /** Known only from its job's claim: no chips of it were seen. It is not confirmed while more is leased than the pool has. */
  isUnconfirmed?: true;
  /** Set while it drains because the pool wants it back, and its job has not released it yet. */
  revoked?: Revocation;
  /** Deletions that do not end, by name of the slice. */
  stuck?: Readonly<Record<string, StuckDeletion>>;
  /**
   * Time since which it waits for its slices to be gone. Absent: it does not wait, or a run that kept no such time drained it.
   */
  drainingSince?: EpochMs;
  /** Requests of its gang, one for each zone in which a slice of it may be. Absent: none that a pool learns of. */
  asks?: readonly Ask[];
  /** Slices that were started, or may have been, and were not seen gone. */
  slices: MachineRef[];
  /** Names of `slices` beside the first gang that the pool has never allowed, so that no provider was asked. Absent: none. */
  unallowed?: readonly string[];
  /** Names seen gone: an older message of the job must not bring one back. */
  gone: string[];
  /** Highest sequence by sender. */
  readonly sequences: Record<string, number>;
}

/** A gang's request in one zone (workflows/quota/capacity-book.ts). */
export interface Ask extends AskedFor {
  readonly zone: string;
  readonly googleProject: string;
  readonly since: EpochMs;
  /** All of its slices were ready. */
  readonly isGot?: true;
  /** The zone has refused a slice of it. */
  readonly isRefused?: true;
}

export interface Revocation {
  readonly cause: Preemption['cause'];
  /** One sentence, for the job's user. */
  readonly reason: string;
  /** When the job was told last. */
  toldAt: EpochMs;
}

type Request = Extract<LeaseMessageBody, { kind: 'request' }>;

/** Whether the job uses chips under this lease; a job that was granted and has started nothing yet just waits again. */
export const isInUse = ({ heldSince, slices }: Request): boolean => heldSince !== undefined && slices.length > 0;

/** Whether its job may use chips under it. */
export const holds = ({ state }: LeaseRow): boolean => state === 'asking' || state === 'held' || state === 'parked';

export function newRow(lease: LeaseId, demand: Demand, more: Partial<LeaseRow> = {}): LeaseRow {
  return { lease, demand, state: 'waiting', tier: 0, slices: [], gone: [], sequences: {}, ...more };
}

export function startRow(row: LeaseRow, grant: Pick<LeaseRow, 'tier' | 'isFromReservation'>, now: EpochMs): void {
  row.tier = grant.tier;
  row.startedAt = now;
  delete row.drainingSince;
  delete row.heldMs;
  delete row.isUnconfirmed;
  if (grant.isFromReservation) row.isFromReservation = true;
  else delete row.isFromReservation;
  ask(row, now);
}

/**
 * Notes that all slices of the job are ready in `zone` or, without a zone, that it has lost chips and asks again.
 * @returns whether that is news
 */
export function noteChips(row: LeaseRow, zone: string | undefined, now: EpochMs): boolean {
  if (zone !== undefined) row.zone = zone;
  if (row.state === 'parked') row.hasChips = zone !== undefined;
  if (row.state === 'asking' && zone !== undefined) {
    hold(row, now);
    return true;
  }
  if (row.state === 'held' && zone === undefined) {
    pauseClock(row, now);
    ask(row, now);
    return true;
  }
  return false;
}

/** Called when the job is paused or resumed. Held time does not grow in between. */
export function notePaused(row: LeaseRow, isParked: boolean, now: EpochMs): void {
  if (isParked && (row.state === 'held' || row.state === 'asking')) {
    row.hasChips = row.state === 'held';
    pauseClock(row, now);
    row.state = 'parked';
  } else if (!isParked && row.state === 'parked') {
    if (row.hasChips) hold(row, now);
    else ask(row, now);
    delete row.hasChips;
  }
}

/**
 * Brings the row to its job's claim, for a pool that missed a message. The pool's own tier counts: the job may not have heard of
 * its present place yet.
 */
export function conform(row: LeaseRow, said: Request, now: EpochMs): void {
  notePaused(row, said.isParked ?? false, now);
  noteChips(row, said.zone, now);
}

/**
 * Fills a row that is known only by its job's claim, from the time of its grant on.
 * @param isRebuilding nothing was granted since the job got this grant, so chips that it claims are its own
 */
export function adoptClaim(row: LeaseRow, said: Request, now: EpochMs, isRebuilding: boolean): void {
  startRow(row, { tier: said.tier ?? row.tier }, said.heldSince ?? now);
  row.askingSince = now;
  noteChips(row, said.zone, said.heldSince ?? now);
  notePaused(row, said.isParked ?? false, now);
  if (said.zone === undefined || !isRebuilding) row.isUnconfirmed = true;
}

/** Begins to drain the row: it counts against the pool until its slices are seen gone, but not against its project. */
export function drain(row: LeaseRow, now: EpochMs): void {
  pauseClock(row, now);
  delete row.hasChips;
  row.drainingSince ??= now;
  row.state = 'draining';
}

/** Notes a stuck deletion of a slice that the row still waits for. */
export function noteStuck(row: LeaseRow, slice: string, { since, answer, isFinal }: StuckDeletion): void {
  if (!row.slices.some(({ name }) => name === slice)) return;
  row.stuck = { ...row.stuck, [slice]: { since, answer, ...(isFinal && { isFinal }) } };
}

/**
 * Slices that a person may give up: those whose deletion is stuck, and all slices of a lease that has drained for so long that
 * their slice workflows would have said so, if they were able to.
 */
export function givableSlices({ slices, stuck = {}, drainingSince }: LeaseRow, now: EpochMs, silentMs: number) {
  const isSilent = drainingSince !== undefined && now - drainingSince >= silentMs;
  return slices.filter(({ name }) => isSilent || Object.hasOwn(stuck, name)).map(({ name }) => name);
}

/** Forgets its job's claim. With slices the row counts until they are seen gone; without slices it waits. */
export function unclaim(row: LeaseRow, now: EpochMs): void {
  if (row.slices.length > 0) return drain(row, now);
  for (const key of OF_A_LEASE) delete row[key];
  Object.assign(row, { state: 'waiting', tier: 0 });
}

const OF_A_LEASE = [
  ...(['startedAt', 'heldMs', 'heldSince', 'askingSince', 'askedIn', 'hasChips'] as const),
  ...(['zone', 'isFromReservation', 'isUnconfirmed', 'revoked', 'drainingSince'] as const),
];

/** @returns whether the slice is new */
export function addSlice(row: LeaseRow, ref: MachineRef): boolean {
  if (row.gone.includes(ref.name) || row.slices.some((known) => known.name === ref.name)) return false;
  row.slices.push(ref);
  return true;
}

/** Notes that a slice which the book did not know asks for room beside the first gang. */
export function noteAskedBeside(row: LeaseRow, sliceName: string): void {
  row.unallowed = [...(row.unallowed ?? []), sliceName];
}

/** Called when the pool allows the slice, or when it is gone. */
export function noteAllowed(row: LeaseRow, sliceName: string): void {
  const unallowed = (row.unallowed ?? []).filter((name) => name !== sliceName);
  if (unallowed.length > 0) row.unallowed = unallowed;
  else delete row.unallowed;
}

export function noteGone(row: LeaseRow, sliceName: string): void {
  row.slices = row.slices.filter((ref) => ref.name !== sliceName);
  if (!row.gone.includes(sliceName)) row.gone.push(sliceName);
  noteAllowed(row, sliceName);
  // The job goes on with the gang beside the first. From now on, the zone of that gang is the one that may give no chips.
  const [left] = row.slices;
  const isLeft = row.zone !== undefined && !row.slices.some(({ zone }) => zone === row.zone);
  if (left !== undefined && isLeft && row.state !== 'held') row.zone = left.zone;
  const { [sliceName]: _, ...stuck } = row.stuck ?? {};
  if (Object.keys(stuck).length > 0) row.stuck = stuck;
  else delete row.stuck;
  delete row.sequences[deletionSender(sliceName)];
  // Stryker disable next-line StringLiteral: there is a first one.
  if (row.gone.length > MOST_GONE) delete row.sequences[row.gone.shift() ?? ''];
}

/**
 * Limit of gone names of one lease: a job that its provider preempts every hour has thousands of slices in its life. A late
 * message of a slice that was forgotten brings its name back until the next comparison finds no workflow for it.
 */
const MOST_GONE = 50;

/** Time that it has held its chips, in ms. */
export const heldMsOf = ({ heldMs = 0, heldSince }: LeaseRow, now: EpochMs): number =>
  heldMs + (heldSince === undefined ? 0 : Math.max(0, now - heldSince));

function ask(row: LeaseRow, now: EpochMs): void {
  Object.assign(row, { state: 'asking', askingSince: now });
  delete row.askedIn;
}

function hold(row: LeaseRow, now: EpochMs): void {
  row.state = 'held';
  row.heldSince = now;
  delete row.askingSince;
  delete row.askedIn;
}

/** Notes that the job asks in this zone, or is refused by it. A zone that it does not name comes from a changed job file. */
export function noteAskedIn(row: LeaseRow, zone: string, answer: Everywhere): void {
  if (row.state === 'asking' && row.demand.zones?.includes(zone)) row.askedIn = { ...row.askedIn, [zone]: answer };
}

function everywhere({ state, demand: { zones = [] }, askedIn = {} }: LeaseRow): Everywhere | undefined {
  if (state !== 'asking' || zones.length === 0 || !zones.every((zone) => Object.hasOwn(askedIn, zone)))
    return undefined;
  return zones.every((zone) => askedIn[zone] === 'refused') ? 'refused' : 'asked';
}

function pauseClock(row: LeaseRow, now: EpochMs): void {
  const heldMs = heldMsOf(row, now);
  if (heldMs > 0) row.heldMs = heldMs;
  delete row.heldSince;
  delete row.askingSince;
  delete row.askedIn;
}

/**
 * Number of whole gangs that are asked for beside the job's first, in other zones (docs/adr/0101). A request is named by its
 * place in the gang and a generation, so the place with most names gives the number.
 */
export function gangsBeside({ slices }: Pick<LeaseRow, 'slices'>): number {
  if (slices.length < 2) return 0;
  const generations = new Map<string, number>();
  for (const { name } of slices) {
    const place = name.replace(/-g\d+$/, '');
    generations.set(place, (generations.get(place) ?? 0) + 1);
  }
  return Math.max(...generations.values()) - 1;
}

/** Units of this many whole gangs of the row's job. */
export const unitsOfGangs = ({ demand }: LeaseRow, gangs: number): QuotaUnits =>
  Object.fromEntries(Object.entries(demand.units).map(([type, units]) => [type, units * gangs]));

/** Units that the row counts for, with those of gangs beside the first. */
export const unitsInUse = (row: LeaseRow): QuotaUnits => unitsOfGangs(row, 1 + gangsBeside(row));

// For decisions ------------------------------------------------------------------------------------------------------

export function toRequest({ lease, demand, waitingSince }: LeaseRow): QuotaRequest {
  return { id: leaseKey(lease), ...demand, ...(waitingSince === undefined ? {} : { waitingSince }) };
}

/**
 * The leases that a decision sees: the row's own, and one for each gang beside the first. A gang beside the first counts as chips
 * that come free, because all gangs but one are deleted. It uses no project's nominal quota, and no lease is preempted for it.
 * @param row a row that is not waiting
 */
export function toLeases(row: LeaseRow, now: EpochMs): readonly QuotaLease[] {
  const lease = toLease(row, now);
  const beside = Array.from({ length: gangsBeside(row) }, (_, at): QuotaLease => {
    const { askingSince: _asking, everywhere: _everywhere, isFromReservation: _from, ...rest } = lease;
    return { ...rest, id: `${lease.id}${BESIDE}${at + 1}`, state: 'draining' };
  });
  return [lease, ...beside];
}

/**
 * The row as people see it: without slices that the pool has not allowed, since they take no chips. A decision does count them
 * until they are seen gone.
 */
export function shownRow(row: LeaseRow): LeaseRow {
  const { slices, unallowed } = row;
  return unallowed === undefined ? row : { ...row, slices: slices.filter(({ name }) => !unallowed.includes(name)) };
}

/** Suffix of the id of a gang beside the first, after the lease's id. */
const BESIDE = '/beside-';

/** @param row a row that is not waiting */
export function toLease(row: LeaseRow, now: EpochMs): QuotaLease {
  const { lease, demand, tier, startedAt = 0, askingSince, zone, isFromReservation } = row;
  const asked = everywhere(row);
  return {
    id: leaseKey(lease),
    ...demand,
    tier,
    startedAt,
    state: row.state === 'waiting' ? 'asking' : row.state,
    heldMs: heldMsOf(row, now),
    ...(askingSince === undefined ? {} : { askingSince }),
    ...(zone === undefined ? {} : { zone }),
    ...(asked === undefined ? {} : { everywhere: asked }),
    ...(isFromReservation === undefined ? {} : { isFromReservation }),
  };
}
