import type { TierQuota, Workload } from './tier-quota.js';
import { addShape } from './room.js';
import type { Shape } from './shapes.js';

/** What one project uses during a pass, in all tiers. */
export class ProjectUsage {
  /** Number within the pass, from 0. */
  readonly index: number;
  /** In lower case. */
  readonly name: string;
  readonly quotas: readonly TierQuota[];
  /** Units by type over all tiers: leases that do not drain, and what this pass granted or claimed. */
  readonly #used: number[];
  readonly #nominal: readonly number[];

  /** @param used by type */
  constructor(index: number, name: string, quotas: readonly TierQuota[], used: readonly number[]) {
    this.index = index;
    this.name = name;
    this.quotas = quotas;
    this.#used = [...used];
    this.#nominal = used.map((_, type) => quotas.reduce((sum, quota) => sum + quota.nominalOf(type), 0));
  }

  quota(tier: number): TierQuota {
    const quota = this.quotas[tier];
    if (quota === undefined) throw new RangeError(`tier ${tier}: project ${this.name} has ${this.quotas.length}`);
    return quota;
  }

  use(shape: Shape): void {
    addShape(this.#used, shape);
  }

  /** Dominant share (rule 5): the largest (used + asked) / nominal of the types asked for. */
  shareWith({ types, amounts }: Shape): Share {
    let largest = NO_SHARE;
    for (let index = 0; index < types.length; index += 1) {
      const type = types[index] ?? 0;
      const share = { part: (this.#used[type] ?? 0) + (amounts[index] ?? 0), of: this.#nominal[type] ?? 0 };
      if (index === 0 || compareShares(share, largest) > 0) largest = share;
    }
    return largest;
  }

  /** Borrowed units of a type, over all tiers. */
  borrowed(type: number): number {
    return this.quotas.reduce((sum, quota) => sum + (quota.isEmpty ? 0 : (quota.usage().borrowedUnits[type] ?? 0)), 0);
  }
}

/** What one user holds of the pool, in all projects. */
export class UserUsage {
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

  /** Largest share over all types (rule 5). It only grows during a pass. A new object each time it does. */
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

/** An exact fraction of two whole numbers, 0 or more. A part of nothing (`of` 0) exceeds every other share. */
export interface Share {
  readonly part: number;
  readonly of: number;
}

export const NO_SHARE: Share = { part: 0, of: 1 };

/** Negative if `a` is smaller. Cross-multiplied, so 1 of 5 equals 2 of 10 exactly. */
export function compareShares(a: Share, b: Share): number {
  const left = a.part * b.of;
  const right = b.part * a.of;
  if (left <= Number.MAX_SAFE_INTEGER && right <= Number.MAX_SAFE_INTEGER) return left - right;
  return Number(BigInt(a.part) * BigInt(b.of) - BigInt(b.part) * BigInt(a.of));
}

/** One project while leases and requests are read. */
class ProjectDraft {
  /** By tier. */
  readonly workloads: readonly Workload[][];
  /** By type. */
  readonly used: number[];

  constructor(tiers: number, types: number) {
    this.workloads = Array.from({ length: tiers }, () => []);
    this.used = Array.from({ length: types }, () => 0);
  }

  /** @param tier of the lease. A tier that the pool no longer has counts as the last one */
  add(workload: Workload, tier: number): void {
    this.workloads[Math.min(tier, this.workloads.length - 1)]?.push(workload);
    addShape(this.used, workload.shape);
  }
}

/** Projects while leases and requests are read; names ignore case. */
export class ProjectDrafts {
  /** By name in lower case. */
  readonly byName = new Map<string, ProjectDraft>();
  readonly #asWritten = new Map<string, ProjectDraft>();
  readonly #tiers: number;
  readonly #types: number;

  constructor(tiers: number, types: number) {
    this.#tiers = tiers;
    this.#types = types;
  }

  of(name: string): ProjectDraft {
    const known = this.#asWritten.get(name);
    if (known !== undefined) return known;
    const lower = name.toLowerCase();
    const draft = this.byName.get(lower) ?? new ProjectDraft(this.#tiers, this.#types);
    this.byName.set(lower, draft);
    this.#asWritten.set(name, draft);
    return draft;
  }
}
