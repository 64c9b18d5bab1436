import type { Demand } from '../domain/lease.js';
import type { EpochMs, QuotaUnits } from '../domain/units.js';

/** One project of a quota file. */
export interface QuotaProject {
  /** As written in the file; names are compared without regard to case. */
  readonly name: string;
  /** Shares of the pool by generation, as written: 0.6 is 60 %. */
  readonly shares: Readonly<Record<string, number>>;
  /** Whole units by tier (same order as `tiers`) that the shares come to: see nominal-quota.ts. */
  readonly nominal: readonly QuotaUnits[];
  /** RE2 patterns, full match on the user id. Resolved at submit, never in a decision. */
  readonly members: readonly string[];
}

/** What one quota file divides. Plain JSON. */
export interface LimitedQuota {
  readonly kind: 'limited';
  /** Units by tier, best tier first. */
  readonly tiers: readonly QuotaUnits[];
  readonly projects: readonly QuotaProject[];
}

/** `unlimited`: there is no quota file. */
export type QuotaConfig = LimitedQuota | { readonly kind: 'unlimited' };

/** The pool `default` where no quota file is configured. */
export const UNLIMITED: QuotaConfig = { kind: 'unlimited' };
/** What every verdict of an unlimited pool says. */
export const UNLIMITED_NOTE = 'no quota file: the pool is unlimited';

/** The project of those who name none and are members of none: no nominal quota, best effort. */
export const NO_PROJECT = 'none';

/** A job that waits. `id` names the lease it asks for. */
export interface QuotaRequest extends Demand {
  readonly id: string;
}

/** A job that holds units, or whose slices were not all seen gone. */
export interface QuotaLease extends Demand {
  readonly id: string;
  /** Index of `tiers`; 0 in an unlimited pool. A tier that the pool no longer has counts as the last. */
  readonly tier: number;
  /** The time of the grant. */
  readonly startedAt: EpochMs;
}

export interface Grant {
  readonly id: string;
  readonly tier: number;
}

/** The project's entry, found without regard to case. */
export function findProject(config: QuotaConfig, name: string): QuotaProject | undefined {
  if (config.kind === 'unlimited') return undefined;
  return config.projects.find((project) => isSameProject(project.name, name));
}

export function isSameProject(a: string, b: string): boolean {
  return a.toLowerCase() === b.toLowerCase();
}
