import type { AskedFor } from '../domain/lease.js';
import { largest, smallest } from '../domain/extremes.js';
import type { EpochMs } from '../domain/units.js';

/**
 * Observations of one place by a pool's jobs: one type, one pricing, one zone (docs/adr/0118). Plain JSON, bounded by
 * `MOST_OUTCOMES` and `MOST_REFUSAL`.
 */
export interface SeenPlace extends AskedFor {
  readonly zone: string;
  /** Time of the last observation. */
  readonly seenAt: EpochMs;
  /** Oldest first. */
  readonly outcomes: readonly AskOutcome[];
  /**
   * Time that slices held their chips, in ms, and number of preemptions by the provider. Both are as of `seenAt` and halve every
   * `WEAR_HALF_LIFE_MS`.
   */
  readonly heldMs: number;
  readonly preempted: number;
  readonly refusal?: { readonly at: EpochMs; readonly text: string };
}

/**
 * The end of one gang's request: it got its chips, was refused, or left the zone without them. `denied`: it was refused for a
 * reason that says nothing of the zone's chips, such as a missing right.
 */
export interface AskOutcome {
  readonly at: EpochMs;
  readonly waitedMs: number;
  readonly kind: 'got' | 'refused' | 'left' | 'denied';
  /** Short hash of the job. */
  readonly by: string;
}

/** A gang that waits for chips in a zone, or holds them. */
export interface OpenAsk extends AskedFor {
  readonly zone: string;
  readonly since: EpochMs;
  /** Time since which it holds its chips. Absent: it waits for them. */
  readonly heldSince?: EpochMs;
  readonly slices: number;
}

export const MOST_OUTCOMES = 20;
/** Most characters of a provider's text. */
export const MOST_REFUSAL = 200;
/** Most places of one pool. The place with the oldest observation makes room. */
export const MOST_PLACES = 200;

const MINUTE = 60_000;
const HOUR = 3_600_000;
const DAY = 24 * HOUR;
/** Age from which outcomes no longer count. */
const OUTCOME_LIFE_MS = 7 * DAY;
const WEAR_HALF_LIFE_MS = DAY;
/** Age at which an outcome counts half in the order of zones: capacity comes and goes within hours. */
const ORDER_HALF_LIFE_MS = 3 * HOUR;
/** The longest wait that one outcome, or one request that still waits, counts against its zone. */
const LONGEST_WAIT_MS = 2 * HOUR;
/** An immediate refusal counts as a wait of this long. */
const REFUSED_MS = 10 * MINUTE;
/** Assumed wait in a zone of which nothing is known. */
const USUAL_WAIT_MS = 10 * MINUTE;
/** Cost of a preemption to a job: a start, a set-up, and the work since the last checkpoint. */
const PREEMPTION_MS = 30 * MINUTE;

export const placeKey = ({ zone, accelerator, pricing }: AskedFor & { readonly zone: string }): string =>
  `${zone} ${accelerator} ${pricing}`;

// Learning -----------------------------------------------------------------------------------------------------------

export const newPlace = (
  { zone, accelerator, pricing }: AskedFor & { readonly zone: string },
  now: EpochMs,
): SeenPlace => ({
  ...{ zone, accelerator, pricing, seenAt: now },
  ...{ outcomes: [], heldMs: 0, preempted: 0 },
});

/**
 * Adds an outcome. All unsuccessful requests of one job count as one outcome with the sum of their waits. So a job that asks
 * again and again, or that its own project refuses, does not crowd out the observations of others.
 */
export function withOutcome(place: SeenPlace, outcome: AskOutcome): SeenPlace {
  const isSame = ({ by, kind }: AskOutcome): boolean => outcome.kind !== 'got' && kind !== 'got' && by === outcome.by;
  const before = place.outcomes.find(isSame);
  const waitedMs = Math.min(LONGEST_WAIT_MS, outcome.waitedMs + (before?.waitedMs ?? 0));
  const others = place.outcomes.filter((each) => !isSame(each) && outcome.at - each.at < OUTCOME_LIFE_MS);
  const kind = outcome.kind === 'denied' ? (before?.kind ?? outcome.kind) : outcome.kind;
  const all = [...others, { ...outcome, kind, waitedMs: kind === 'got' ? outcome.waitedMs : waitedMs }];
  return { ...worn(place, outcome.at), outcomes: all.slice(-MOST_OUTCOMES) };
}

