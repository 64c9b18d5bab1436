import type { AccessControl, Caller } from '../access/access-control.js';
import { mayDo } from '../access/access-control.js';
import { passFront } from '../access/google-front.js';
import { asObject, asString } from '../json.js';
import type { JsonObject, JsonValue } from '../json.js';
import type { ProjectFacts } from '../project/facts.js';
import { ApiError } from './api-error.js';
import type { AskedCall } from './gateway.js';

const SERVICE = 'tpu.googleapis.com';

/**
 * The permission that each call needs. Queued resources have no permissions of their own: Google's reference names those of nodes
 * (docs.cloud.google.com/tpu/docs/reference/rest/v2/projects.locations.queuedResources, 2026-11). The permissions for
 * maintenance, for cancelling or deleting operations and for the service identity are guesses: the nearest one that Google lists.
 */
const PERMISSIONS: Readonly<Record<string, string>> = {
  ListNodes: 'tpu.nodes.list',
  GetNode: 'tpu.nodes.get',
  CreateNode: 'tpu.nodes.create',
  DeleteNode: 'tpu.nodes.delete',
  StopNode: 'tpu.nodes.stop',
  StartNode: 'tpu.nodes.start',
  UpdateNode: 'tpu.nodes.update',
  PerformMaintenance: 'tpu.nodes.update',
  SimulateMaintenanceEvent: 'tpu.nodes.simulateMaintenanceEvent',
  ListQueuedResources: 'tpu.nodes.list',
  GetQueuedResource: 'tpu.nodes.get',
  CreateQueuedResource: 'tpu.nodes.create',
  DeleteQueuedResource: 'tpu.nodes.delete',
  ResetQueuedResource: 'tpu.nodes.reset',
  PerformMaintenanceQueuedResource: 'tpu.nodes.update',
  GetOperation: 'tpu.operations.get',
  WaitOperation: 'tpu.operations.get',
  ListOperations: 'tpu.operations.list',
  CancelOperation: 'tpu.operations.get',
  DeleteOperation: 'tpu.operations.get',
  ListAcceleratorTypes: 'tpu.acceleratortypes.list',
  GetAcceleratorType: 'tpu.acceleratortypes.get',
  ListRuntimeVersions: 'tpu.runtimeversions.list',
  GetRuntimeVersion: 'tpu.runtimeversions.get',
  ListReservations: 'tpu.nodes.list',
  ListLocations: 'tpu.locations.list',
  GetLocation: 'tpu.locations.get',
  GetGuestAttributes: 'tpu.nodes.get',
  GenerateServiceIdentity: 'tpu.nodes.create',
};

/**
 * Checks the rights of a call to Cloud TPU. The facts are read at each call. The text for a missing permission is the service's
 * own of 2019 (tensorflow/tpu#296), with the ending that most APIs have today. No source was found for the resource that the text
 * names if a create is refused.
 * @throws ApiError
 */
export function tpuAuthorization(access: AccessControl, facts: () => ProjectFacts): (call: AskedCall) => void {
  return ({ method, version, subject, request, headers }) => {
    const [, project = '', , location] = subject.split('/');
    const caller = passFront(access, facts(), {
      headers,
      service: SERVICE,
      method: `google.cloud.tpu.${version}.Tpu.${method}`,
      project,
      // A method that is not in the table is not served, and is refused for that, not for rights.
      ...(PERMISSIONS[method] !== undefined && { permission: PERMISSIONS[method] }),
      resource: subject,
      ...(location !== undefined && { location }),
      deniedText: (permission, resource) => `Permission '${permission}' denied on '${resource}' (or it may not exist).`,
    });
    for (const email of serviceAccounts(method, request)) checkServiceAccount(caller, facts(), email);
  };
}

/** Service accounts that a create call names for its hosts. No caller here asks for the default one by name. */
function serviceAccounts(method: string, request: JsonObject): readonly string[] {
  if (!method.startsWith('Create')) return [];
  const specs = asObject(asObject(request['queuedResource'])['tpu'])['nodeSpec'];
  const nodes = [
    asObject(request['node']),
    ...(Array.isArray(specs) ? specs.map((spec: JsonValue) => asObject(asObject(spec)['node'])) : []),
  ];
  return nodes.map((node) => asString(asObject(node['serviceAccount'])['email'])).filter((email) => email !== '');
}

/** With the text of Compute Engine, which makes the VMs; Cloud TPU's own text was not found. */
function checkServiceAccount(caller: Caller, facts: ProjectFacts, email: string): void {
  const isThere = facts.serviceAccounts === 'any' || facts.serviceAccounts.includes(email);
  if (isThere && mayDo(caller, 'iam.serviceAccounts.actAs')) return;
  const user = caller.kind === 'principal' ? caller.principal.email : 'anybody';
  const text =
    `The user does not have access to service account '${email}'.  User: '${user}'.  ` +
    'Ask a project owner to grant you the iam.serviceAccountUser role on the service account';
  const metadata = { permission: 'iam.serviceAccounts.actAs', resource: `projects/-/serviceAccounts/${email}` };
  throw new ApiError('PERMISSION_DENIED', text, {
    reason: 'IAM_PERMISSION_DENIED',
    domain: 'iam.googleapis.com',
    metadata,
  });
}
