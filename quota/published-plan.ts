import { jobOfLeaseKey } from '../domain/lease.js';
import { plainWording } from './explanation/explain-words.js';
import { type Plan, planOf } from './plan.js';
import type { PoolSnapshot } from './published-state.js';
import type { QuotaConfig } from './quota-config.js';

/** Files that a user may put in force. */
export interface PlannedFiles {
  /** The configuration that the files give together (quota/files/pool-files.ts). */
  readonly config: QuotaConfig;
  readonly hasPoolFile: boolean;
}

/** The configuration that would be in force with `files`. Without a pool file among them, the rules in force stay. */
export function configUnder(inForce: QuotaConfig, files: PlannedFiles | undefined): QuotaConfig {
  if (files === undefined) return inForce;
  const { config, hasPoolFile } = files;
  if (hasPoolFile || config.kind === 'unlimited' || inForce.kind === 'unlimited' || !inForce.rules) return config;
  return { ...config, rules: inForce.rules };
}

/**
 * The effect of one decision in a published pool, in words for programs: the answer of `quota plan --output json`.
 * @param files absent: the files in force
 */
export function publishedPlan({ view, at }: PoolSnapshot, files: PlannedFiles | undefined): Plan {
  const config = configUnder(view.config, files);
  return planOf({ ...view, config }, at, { ...plainWording(config), nameOf: jobOfLeaseKey });
}
