import type { EpochMs } from '../../domain/units.js';
import { inLayingOrder } from '../nominal-quota.js';
import type { QuotaLease } from '../quota-config.js';
import { addShape, fitsInto } from './room.js';
import type { Shape } from './shapes.js';

/** What is laid on a nominal quota: a lease, or, without one, what was granted or claimed in this pass. */
export interface Laid {
  readonly id: string;
  readonly priority: number;
  readonly startedAt: EpochMs;
  readonly shape: Shape;
  readonly lease?: QuotaLease;
}

/** What laying comes to (rule 3). */
export interface Laying {
  /** Those that did not fit whole on what those before them left: they lie on none of it. */
  readonly borrowed: Laid[];
  /** Units of the nominal quota that are in use, by type. */
  readonly used: number[];
  /** Units that are borrowed, by type. */
  readonly borrowedUnits: number[];
}

/**
 * One project's nominal quota in one tier, and what is laid on it by (priority, start, id). What starts now lies above all
 * others of its priority: laid by its id among those of the same millisecond, it could take their place.
 */
export class Lot {
  readonly #nominal: readonly number[];
  readonly #laid: Laid[];
  /** By priority: what is left for a request of it. Filled when asked for, brought up to date by each grant. */
  readonly #left = new Map<number, number[]>();
  #laying: Laying | undefined;
  /** Victims of this pass: they were borrowed, so that nothing else lies in another way without them. */
  readonly #gone = new Set<Laid>();
  readonly hasLeases: boolean;

  /** @param nominal by type; all types */
  constructor(nominal: readonly number[], laid: readonly Laid[]) {
    this.#nominal = nominal;
    this.#laid = laid.toSorted(inLayingOrder);
    this.hasLeases = laid.length > 0;
  }

  get isEmpty(): boolean {
    return this.#laid.length === 0;
  }

  nominalOf(type: number): number {
    return this.#nominal[type] ?? 0;
  }

  /** Whether a request would lie on nominal quota in every type if it started now. */
  holds(shape: Shape, priority: number): boolean {
    return fitsInto(shape, this.#leftFor(priority));
  }

  /** What starts, or will as soon as its chips are free. */
  lay(laid: Laid): void {
    const { priority, shape } = laid;
    const isLast = this.#insert(laid);
    if (!this.holds(shape, priority)) {
      // Passed over: those above it lie as before.
      this.#laying?.borrowed.push(laid);
      if (this.#laying !== undefined) addShape(this.#laying.borrowedUnits, shape);
      return;
    }
    const left = this.#leftFor(priority);
    for (const other of this.#left.keys()) if (other > priority) this.#left.delete(other);
    addShape(left, shape, -1);
    if (isLast && this.#laying !== undefined) addShape(this.#laying.used, shape);
    else this.#laying = undefined;
  }

  /** Above all of its priority. @returns whether it is the last */
  #insert(laid: Laid): boolean {
    let place = this.#laid.length;
    while (place > 0 && (this.#laid[place - 1]?.priority ?? 0) > laid.priority) place -= 1;
    if (place < this.#laid.length) {
      this.#laid.splice(place, 0, laid);
      return false;
    }
    this.#laid.push(laid);
    return true;
  }

  /** A borrowed lease was told to go. */
  drop(laid: Laid): void {
    this.#gone.add(laid);
    if (this.#laying !== undefined) addShape(this.#laying.borrowedUnits, laid.shape, -1);
  }

  laying(): Laying {
    return (this.#laying ??= this.#lay());
  }

  /** Leases and others that would be borrowed beside a request of this shape that started now. */
  borrowedBeside(shape: Shape, priority: number): readonly Laid[] {
    if (!this.hasLeases) return [];
    return this.#lay(shape, priority).borrowed;
  }

  #lay(shape?: Shape, priority = 0): Laying {
    const left = [...this.#nominal];
    const laying: Laying = { borrowed: [], used: [], borrowedUnits: left.map(() => 0) };
    let isDue = shape !== undefined;
    for (const laid of this.#laid) {
      if (isDue && shape !== undefined && laid.priority > priority) {
        addShape(left, shape, -1);
        isDue = false;
      }
      if (this.#gone.has(laid)) continue;
      if (fitsInto(laid.shape, left)) addShape(left, laid.shape, -1);
      else {
        laying.borrowed.push(laid);
        addShape(laying.borrowedUnits, laid.shape);
      }
    }
    laying.used.push(...left.map((units, type) => this.nominalOf(type) - units));
    return laying;
  }

  #leftFor(priority: number): number[] {
    const known = this.#left.get(priority);
    if (known !== undefined) return known;
    const left = [...this.#nominal];
    for (const laid of this.#laid) {
      if (laid.priority > priority) break;
      if (fitsInto(laid.shape, left) && !this.#gone.has(laid)) addShape(left, laid.shape, -1);
    }
    this.#left.set(priority, left);
    return left;
  }
}
