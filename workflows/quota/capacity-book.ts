import type { AskedFor, Demand, LeaseMessageBody, ToldRefusal } from '../../domain/lease.js';
import { shortHash } from '../../domain/content-hash.js';
import { type EpochMs, unitsOf } from '../../domain/units.js';
import { boundedLine } from '../../domain/outside-text.js';
import {
  boundedPlaces,
  MOST_REFUSAL,
  newPlace,
  type OpenAsk,
  orderedZones,
  placeKey,
  type SeenPlace,
  withHeld,
  withOutcome,
  withRefusal,
} from '../../quota/seen-capacity.js';
import { findAccelerator, quotaUnitsOf } from '../../domain/accelerators.js';
import { isZoneName } from '../../domain/machine-kinds/cloud-tpu/google-keys.js';
import type { MachineRef } from '../../domain/machines.js';
import type { Ask, LeaseRow } from './lease-row.js';

/** Observations of a pool's jobs by zone, type and pricing, as they cross a continue-as-new. */
export type CapacityCarry = readonly SeenPlace[];

/** The pool's memory of the zones that had chips (docs/adr/0118). State only; it grows with places, never with jobs. */
export class CapacityBook {
  #places: Map<string, SeenPlace>;

  constructor(carry: CapacityCarry = []) {
    this.#places = new Map(carry.map((place) => [placeKey(place), place]));
  }

