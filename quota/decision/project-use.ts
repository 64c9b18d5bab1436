import type { Lot } from './laying.js';
import { compareShares, NO_SHARE } from './share.js';
import type { Share } from './share.js';
import { addShape } from './room.js';
import type { Shape } from './shapes.js';

/** One project while a pass is made: all of its tiers. */
export class ProjectUse {
  /** Number in its pass, from 0. */
  readonly index: number;
  /** In lower case. */
  readonly name: string;
  readonly lots: readonly Lot[];
  /** By type, over the tiers together: leases but the draining ones, and what this pass granted or claimed. */
  readonly #used: number[];
  readonly #nominal: readonly number[];

  /** @param used by type */
  constructor(index: number, name: string, lots: readonly Lot[], used: readonly number[]) {
    this.index = index;
    this.name = name;
    this.lots = lots;
    this.#used = [...used];
    this.#nominal = used.map((_, type) => lots.reduce((sum, lot) => sum + lot.nominalOf(type), 0));
  }

  lot(tier: number): Lot {
    const lot = this.lots[tier];
    if (lot === undefined) throw new RangeError(`tier ${tier}: project ${this.name} has ${this.lots.length}`);
    return lot;
  }

  use(shape: Shape): void {
    addShape(this.#used, shape);
  }

  /** Rule 5: the largest of (used + asked) / nominal over the types that are asked for. */
  shareWith({ types, amounts }: Shape): Share {
    let largest = NO_SHARE;
    for (let index = 0; index < types.length; index += 1) {
      const type = types[index] ?? 0;
      const share = { part: (this.#used[type] ?? 0) + (amounts[index] ?? 0), of: this.#nominal[type] ?? 0 };
      if (index === 0 || compareShares(share, largest) > 0) largest = share;
    }
    return largest;
  }

  /** Units of a type that are borrowed over all tiers. */
  borrowed(type: number): number {
    return this.lots.reduce((sum, lot) => sum + (lot.isEmpty ? 0 : (lot.laying().borrowedUnits[type] ?? 0)), 0);
  }
}

/** What a user holds of the pool, whatever the project. */
export class UserUse {
  /** Number in its pass, from 0. */
  readonly index: number;
  readonly #held: number[];
  readonly #pool: readonly number[];
  #share = NO_SHARE;

  /** @param pool its units by type */
  constructor(index: number, pool: readonly number[]) {
    this.index = index;
    this.#pool = pool;
    this.#held = pool.map(() => 0);
  }

  /** Rule 5: the largest over all types. It only grows during a pass; another object each time that it did. */
  get share(): Share {
    return this.#share;
  }

  hold(shape: Shape): void {
    addShape(this.#held, shape);
    for (const type of shape.types) {
      const share = { part: this.#held[type] ?? 0, of: this.#pool[type] ?? 0 };
      if (share.part > 0 && compareShares(share, this.#share) > 0) this.#share = share;
    }
  }
}
