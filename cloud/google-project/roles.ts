/** A permission that jobctl needs, and a role that contains it. */
export interface NeededPermission {
  readonly permission: string;
  readonly role: string;
  /** The action that fails without it. */
  readonly use: string;
}

const TPU_ADMIN = 'roles/tpu.admin';
const COMPUTE_ADMIN = 'roles/compute.instanceAdmin.v1';
const OBJECT_ADMIN = 'roles/storage.objectAdmin';

/**
 * Needed on the Google project. Queued resources have no permissions: Google checks those of nodes
 * (docs.cloud.google.com/iam/docs/roles-permissions/tpu, read 2026-11).
 */
export const PROJECT_PERMISSIONS: readonly NeededPermission[] = [
  { permission: 'tpu.nodes.create', role: TPU_ADMIN, use: 'create slices' },
  { permission: 'tpu.nodes.get', role: TPU_ADMIN, use: 'watch slices' },
  { permission: 'tpu.nodes.list', role: TPU_ADMIN, use: 'watch slices, find leaks' },
  { permission: 'tpu.nodes.delete', role: TPU_ADMIN, use: 'delete slices' },
  { permission: 'tpu.operations.get', role: TPU_ADMIN, use: 'learn why a create call failed' },
];

/** Needed on the Google project for VMs of Compute Engine (docs/compute-engine.md). */
export const VM_PERMISSIONS: readonly NeededPermission[] = [
  { permission: 'compute.instances.create', role: COMPUTE_ADMIN, use: 'create VMs' },
  { permission: 'compute.instances.get', role: COMPUTE_ADMIN, use: 'watch VMs' },
  { permission: 'compute.instances.list', role: COMPUTE_ADMIN, use: 'watch VMs, find leaks' },
  { permission: 'compute.instances.delete', role: COMPUTE_ADMIN, use: 'delete VMs' },
  { permission: 'compute.zoneOperations.get', role: COMPUTE_ADMIN, use: 'learn why a create call failed' },
  { permission: 'compute.zoneOperations.list', role: COMPUTE_ADMIN, use: 'learn of preemptions' },
];

/** Needed for a person's login: Google counts the calls for a project, and this permission lets the login name it. */
export const QUOTA_PROJECT_PERMISSION: NeededPermission = {
  permission: 'serviceusage.services.use',
  role: 'roles/serviceusage.serviceUsageConsumer',
  use: "have a person's calls counted for the project",
};

/** Needed on the service account that the TPU VMs run as, or on the whole project. */
export const ACT_AS: NeededPermission = {
  permission: 'iam.serviceAccounts.actAs',
  role: 'roles/iam.serviceAccountUser',
  use: 'create slices whose hosts run as it',
};

/** Needed on the bucket. */
export const BUCKET_PERMISSIONS: readonly NeededPermission[] = [
  { permission: 'storage.objects.create', role: OBJECT_ADMIN, use: 'write logs and outcomes' },
  { permission: 'storage.objects.delete', role: OBJECT_ADMIN, use: 'compact logs' },
  { permission: 'storage.objects.get', role: OBJECT_ADMIN, use: 'read logs and outcomes' },
  { permission: 'storage.objects.list', role: OBJECT_ADMIN, use: 'read logs' },
];

/**
 * Google's own roles that allow creating objects, and so replacing them
 * (docs.cloud.google.com/storage/docs/access-control/iam-roles, 2026-11).
 */
export const OBJECT_WRITER_ROLES: ReadonlySet<string> = new Set([
  'roles/storage.admin',
  OBJECT_ADMIN,
  'roles/storage.objectUser',
  'roles/storage.objectCreator',
  'roles/storage.legacyBucketOwner',
  'roles/storage.legacyBucketWriter',
]);

/** The smallest of Google's own roles that has the permission; the first matching prefix counts. */
const ROLE_OF: readonly (readonly [prefix: string, role: string])[] = [
  ['tpu.', TPU_ADMIN],
  ['storage.objects.', OBJECT_ADMIN],
  ['storage.buckets.', 'roles/storage.admin'],
  ['resourcemanager.projects.getIamPolicy', 'roles/iam.securityReviewer'],
  ['iam.serviceAccounts.actAs', ACT_AS.role],
  ['iam.serviceAccounts.', 'roles/iam.serviceAccountViewer'],
  ['compute.instances.create', COMPUTE_ADMIN],
  ['compute.instances.delete', COMPUTE_ADMIN],
  ['compute.instances.set', COMPUTE_ADMIN],
  ['compute.disks.', COMPUTE_ADMIN],
  ['compute.subnetworks.use', COMPUTE_ADMIN],
  ['compute.', 'roles/compute.viewer'],
  ['orgpolicy.', 'roles/orgpolicy.policyViewer'],
  ['resourcemanager.projects.', 'roles/browser'],
  ['serviceusage.services.use', QUOTA_PROJECT_PERMISSION.role],
  ['serviceusage.', 'roles/serviceusage.serviceUsageViewer'],
];

/** The role that gives a permission, if jobctl knows one. */
export function roleWith(permission: string): string | undefined {
  return ROLE_OF.find(([prefix]) => permission.startsWith(prefix))?.[1];
}

/** Placeholder for an unknown address. */
export const SOMEBODY = 'user:EMAIL';

/**
 * The command that gives a role, for a person who may run it.
 * @param on `projects/P`, `gs://B`, or a service account's address
 * @param member `user:..` or `serviceAccount:..`
 */
export function grantCommand(role: string, on: string, member: string = SOMEBODY): string {
  return bindingCommand('add', role, on, member);
}

/** The command that takes a role away. @param on the same as for `grantCommand` */
export function revokeCommand(role: string, on: string, member: string): string {
  return bindingCommand('remove', role, on, member);
}

function bindingCommand(verb: 'add' | 'remove', role: string, on: string, member: string): string {
  const words = `${verb}-iam-policy-binding`;
  const binding = `--member=${member} --role=${role}`;
  if (on.startsWith('gs://')) return `gcloud storage buckets ${words} ${on} ${binding}`;
  if (on.includes('@')) return `gcloud iam service-accounts ${words} ${on} ${binding}`;
  return `gcloud projects ${words} ${on.replace(/^projects\//, '')} ${binding}`;
}