  get places(): readonly SeenPlace[] {
    return [...this.#places.values()];
  }

  learn(seen: Seen): void {
    const { ask, at } = seen;
    const place = this.#places.get(placeKey(ask)) ?? newPlace(ask, at);
    this.#places.set(placeKey(ask), learned(place, seen));
    const bounded = boundedPlaces(this.places);
    if (bounded.length < this.#places.size) this.#places = new Map(bounded.map((each) => [placeKey(each), each]));
  }

  /** The zones of a job that takes any, the best first; undefined for other jobs. */
  orderFor({ zones, anyZone }: Demand, bought: Partial<AskedFor>, open: readonly OpenAsk[], now: EpochMs) {
    if (anyZone === undefined || zones === undefined || zones.length < 2) return undefined;
    const { pricing = anyZone.pricing } = bought;
    return orderedZones(zones, { ...anyZone, pricing }, { places: this.places, open }, now);
  }

  carry(): CapacityCarry {
    return this.places;
  }
}

function learned(place: SeenPlace, seen: Seen): SeenPlace {
  const { at, job } = seen;
  switch (seen.kind) {
    case 'refusal':
      return withRefusal(place, boundedLine(seen.refused.message, MOST_REFUSAL), at);
    case 'held':
      return withHeld(place, seen.sliceMs, seen.isPreempted, at);
    case 'got':
    case 'refused':
    case 'left':
    case 'denied':
      return withOutcome(place, { at, waitedMs: seen.waitedMs, kind: seen.kind, by: shortHash(job) });
  }
}

/**
 * Requests of a lease's gang to its provider, zone by zone (docs/adr/0118). All of it is read from messages that a pool gets
 * anyway: a slice's question whether its lease stands, the job's report that its chips are there or lost, a slice's `gone`.
 */

/** A pool's observation of a zone. */
export type Seen = { readonly job: string; readonly ask: Ask; readonly at: EpochMs } & (
  | { readonly kind: 'got' | 'refused' | 'left' | 'denied'; readonly waitedMs: number }
  | { readonly kind: 'refusal'; readonly refused: ToldRefusal }
  /** `sliceMs`: time for which chips were held, summed over all slices. */
  | { readonly kind: 'held'; readonly sliceMs: number; readonly isPreempted: boolean }
);

type Told = (seen: Seen) => void;

/** Notes that a slice is about to be asked for. */
export function noteAsk(row: LeaseRow, ref: MachineRef, asks: AskedFor | undefined, now: EpochMs): void {
  if (ref.kind !== 'cloud-tpu' || asks === undefined || !isPossible(row, ref, asks)) return;
  const { zone, googleProject } = ref;
  const { accelerator, pricing } = asks;
  const known = askIn(row, zone);
  if (known !== undefined && known.isGot === undefined) return;
  putAsk(row, { zone, googleProject, accelerator, pricing, since: now });
}

/** Whether the type exists and the lease's demand allows it. Anything else in a message would grow the pool's memory. */
function isPossible({ demand }: LeaseRow, { zone }: MachineRef, { accelerator }: AskedFor): boolean {
  const type = findAccelerator(accelerator);
  if (type?.type !== accelerator || !isZoneName(zone)) return false;
  const units = unitsOf(demand.units, type.generation);
  return units > 0 && units % quotaUnitsOf(type) === 0;
}

/** Notes that all slices of the job are ready in this zone. */
export function noteGot(row: LeaseRow, zone: string, now: EpochMs, told: Told): void {
  const ask = askIn(row, zone);
  if (ask === undefined || ask.isGot) return;
  const { isRefused: _, ...rest } = ask;
  putAsk(row, { ...rest, isGot: true });
  told({ kind: 'got', job: row.lease.job, ask, waitedMs: Math.max(0, now - ask.since), at: now });
}

/** Notes that a slice was seen gone, before the row forgets it. Its request ends with the last slice in its zone. */
export function noteEnd(
  row: LeaseRow,
  slice: string,
  refused: ToldRefusal | undefined,
  seen: { now: EpochMs; told: Told },
): void {
  const { now, told } = seen;
  const ref = row.slices.find(({ name }) => name === slice);
  const ask = ref && askIn(row, ref.zone);
  if (ref === undefined || ask === undefined) return;
  const job = row.lease.job;
  if (refused !== undefined) told({ kind: 'refusal', job, ask, refused, at: now });
  if (refused !== undefined && refused.scope !== 'zone' && !ask.isGot)
    told({ kind: 'denied', job, ask, waitedMs: 0, at: now });
  const isRefused = ask.isRefused ?? refused?.scope === 'zone';
  if (row.slices.some(({ name, zone }) => zone === ref.zone && name !== slice)) {
    if (isRefused && !ask.isGot) putAsk(row, { ...ask, isRefused: true });
    return;
  }
  setAsks(
    row,
    (row.asks ?? []).filter((each) => each !== ask),
  );
  if (ask.isGot) return;
  const waitedMs = Math.max(0, now - ask.since);
  // A request that its pool has no room for, or that its user takes back at once, hardly reached the provider.
  if (isRefused || waitedMs >= LEAST_WAIT_MS)
    told({ kind: isRefused ? 'refused' : 'left', job, ask, waitedMs, at: now });
}

const LEAST_WAIT_MS = 10_000;

/** Carries out a change of a row, and tells how long it held its chips if it no longer holds them. */
export function withHeldTime(
  row: LeaseRow,
  body: LeaseMessageBody | undefined,
  seen: { now: EpochMs; told: Told },
  change: () => void,
): void {
  const { heldSince, zone } = row;
  const ask = zone === undefined || heldSince === undefined ? undefined : askIn(row, zone);
  const slices = zone === undefined ? 0 : slicesIn(row, zone);
  change();
  if (ask === undefined || heldSince === undefined || row.heldSince === heldSince) return;
  const { now, told } = seen;
  const isPreempted = body?.kind === 'chips' && body.isPreempted === true;
  told({ kind: 'held', job: row.lease.job, ask, sliceMs: (now - heldSince) * slices, isPreempted, at: now });
}

/** Open requests of a lease, to show to people and to order zones by. */
export function openAsks(row: LeaseRow): readonly OpenAsk[] {
  return (row.asks ?? []).flatMap(({ zone, accelerator, pricing, since, isGot }) => {
    const ask = { zone, accelerator, pricing, since, slices: slicesIn(row, zone) };
    if (!isGot) return [ask];
    return row.heldSince === undefined || row.zone !== zone ? [] : [{ ...ask, heldSince: row.heldSince }];
  });
}

const slicesIn = ({ slices }: LeaseRow, zone: string): number =>
  slices.reduce((sum, ref) => sum + (ref.zone === zone ? (ref.slices ?? 1) : 0), 0);

const askIn = ({ asks }: LeaseRow, zone: string): Ask | undefined => asks?.find((each) => each.zone === zone);

const putAsk = (row: LeaseRow, ask: Ask): void =>
  setAsks(row, [...(row.asks ?? []).filter(({ zone }) => zone !== ask.zone), ask]);

function setAsks(row: LeaseRow, asks: readonly Ask[]): void {
  if (asks.length > 0) row.asks = asks;
  else delete row.asks;
}
