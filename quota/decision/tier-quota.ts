import type { EpochMs } from '../../domain/units.js';
import { inQuotaOrder } from '../nominal-quota.js';
import type { QuotaLease } from '../quota-config.js';
import { addShape, fitsInto } from './room.js';
import type { Shape } from './shapes.js';

/** What counts against a nominal quota: a lease or, if `lease` is absent, a request that got units in this pass. */
export interface Workload {
  readonly id: string;
  readonly priority: number;
  readonly startedAt: EpochMs;
  readonly shape: Shape;
  readonly lease?: QuotaLease;
}

/** What the workloads of one quota use (rule 3). */
export interface NominalUsage {
  /** Workloads that did not fit whole on what earlier ones left. They use none of the nominal quota. */
  readonly borrowing: Workload[];
  /** Units of the nominal quota in use, by type. */
  readonly used: number[];
  /** Units of borrowing workloads, by type. */
  readonly borrowedUnits: number[];
}

/**
 * One project's nominal quota in one tier, and the workloads that count against it in the order (priority, start, id). A
 * request that starts now comes after all others of its priority. Placed by id among those of the same millisecond, it
 * could push one of them out.
 */
export class TierQuota {
  readonly #nominal: readonly number[];
  readonly #workloads: Workload[];
  /** By priority: units available to a request of that priority. Computed on demand, updated by each grant. */
  readonly #available = new Map<number, number[]>();
  #usage: NominalUsage | undefined;
  /** Targets of this pass. They were borrowing, so removing them changes nothing for other workloads. */
  readonly #removed = new Set<Workload>();
  readonly hasLeases: boolean;

  /** @param nominal units by number of the type, for every type */
  constructor(nominal: readonly number[], workloads: readonly Workload[]) {
    this.#nominal = nominal;
    this.#workloads = workloads.toSorted(inQuotaOrder);
    this.hasLeases = workloads.length > 0;
  }

  get isEmpty(): boolean {
    return this.#workloads.length === 0;
  }

  nominalOf(type: number): number {
    return this.#nominal[type] ?? 0;
  }

  /** Whether a request would be within nominal quota, in every type, if it started now. */
  fits(shape: Shape, priority: number): boolean {
    return fitsInto(shape, this.#availableTo(priority));
  }

  /** Counts a request that starts now, or as soon as its chips are free. */
  add(workload: Workload): void {
    const { priority, shape } = workload;
    const isLast = this.#insert(workload);
    if (!this.fits(shape, priority)) {
      // It borrows: workloads after it are not affected.
      this.#usage?.borrowing.push(workload);
      if (this.#usage !== undefined) addShape(this.#usage.borrowedUnits, shape);
      return;
    }
    const left = this.#availableTo(priority);
    for (const other of this.#available.keys()) if (other > priority) this.#available.delete(other);
    addShape(left, shape, -1);
    if (isLast && this.#usage !== undefined) addShape(this.#usage.used, shape);
    else this.#usage = undefined;
  }

  /** Inserts it after all others of its priority. @returns whether it is the last of all */
  #insert(workload: Workload): boolean {
    let place = this.#workloads.length;
    while (place > 0 && (this.#workloads[place - 1]?.priority ?? 0) > workload.priority) place -= 1;
    if (place < this.#workloads.length) {
      this.#workloads.splice(place, 0, workload);
      return false;
    }
    this.#workloads.push(workload);
    return true;
  }

  /** Removes a borrowing lease that became a target. */
  remove(workload: Workload): void {
    this.#removed.add(workload);
    if (this.#usage !== undefined) addShape(this.#usage.borrowedUnits, workload.shape, -1);
  }

  usage(): NominalUsage {
    return (this.#usage ??= this.#count());
  }

  /** Workloads that would borrow if a request of this shape started now. */
  borrowingWith(shape: Shape, priority: number): readonly Workload[] {
    if (!this.hasLeases) return [];
    return this.#count(shape, priority).borrowing;
  }

  #count(shape?: Shape, priority = 0): NominalUsage {
    const left = [...this.#nominal];
    const usage: NominalUsage = { borrowing: [], used: [], borrowedUnits: left.map(() => 0) };
    let isPending = shape !== undefined;
    for (const workload of this.#workloads) {
      if (isPending && shape !== undefined && workload.priority > priority) {
        addShape(left, shape, -1);
        isPending = false;
      }
      if (this.#removed.has(workload)) continue;
      if (fitsInto(workload.shape, left)) addShape(left, workload.shape, -1);
      else {
        usage.borrowing.push(workload);
        addShape(usage.borrowedUnits, workload.shape);
      }
    }
    usage.used.push(...left.map((units, type) => this.nominalOf(type) - units));
    return usage;
  }

  #availableTo(priority: number): number[] {
    const known = this.#available.get(priority);
    if (known !== undefined) return known;
    const left = [...this.#nominal];
    for (const workload of this.#workloads) {
      if (workload.priority > priority) break;
      if (fitsInto(workload.shape, left) && !this.#removed.has(workload)) addShape(left, workload.shape, -1);
    }
    this.#available.set(priority, left);
    return left;
  }
}