export function withHeld(place: SeenPlace, sliceMs: number, isPreempted: boolean, now: EpochMs): SeenPlace {
  const { heldMs, preempted, ...rest } = worn(place, now);
  return { ...rest, heldMs: heldMs + Math.max(0, sliceMs), preempted: preempted + (isPreempted ? 1 : 0) };
}

export const withRefusal = (place: SeenPlace, text: string, now: EpochMs): SeenPlace => ({
  ...worn(place, now),
  refusal: { at: now, text },
});

/** The place as of `now`, with its decaying figures reduced. */
function worn(place: SeenPlace, now: EpochMs): SeenPlace {
  const left = half(now - place.seenAt, WEAR_HALF_LIFE_MS);
  return { ...place, heldMs: place.heldMs * left, preempted: place.preempted * left, seenAt: now };
}

/** The part of a weight of 1 that is left at this age. */
const half = (ageMs: number, halfLifeMs: number): number => 2 ** (-Math.max(0, ageMs) / halfLifeMs);

/** Drops places beyond `MOST_PLACES`: first those without an outcome or refusal, then the oldest. */
export function boundedPlaces(places: readonly SeenPlace[]): readonly SeenPlace[] {
  if (places.length <= MOST_PLACES) return places;
  const worth = ({ outcomes, refusal }: SeenPlace): number => Number(outcomes.length > 0 || refusal !== undefined);
  const dearest = places.toSorted((a, b) => worth(b) - worth(a) || b.seenAt - a.seenAt || compare(a, b));
  return dearest.slice(0, MOST_PLACES);
}

const compare = (a: SeenPlace, b: SeenPlace): number => (placeKey(a) < placeKey(b) ? -1 : 1);

// The order of zones -------------------------------------------------------------------------------------------------

/** All input of an order of zones. */
export interface SeenCapacity {
  readonly places: readonly SeenPlace[];
  readonly open: readonly OpenAsk[];
}

/**
 * Sorts zones by how soon a job may expect to run there. Zones that are about equally good, and those of which nothing is known,
 * stay in the given order.
 */
export function orderedZones(
  zones: readonly string[],
  asked: AskedFor,
  seen: SeenCapacity,
  now: EpochMs,
): readonly string[] {
  const classes = new Map(zones.map((zone) => [zone, classOf(expectedMs({ ...asked, zone }, seen, now))]));
  return zones.toSorted((a, b) => (classes.get(a) ?? 0) - (classes.get(b) ?? 0));
}

/** Class of a time. Times that differ by less than half an octave, about 40 %, count as equal. */
const classOf = (ms: number): number => Math.round(2 * Math.log2(ms / MINUTE));

/**
 * Expected time that a job waits in a zone and loses there, in ms: the total wait divided by the number of times that chips came,
 * as for a memoryless arrival. Older observations count less, so that every zone returns to the usual wait in the end.
 */
function expectedMs(place: AskedFor & { readonly zone: string }, { places, open }: SeenCapacity, now: EpochMs): number {
  const key = placeKey(place);
  const seen = places.find((each) => placeKey(each) === key);
  const waits = open.filter((each) => each.heldSince === undefined && placeKey(each) === key);
  const longest = waits.reduce((most, { since }) => Math.max(most, now - since), 0);
  let waited = USUAL_WAIT_MS + Math.min(LONGEST_WAIT_MS, longest);
  let got = 1;
  for (const { at, waitedMs, kind } of seen?.outcomes ?? []) {
    const weight = half(now - at, ORDER_HALF_LIFE_MS);
    waited += weight * (Math.min(LONGEST_WAIT_MS, waitedMs) + (kind === 'refused' ? REFUSED_MS : 0));
    if (kind === 'got') got += weight;
  }
  return waited / got + PREEMPTION_MS * preemptionRate(seen, now);
}

