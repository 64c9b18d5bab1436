import type { Pricing } from '../domain/slice.js';
import { addUnits, unitsOf } from '../domain/units.js';
import { mayLieIn } from './decision/shapes.js';
import { projectKey } from './quota-config.js';
import type { QuotaConfig } from './quota-config.js';

/** Sizes of one gang of a project with nominal quota in several tiers, in quota units of one type (docs/adr/0126). */
export interface GangBound {
  readonly project: string;
  readonly type: string;
  /** The bound is for jobs that name this pricing. Absent: for jobs that name none. */
  readonly pricing?: Pricing;
  /** The project's nominal quota in all tiers that such a job may use. A larger gang borrows. */
  readonly nominal: number;
  /** Units of the largest of those tiers. A larger gang cannot start. */
  readonly tier: number;
  /** A gang of this size has room in some tier whatever others run within their quota, if the project runs nothing else. */
  readonly sure: number;
}

/** The bounds of projects whose nominal quota is more than one gang can be sure of. Empty for a pool of one tier. */
export function gangBounds(config: QuotaConfig): readonly GangBound[] {
  if (config.kind === 'unlimited' || config.tiers.length < 2) return [];
  const named = config.tiers.map((_, tier) => config.rules?.tiers[tier]?.pricing);
  const pricings = new Set<Pricing | undefined>([undefined, ...named]);
  const promised = config.projects.flatMap(({ nominal }) => nominal).reduce(addUnits, {});
  const bounds = [...pricings].flatMap((pricing) => {
    const tiers = config.tiers.flatMap((_, tier) => (mayLieIn(config, asking(pricing), tier) ? [tier] : []));
    return config.projects.flatMap(({ name, nominal }): GangBound[] => {
      const own = nominal.reduce(addUnits, {});
      return Object.keys(own).map((type) => {
        const sizes = tiers.map((tier) => unitsOf(config.tiers[tier] ?? {}, type));
        const has = tiers.reduce((sum, tier) => sum + unitsOf(nominal[tier] ?? {}, type), 0);
        const others = unitsOf(promised, type) - unitsOf(own, type);
        const limit = config.rules?.lendingLimits[projectKey(name)]?.[type] ?? Infinity;
        const kept = tiers.map((tier) => unitsOf(nominal[tier] ?? {}, type) - limit);
        const sure = Math.min(has, Math.max(sureGang(sizes, others), ...kept));
        return { project: name, type, ...asking(pricing), nominal: has, tier: Math.max(0, ...sizes), sure };
      });
    });
  });
  return bounds.filter(({ nominal, sure }) => sure < nominal);
}

const asking = (pricing: Pricing | undefined): { readonly pricing?: Pricing } =>
  pricing === undefined ? {} : { pricing };

/**
 * The largest gang that `others` units cannot keep out of all tiers at once. To keep it out of one tier, they must leave less of
 * that tier than the gang needs.
 */
function sureGang(sizes: readonly number[], others: number): number {
  const isSure = (gang: number): boolean => sizes.reduce((sum, size) => sum + Math.max(0, size - gang + 1), 0) > others;
  let [sure, tooLarge] = [0, Math.max(0, ...sizes) + 1];
  while (tooLarge - sure > 1) {
    const middle = Math.floor((sure + tooLarge) / 2);
    if (isSure(middle)) sure = middle;
    else tooLarge = middle;
  }
  return sure;
}
