import type { QuotaConfig, QuotaLease, QuotaProject, QuotaRequest } from '../../quota/quota-config.js';
import type { QuotaUnits } from '../../domain/units.js';

/** Each builder shows what matters to the case; all else is dull. */
export function project(name: string, nominal: QuotaUnits | readonly QuotaUnits[] = {}): QuotaProject {
  const byTier = Array.isArray(nominal) ? (nominal as readonly QuotaUnits[]) : [nominal as QuotaUnits];
  return { name, shares: {}, nominal: byTier, members: ['.*'] };
}

export function pool(tiers: QuotaUnits | readonly QuotaUnits[], ...projects: QuotaProject[]): QuotaConfig {
  return { kind: 'limited', tiers: Array.isArray(tiers) ? (tiers as QuotaUnits[]) : [tiers as QuotaUnits], projects };
}

const DULL = { project: 'none', user: 'u', priority: 3, submittedAt: 0 };

export function request(id: string, units: QuotaUnits, more: Partial<QuotaRequest> = {}): QuotaRequest {
  return { id, units, ...DULL, ...more };
}

export function lease(id: string, units: QuotaUnits, more: Partial<QuotaLease> = {}): QuotaLease {
  return { id, units, tier: 0, startedAt: 0, ...DULL, ...more };
}
