import { type AskedFor, type Demand } from '../../domain/lease.js';
import { shortHash } from '../../domain/content-hash.js';
import type { EpochMs } from '../../domain/units.js';
import { boundedLine } from '../../domain/visible-text.js';
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
import type { Seen } from './asks.js';

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
