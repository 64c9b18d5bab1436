import type { Shape } from './shapes.js';

/** Units of one tier by number of the type. */
interface TierRoom {
  readonly total: readonly number[];
  /** Units that are neither leased nor claimed; 0 in a pool that was shrunk below its leases. */
  readonly free: number[];
  /** Free and draining units less claimed ones; negative in a pool that was shrunk below its leases. */
  readonly coming: number[];
  /** Units collected for reservations. */
  readonly reserved: number[];
  /** Units of reservations that started in this pass. */
  readonly started: number[];
  /** Units that in-quota requests of this pass wait for. */
  readonly claimed: number[];
  readonly draining: number[];
  /**
   * Units that would be free without borrowing and draining leases: the total less the units within nominal quota, of leases and
   * claims. Kept only in a pool of several tiers.
   */
  readonly beside: number[];
}

/** Available units of the pool during one pass. Claims exist only here; the next pass makes them again. */
export class Room {
  readonly #tiers: readonly TierRoom[];

  /**
   * @param totals by tier and type
   * @param leased by tier and type: all leases, whatever their state
   * @param draining the draining ones of `leased`
   */
  constructor(
    totals: readonly (readonly number[])[],
    leased: readonly (readonly number[])[],
    draining: readonly (readonly number[])[],
  ) {
    this.#tiers = totals.map((total, tier) => {
      const rest = total.map((units, type) => units - (leased[tier]?.[type] ?? 0));
      return {
        total,
        free: rest.map((units) => Math.max(0, units)),
        coming: rest.map((units, type) => units + (draining[tier]?.[type] ?? 0)),
        reserved: total.map(() => 0),
        started: total.map(() => 0),
        claimed: total.map(() => 0),
        draining: total.map((_, type) => draining[tier]?.[type] ?? 0),
        beside: [...total],
      };
    });
  }

  of(tier: number): TierRoom {
    const room = this.#tiers[tier];
    if (room === undefined) throw new RangeError(`tier ${tier}: the pool has ${this.#tiers.length}`);
    return room;
  }

  /** Whether the gang fits whole into the free units. */
  isFree(shape: Shape, tier: number): boolean {
    return fitsInto(shape, this.of(tier).free);
  }

  /** Whether the gang fits into free and draining units, less claimed ones. */
  isComing(shape: Shape, tier: number): boolean {
    return fitsInto(shape, this.of(tier).coming);
  }

  /** Whether reservations have collected units of any of the shape's types. */
  hasReserved({ types }: Shape, tier: number): boolean {
    const { reserved } = this.of(tier);
    return types.some((type) => (reserved[type] ?? 0) > 0);
  }

  /** Whether reservations with any of the shape's types have collected units, or have started in this pass. */
  isBehindReservations({ types }: Shape, tier: number): boolean {
    const { reserved, started } = this.of(tier);
    return types.some((type) => (reserved[type] ?? 0) + (started[type] ?? 0) > 0);
  }

  /** Units by type of the shape that are missing beyond free and draining ones; 0 or less means enough. */
  shortage({ types, amounts }: Shape, tier: number, isReservedUsable = false): number[] {
    const { coming, reserved } = this.of(tier);
    return types.map(
      (type, index) => (amounts[index] ?? 0) - (coming[type] ?? 0) - (isReservedUsable ? (reserved[type] ?? 0) : 0),
    );
  }

  /** @param usedIn a project's units within its nominal quota, by tier and type. @param sign -1: takes back an earlier count */
  countWithinQuota(usedIn: readonly (readonly number[])[], sign: 1 | -1 = 1): void {
    for (const [tier, units] of usedIn.entries()) {
      for (const [type, amount] of units.entries()) if (amount > 0) add(this.of(tier).beside, type, -sign * amount);
    }
  }

  /** Takes units for a grant. */
  take(shape: Shape, tier: number): void {
    const { free, coming } = this.of(tier);
    addShape(free, shape, -1);
    addShape(coming, shape, -1);
  }

  /** Earmarks units for a request, free ones first, then coming ones: as many as it asks for, or all if there are fewer. */
  claim({ types, amounts }: Shape, tier: number): void {
    const { free, coming, claimed } = this.of(tier);
    types.forEach((type, index) => {
      const units = Math.min(amounts[index] ?? 0, Math.max(0, coming[type] ?? 0));
      add(claimed, type, units);
      add(coming, type, -units);
      add(free, type, -Math.min(units, free[type] ?? 0));
    });
  }

  /** Counts the units of a target as coming. */
  drain(shape: Shape, tier: number): void {
    const { coming, draining } = this.of(tier);
    addShape(coming, shape);
    addShape(draining, shape);
  }

  /** Collects free units for a reservation. @returns whether it is full */
  reserve({ types, amounts }: Shape, tier: number): boolean {
    const { free, coming, reserved } = this.of(tier);
    let isFull = true;
    types.forEach((type, index) => {
      const units = Math.min(amounts[index] ?? 0, free[type] ?? 0);
      isFull &&= units === amounts[index];
      add(free, type, -units);
      add(coming, type, -units);
      add(reserved, type, units);
    });
    return isFull;
  }

  /** Gives the collected units to the request that starts. */
  spend(shape: Shape, tier: number): void {
    const { reserved, started } = this.of(tier);
    addShape(reserved, shape, -1);
    addShape(started, shape);
  }
}

export function add(units: number[], type: number, change: number): void {
  units[type] = (units[type] ?? 0) + change;
}

export function addShape(units: number[], { types, amounts }: Shape, sign: 1 | -1 = 1): void {
  for (let index = 0; index < types.length; index += 1) add(units, types[index] ?? 0, sign * (amounts[index] ?? 0));
}

/** Whether the gang fits whole into these units. */
export function fitsInto({ types, amounts }: Shape, units: readonly number[]): boolean {
  for (let index = 0; index < types.length; index += 1) {
    if ((amounts[index] ?? 0) > (units[types[index] ?? 0] ?? 0)) return false;
  }
  return true;
}
