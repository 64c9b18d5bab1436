import { jobOfLeaseKey } from '../domain/lease.js';
import { plainWording } from './explanation/explain-words.js';
import { type Plan, planOf } from './plan.js';
import type { PoolSnapshot } from './published-state.js';
import type { QuotaConfig } from './quota-config.js';

/** Files that somebody would put in force. */
export interface PlannedFiles {
  /** What they come to together (quota/files/pool-files.ts). */
  readonly config: QuotaConfig;
  readonly hasPoolFile: boolean;
}

/** The configuration that would be in force with `files`: where no pool file is among them, the rules in force stay. */
export function configUnder(inForce: QuotaConfig, files: PlannedFiles | undefined): QuotaConfig {
  if (files === undefined) return inForce;
  const { config, hasPoolFile } = files;
  if (hasPoolFile || config.kind === 'unlimited' || inForce.kind === 'unlimited' || !inForce.rules) return config;
  return { ...config, rules: inForce.rules };
}

/**
 * What one decision would do in a pool as it was published, in the words for programs: the answer of `quota plan --output json`.
 * @param files absent: those in force
 */
export function publishedPlan({ view, at }: PoolSnapshot, files: PlannedFiles | undefined): Plan {
  const config = configUnder(view.config, files);
  return planOf({ ...view, config }, at, { ...plainWording(config), nameOf: jobOfLeaseKey });
}
