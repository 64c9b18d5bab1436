import type { LimitedQuota, PoolRules } from '../quota-config.js';
import type { Room } from './room.js';
import type { ProjectUsage } from './usage.js';
import type { Kind } from './waiting.js';
import type { QuotaUnits } from '../../domain/units.js';
import { unitsOf } from '../../domain/units.js';
import type { Shape, ShapeTable } from './shapes.js';
import type { TierProblem } from './verdict.js';

/** The parts of a pass's state that the limits read. They change during the pass. */
interface Limited {
  readonly config: LimitedQuota;
  readonly rules: PoolRules;
  readonly shapes: ShapeTable;
  readonly room: Room;
  readonly projects: ReadonlyMap<string, ProjectUsage>;
}

/**
 * Borrowing and lending limits (rule 4) during a pass: units by project and type. A project without limits has no entry.
 */
export class Limits {
  readonly #state: Limited;
  readonly isLendingLimited: boolean;

  /** Called before `state.projects` is filled, since its projects are counted with these limits. */
  constructor(state: Limited) {
    this.#state = state;
    this.isLendingLimited = Object.keys(state.rules.lendingLimits).length > 0;
  }

  /**
   * Returns whether the gang may start in this tier: within its project's borrowing limit, unless its quota covers it, and within
   * the units that others lend.
   * @param isTaken whether the gang's units were already taken from the free ones
   */
  allow(kind: Kind, tier: number, isTaken = false): boolean {
    return this.#borrowing(kind, tier) === undefined && this.#lending(kind, tier, isTaken) === undefined;
  }

  /** All limits that keep the gang out of this tier. */
  problems(kind: Kind, tier: number): readonly TierProblem[] {
    const found = [this.#borrowing(kind, tier), this.#lending(kind, tier, false)];
    return found.filter((problem) => problem !== undefined);
  }

  /** Whether the gang could ever start in this tier if it were empty, within borrowing and lending limits. */
  potentiallyAllow({ project, shape, priority }: Kind, tier: number): boolean {
    const ofProject = this.#state.rules.borrowingLimits[project.name];
    const limit = ofProject === undefined || project.isCovered(shape, priority) ? undefined : ofProject;
    return (limit === undefined && !this.isLendingLimited) || this.#isWithinEver(project, shape, tier, limit);
  }

  #isWithinEver(project: ProjectUsage, shape: Shape, tier: number, limit: QuotaUnits | undefined): boolean {
    return shape.types.every((type, index) => {
      const name = this.#state.shapes.types[type] ?? '';
      const asked = shape.amounts[index] ?? 0;
      if (limit !== undefined && Object.hasOwn(limit, name) && asked > unitsOf(limit, name)) return false;
      return asked <= unitsOf(this.#state.config.tiers[tier] ?? {}, name) - this.#neverLent(project, type, tier);
    });
  }

  #borrowing({ project, shape, priority }: Kind, tier: number): TierProblem | undefined {
    const limits = this.#state.rules.borrowingLimits[project.name];
    if (limits === undefined || project.isCovered(shape, priority)) return undefined;
    for (const [index, type] of shape.types.entries()) {
      const name = this.#state.shapes.types[type] ?? '';
      if (!Object.hasOwn(limits, name)) continue;
      const [borrowed, limit] = [project.borrowed(type), unitsOf(limits, name)];
      if (borrowed + (shape.amounts[index] ?? 0) > limit) {
        return { kind: 'borrowing-limit', tier, type: name, borrowed, limit };
      }
    }
    return undefined;
  }

  #lending({ project, shape, priority }: Kind, tier: number, isTaken: boolean): TierProblem | undefined {
    if (!this.isLendingLimited) return undefined;
    if (project.isCovered(shape, priority) && project.isAtHome(shape, priority, tier)) return undefined;
    const { free } = this.#state.room.of(tier);
    for (const [index, type] of shape.types.entries()) {
      const kept = this.keptFrom(project, type, tier);
      const after = (free[type] ?? 0) - (isTaken ? 0 : (shape.amounts[index] ?? 0));
      if (kept > 0 && after < kept)
        return { kind: 'lending-limit', tier, type: this.#state.shapes.types[type] ?? '', kept };
    }
    return undefined;
  }

  /** Nominal units of one tier that other projects neither use nor lend. */
  keptFrom(project: ProjectUsage, type: number, tier: number): number {
    return this.#sumOfOthers(project, (other, lendingLimit) => {
      const { used, usedIn } = other.quota.usage();
      const left = Math.min(
        nominalIn(other, tier, type) - (usedIn[tier]?.[type] ?? 0),
        other.quota.nominalOf(type) - (used[type] ?? 0),
      );
      return Math.max(0, left - this.#lendable(lendingLimit, type));
    });
  }

  #neverLent(project: ProjectUsage, type: number, tier: number): number {
    return this.#sumOfOthers(project, (other, lendingLimit) =>
      Math.max(0, nominalIn(other, tier, type) - this.#lendable(lendingLimit, type)),
    );
  }

  #sumOfOthers(
    project: ProjectUsage,
    units: (other: ProjectUsage, limit: Readonly<Record<string, number>>) => number,
  ): number {
    let sum = 0;
    for (const [name, limit] of Object.entries(this.#state.rules.lendingLimits)) {
      const other = this.#state.projects.get(name);
      if (other !== undefined && other !== project) sum += units(other, limit);
    }
    return sum;
  }

  #lendable(limit: Readonly<Record<string, number>>, type: number): number {
    const name = this.#state.shapes.types[type] ?? '';
    return Object.hasOwn(limit, name) ? unitsOf(limit, name) : Number.POSITIVE_INFINITY;
  }
}

const nominalIn = ({ quota }: ProjectUsage, tier: number, type: number): number => quota.nominal.of(tier)[type] ?? 0;
