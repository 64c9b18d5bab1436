import { ApiError } from '../tpu/api-error.js';
import type { ComputeError } from './model.js';

/** Error texts as users reported them; docs/compute-engine.md of jobctl names each source. */
export const computeErrors = {
  notFound: (path: string) => new ApiError('NOT_FOUND', `The resource '${path}' was not found`),
  alreadyExists: (path: string) => new ApiError('ALREADY_EXISTS', `The resource '${path}' already exists`),
  unknownZone: (zone: string) =>
    new ApiError('INVALID_ARGUMENT', `Invalid value for field 'zone': '${zone}'. Unknown zone.`),
  invalid: (field: string, value: string, why: string) =>
    new ApiError('INVALID_ARGUMENT', `Invalid value for field '${field}': '${value}'. ${why}`),
  unknownMachineType: (link: string, type: string, zone: string) =>
    new ApiError(
      'INVALID_ARGUMENT',
      `Invalid value for field 'resource.machineType': '${link}'. Machine type with name '${type}' does not exist in zone '${zone}'.`,
    ),
  noLiveMigration: () =>
    new ApiError('INVALID_ARGUMENT', 'Instances with guest accelerators do not support live migration.'),
  preemptibleMigrates: () =>
    new ApiError(
      'INVALID_ARGUMENT',
      "Scheduling must have preemptible be false when OnHostMaintenance isn't TERMINATE.",
    ),
};

export const stockout = (project: string, zone: string, machineType: string): ComputeError => ({
  code: 'ZONE_RESOURCE_POOL_EXHAUSTED_WITH_DETAILS',
  message:
    `The zone 'projects/${project}/zones/${zone}' does not have enough resources available to fulfill the request.  ` +
    `A ${machineType} VM instance is currently unavailable in the ${zone} zone. Alternatively, you can try your request ` +
    'again with a different VM hardware configuration or at a later time.',
});

/** @param region absent: all regions together */
export const quotaExceeded = (metric: string, limit: number, region?: string): ComputeError => ({
  code: 'QUOTA_EXCEEDED',
  message: `Quota '${metric}' exceeded.  Limit: ${limit.toFixed(1)} ${region === undefined ? 'globally' : `in region ${region}`}.`,
});
