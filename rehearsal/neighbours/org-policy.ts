import type { JsonObject } from '../json.js';
import { ApiError } from '../tpu/api-error.js';
import type { NeighbourRoute } from './route.js';

/** Default rule of each constraint, if no policy is set. */
const UNSET: Readonly<Record<string, JsonObject>> = {
  'compute.vmExternalIpAccess': { allowAll: true },
  'compute.requireOsLogin': { enforce: false },
  'compute.requireShieldedVm': { enforce: false },
  'gcp.resourceLocations': { allowAll: true },
};

/** Organization Policy v2 (cloud.google.com/resource-manager/docs/reference/orgpolicy/rest/v2, 2026-11). */
export const ORG_POLICY: readonly NeighbourRoute[] = [
  {
    verb: 'GET',
    path: /^\/v2\/projects\/(?<project>[^/:]+)\/policies\/(?<constraint>[^/:]+):getEffectivePolicy$/,
    service: 'orgpolicy.googleapis.com',
    method: 'GetEffectivePolicy',
    permission: 'orgpolicy.policy.get',
    resource: ({ project = '', constraint = '' }) => `projects/${project}/policies/${constraint}`,
    answer({ facts, path }) {
      const constraint = path['constraint'] ?? '';
      const rule = (facts.policies[constraint] as JsonObject | undefined) ?? UNSET[constraint];
      if (rule === undefined) throw new ApiError('NOT_FOUND', 'Requested entity was not found.');
      return { name: `projects/${facts.number}/policies/${constraint}`, spec: { rules: [rule] } };
    },
  },
];
