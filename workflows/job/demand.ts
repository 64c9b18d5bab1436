import { unitsOfJob } from '../../domain/job-units.js';
import type { Demand } from '../../domain/lease.js';
import type { JobCarry } from './carry.js';

/** What a job asks of its pool, as long as it lives. */
export function demandOf({ spec, settings, submittedAt }: Pick<JobCarry, 'spec' | 'settings' | 'submittedAt'>): Demand {
  return {
    project: settings.project,
    user: settings.user,
    priority: spec.priority,
    submittedAt,
    units: unitsOfJob(spec),
    ...(spec.namedPricing === undefined ? {} : { pricing: spec.namedPricing }),
    zones: spec.tpu.zones,
  };
}
