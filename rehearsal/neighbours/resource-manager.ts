import { mayDo } from '../access/access-control.js';
import { ApiError } from '../tpu/api-error.js';
import type { NeighbourCall, NeighbourRoute } from './route.js';

const SERVICE = 'cloudresourcemanager.googleapis.com';
const resource = ({ project = '' }: Readonly<Record<string, string>>): string => `projects/${project}`;

/** Resource Manager v1 and v3, and IAM v1 (cloud.google.com/resource-manager/reference/rest/v3, 2026-11). */
export const RESOURCE_MANAGER: readonly NeighbourRoute[] = [
  {
    verb: 'GET',
    path: /^\/v3\/projects\/(?<project>[^/:]+)$/,
    service: SERVICE,
    method: 'GetProject',
    permission: 'resourcemanager.projects.get',
    resource,
    hidesUnknownProjects: true,
    answer: ({ facts, path }) => ({
      name: `projects/${facts.number}`,
      projectId: path['project'] === facts.number ? facts.id : path['project'],
      state: facts.state,
      displayName: 'Rehearsed project',
      createTime: '2026-01-01T00:00:00Z',
    }),
  },
  {
    // gcloud's `config set project` checks here whether the project may be used.
    verb: 'GET',
    path: /^\/v1\/projects\/(?<project>[^/:]+)$/,
    service: SERVICE,
    method: 'GetProject',
    permission: 'resourcemanager.projects.get',
    resource,
    hidesUnknownProjects: true,
    answer: ({ facts, path }) => ({
      projectNumber: facts.number,
      projectId: path['project'] === facts.number ? facts.id : path['project'],
      lifecycleState: facts.state,
      name: 'Rehearsed project',
      createTime: '2026-01-01T00:00:00Z',
    }),
  },
  {
    verb: 'POST',
    path: /^\/v3\/projects\/(?<project>[^/:]+):testIamPermissions$/,
    service: SERVICE,
    method: 'TestIamPermissions',
    resource,
    hidesUnknownProjects: true,
    answer: grantedOf,
  },
  {
    verb: 'POST',
    path: /^\/v3\/projects\/(?<project>[^/:]+):getIamPolicy$/,
    service: SERVICE,
    method: 'GetIamPolicy',
    permission: 'resourcemanager.projects.getIamPolicy',
    resource,
    hidesUnknownProjects: true,
    answer: ({ facts }) => ({ version: 1, etag: 'BwXhqDsMdeI=', bindings: facts.roleBindings }),
  },
  {
    verb: 'GET',
    path: /^\/v1\/projects\/(?<project>[^/:]+)\/serviceAccounts\/(?<email>[^/:]+)$/,
    service: 'iam.googleapis.com',
    method: 'GetServiceAccount',
    permission: 'iam.serviceAccounts.get',
    resource: ({ project = '', email = '' }) => `projects/${project}/serviceAccounts/${email}`,
    answer(call) {
      const { facts, path } = call;
      const email = serviceAccountOf(call);
      const name = `projects/${path['project'] === '-' ? facts.id : path['project']}/serviceAccounts/${email}`;
      return { name, projectId: facts.id, uniqueId: '100000000000000000001', email };
    },
  },
  {
    verb: 'POST',
    path: /^\/v1\/projects\/(?<project>[^/:]+)\/serviceAccounts\/(?<email>[^/:]+):testIamPermissions$/,
    service: 'iam.googleapis.com',
    method: 'TestIamPermissions',
    resource: ({ project = '', email = '' }) => `projects/${project}/serviceAccounts/${email}`,
    answer(call) {
      serviceAccountOf(call);
      return grantedOf(call);
    },
  },
];

/** The requested permissions that the caller holds. An empty list is left out, as in every JSON message. */
function grantedOf({ body, caller }: NeighbourCall): { permissions?: readonly string[] } {
  const asked = Array.isArray(body['permissions']) ? body['permissions'].map(String) : [];
  if (asked.length === 0 || asked.length > 100) {
    throw new ApiError('INVALID_ARGUMENT', `permissions: ${asked.length} of them, wanted 1 to 100`);
  }
  const wild = asked.find((permission) => permission.includes('*'));
  if (wild !== undefined) throw new ApiError('INVALID_ARGUMENT', `Permission ${wild} is not valid.`);
  const permissions = asked.filter((permission) => mayDo(caller, permission));
  return permissions.length > 0 ? { permissions } : {};
}

function serviceAccountOf({ facts, path }: NeighbourCall): string {
  const email = path['email'] ?? '';
  if (facts.serviceAccounts === 'any' || facts.serviceAccounts.includes(email)) return email;
  throw new ApiError('NOT_FOUND', 'Unknown service account');
}