/** Preemptions per slice-hour. One hour without a preemption is added. */
function preemptionRate(seen: SeenPlace | undefined, now: EpochMs): number {
  if (seen === undefined) return 0;
  const { heldMs, preempted } = worn(seen, now);
  return preempted / (heldMs / HOUR + 1);
}

// Rows for people ----------------------------------------------------------------------------------------------------

/** One row of `jobctl capacity`: what this pool's jobs have seen, not a promise. */
export interface CapacityRow extends AskedFor {
  readonly zone: string;
  /** Requests for a whole gang: at most 20 that ended in the last 7 days, and those that wait now. */
  readonly asked: number;
  /** Those of `asked` that got their chips. */
  readonly got: number;
  /** Median wait of those that got their chips, in ms, from the first request to all slices ready. Absent: none did. */
  readonly medianWaitMs?: number;
  /** The last request that got its chips. */
  readonly lastGot?: { readonly at: EpochMs; readonly waitedMs: number };
  /** Gangs that wait now, with the start of the longest wait. */
  readonly waiting: number;
  readonly waitingSince?: EpochMs;
  /** Recent slice-hours and preemptions, which halve every 24 hours. Gangs that hold chips now are included. */
  readonly sliceHours: number;
  readonly preempted: number;
  readonly refusal?: { readonly at: EpochMs; readonly text: string };
  /** Time of the last observation. */
  readonly seenAt: EpochMs;
}

/** One row per place, in the order of zone, type and pricing. */
export function capacityRows({ places, open }: SeenCapacity, now: EpochMs): readonly CapacityRow[] {
  const known = new Map(places.map((place) => [placeKey(place), place]));
  const openAt = new Map<string, OpenAsk[]>();
  for (const ask of open) {
    const asks = openAt.get(placeKey(ask));
    if (asks === undefined) openAt.set(placeKey(ask), [ask]);
    else asks.push(ask);
  }
  for (const [key, [ask]] of openAt) if (ask && !known.has(key)) known.set(key, newPlace(ask, ask.since));
  const all = boundedPlaces([...known.values()]).toSorted(compare);
  return all.map((place) => rowOf(place, openAt.get(placeKey(place)) ?? [], now));
}

/** @param here requests that are open in this place */
function rowOf(place: SeenPlace, here: readonly OpenAsk[], now: EpochMs): CapacityRow {
  const { zone, accelerator, pricing, outcomes, refusal } = place;
  const waits = here.filter(({ heldSince }) => heldSince === undefined);
  const alive = outcomes.filter(({ at }) => now - at < OUTCOME_LIFE_MS);
  const got = alive.filter(({ kind }) => kind === 'got');
  const median = medianOf(got.map(({ waitedMs }) => waitedMs));
  const last = got.at(-1);
  const { heldMs, preempted } = worn(place, now);
  const holding = here.reduce((sum, { heldSince = now, slices }) => sum + (now - heldSince) * slices, 0);
  return {
    ...{ zone, accelerator, pricing, asked: alive.length + waits.length, got: got.length },
    ...(median !== undefined && { medianWaitMs: median }),
    ...(last && { lastGot: { at: last.at, waitedMs: last.waitedMs } }),
    waiting: waits.length,
    ...(waits.length > 0 && { waitingSince: smallest(waits.map(({ since }) => since)) }),
    sliceHours: rounded((heldMs + Math.max(0, holding)) / HOUR),
    preempted: rounded(preempted),
    ...(refusal && { refusal }),
    seenAt: largest(
      here.map(({ since, heldSince = since }) => heldSince),
      place.seenAt,
    ),
  };
}

/** Takes the mean of two middle values. */
function medianOf(values: readonly number[]): number | undefined {
  const sorted = values.toSorted((a, b) => a - b);
  const [low, high] = [sorted[Math.ceil(sorted.length / 2) - 1], sorted[Math.floor(sorted.length / 2)]];
  return low === undefined || high === undefined ? undefined : Math.round((low + high) / 2);
}

const rounded = (value: number): number => Math.round(value * 100) / 100;
