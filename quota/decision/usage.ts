import type { ProjectQuota, Workload } from './project-quota.js';
import { addShape, fitsInto } from './room.js';
import type { Room } from './room.js';
import type { Shape } from './shapes.js';

/** One project's usage during a pass, in all tiers. */
export class ProjectUsage {
  /** Number within the pass, from 0. */
  readonly index: number;
  /** In lower case. */
  readonly name: string;
  readonly quota: ProjectQuota;
  /** Units by type over all tiers: of leases that do not drain, and granted or claimed in this pass. */
  readonly #used: number[];
  readonly #room: Room;
  readonly #keptFrom: ProjectParts['keptFrom'];

  constructor(index: number, { name, quota, used, room, keptFrom }: ProjectParts) {
    this.index = index;
    this.name = name;
    this.quota = quota;
    this.#used = [...used];
    this.#room = room;
    this.#keptFrom = keptFrom;
    if (this.#hasTiers) room.countWithinQuota(quota.usage().usedIn);
  }

  /** Adds a request that got units, or for which units were claimed. */
  add(workload: Workload): void {
    addShape(this.#used, workload.shape);
    if (!this.#hasTiers) {
      this.quota.add(workload);
      return;
    }
    const before = this.quota.usage().usedIn;
    const isWithin = this.quota.fits(workload.shape, workload.priority);
    if (this.quota.add(workload)) {
      this.#room.countWithinQuota(before, -1);
      this.#room.countWithinQuota(this.quota.usage().usedIn);
    } else if (isWithin) addShape(this.#room.of(workload.tier).beside, workload.shape, -1);
  }

  /**
   * Rule 3: whether a request is in quota in a tier. Its project's nominal quota must cover it, and this tier must have room for
   * it beside all units within nominal quota, so that only borrowing leases are preempted. If its project has no quota of this
   * very tier left for it, it must also leave the units there that other projects do not lend.
   */
  isInQuota(shape: Shape, priority: number, tier: number): boolean {
    return this.quota.fits(shape, priority) && (!this.#hasTiers || this.#hasRoom(shape, priority, tier));
  }

  /** Whether nominal quota covers the request, even if no tier has room for it. Always false in a pool of one tier. */
  isCovered(shape: Shape, priority: number): boolean {
    return this.#hasTiers && this.quota.fits(shape, priority);
  }

  /** Whether enough nominal quota of this very tier is left for the request. There it takes no room of another project. */
  isAtHome(shape: Shape, priority: number, tier: number): boolean {
    const [nominal, used] = [this.quota.nominal.of(tier), this.quota.usedBefore(priority, tier)];
    return shape.types.every((type, index) => (shape.amounts[index] ?? 0) <= (nominal[type] ?? 0) - (used[type] ?? 0));
  }

  /** A pool of one tier needs no check for room: units within nominal quota never exceed its tier. */
  get #hasTiers(): boolean {
    return this.quota.nominal.tiers > 1;
  }

  #hasRoom(shape: Shape, priority: number, tier: number): boolean {
    const beside = this.#besideIn(shape, priority, tier);
    if (fitsInto(shape, beside)) return true;
    // Leases of its own project that count after it may be pushed out by it.
    const own = this.quota.usage().usedIn[tier] ?? [];
    const without = (kept: readonly number[]): readonly number[] =>
      beside.map((units, type) => units + (own[type] ?? 0) - (kept[type] ?? 0));
    if (!fitsInto(shape, without(this.quota.usedBefore(priority, tier)))) return false;
    return fitsInto(shape, without(this.quota.usageWith(shape, priority).usedIn[tier] ?? []));
  }

  #besideIn(shape: Shape, priority: number, tier: number): readonly number[] {
    const { beside } = this.#room.of(tier);
    const keptFrom = this.#keptFrom;
    if (keptFrom === undefined || this.isAtHome(shape, priority, tier)) return beside;
    return beside.map((units, type) => units - keptFrom(this, type, tier));
  }

  /** Dominant share (rule 5): the largest (used + asked) / nominal of the types asked for. */
  shareWith({ types, amounts }: Shape): Share {
    let largest = NO_SHARE;
    for (let index = 0; index < types.length; index += 1) {
      const type = types[index] ?? 0;
      const share = { part: (this.#used[type] ?? 0) + (amounts[index] ?? 0), of: this.quota.nominalOf(type) };
      if (index === 0 || compareShares(share, largest) > 0) largest = share;
    }
    return largest;
  }

  /** Borrowed units of a type, over all tiers. */
  borrowed(type: number): number {
    return this.quota.isEmpty ? 0 : (this.quota.usage().borrowedUnits[type] ?? 0);
  }
}

interface ProjectParts {
  /** In lower case. */
  readonly name: string;
  readonly quota: ProjectQuota;
  /** Units by type. */
  readonly used: readonly number[];
  readonly room: Room;
  /** Units of one tier that other projects do not lend. Undefined if there is no such limit. */
  readonly keptFrom?: ((project: ProjectUsage, type: number, tier: number) => number) | undefined;
}

/** One user's units of the pool, in all projects. */
export class UserUsage {
  /** Number in its pass, from 0. */
  readonly index: number;
  readonly #held: number[];
  readonly #pool: readonly number[];
  #share = NO_SHARE;

  /** @param pool units of the pool by type */
  constructor(index: number, pool: readonly number[]) {
    this.index = index;
    this.#pool = pool;
    this.#held = pool.map(() => 0);
  }

  /** Largest share over all types (rule 5). It only grows during a pass. Each time it grows, it is a new object. */
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

/** One project's usage while leases and requests are read. */
class ProjectDraft {
  readonly workloads: Workload[] = [];
  /** Units by type. */
  readonly used: number[];

  constructor(types: number) {
    this.used = Array.from({ length: types }, () => 0);
  }

  add(workload: Workload): void {
    this.workloads.push(workload);
    addShape(this.used, workload.shape);
  }
}

/** The projects' usage while leases and requests are read. Names are compared without regard to case. */
export class ProjectDrafts {
  /** Drafts by name in lower case. */
  readonly byName = new Map<string, ProjectDraft>();
  readonly #asWritten = new Map<string, ProjectDraft>();
  readonly #types: number;

  constructor(types: number) {
    this.#types = types;
  }

  of(name: string): ProjectDraft {
    const known = this.#asWritten.get(name);
    if (known !== undefined) return known;
    const lower = name.toLowerCase();
    const draft = this.byName.get(lower) ?? new ProjectDraft(this.#types);
    this.byName.set(lower, draft);
    this.#asWritten.set(name, draft);
    return draft;
  }
}
