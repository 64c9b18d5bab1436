import type { Laid } from './laying.js';
import { addShape } from './room.js';

/** What one project has, while leases and requests are read. */
class ProjectDraft {
  /** By tier. */
  readonly laid: readonly Laid[][];
  /** By type. */
  readonly used: number[];

  constructor(tiers: number, types: number) {
    this.laid = Array.from({ length: tiers }, () => []);
    this.used = Array.from({ length: types }, () => 0);
  }

  /** @param tier of the lease; one that the pool no longer has counts as the last */
  add(laid: Laid, tier: number): void {
    this.laid[Math.min(tier, this.laid.length - 1)]?.push(laid);
    addShape(this.used, laid.shape);
  }
}

/** Projects by name, without regard to case. */
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
