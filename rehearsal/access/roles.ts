/**
 * What the predefined roles carry, as far as something here asks for it; `x.*` is every permission that begins so. From
 * docs.cloud.google.com/iam/docs/roles-permissions (2026-11), shortened: no role here carries more than Google's.
 */
export const ROLES: Readonly<Record<string, readonly string[]>> = {
  'roles/owner': ['*'],
  'roles/tpu.admin': ['tpu.*', 'resourcemanager.projects.get'],
  'roles/tpu.viewer': [
    'tpu.acceleratortypes.*',
    'tpu.locations.*',
    'tpu.nodes.get',
    'tpu.nodes.list',
    'tpu.operations.*',
    'tpu.runtimeversions.*',
    'resourcemanager.projects.get',
  ],
  'roles/storage.admin': ['storage.buckets.*', 'storage.objects.*', 'resourcemanager.projects.get'],
  'roles/storage.objectAdmin': ['storage.objects.*', 'resourcemanager.projects.get'],
  'roles/storage.objectUser': ['storage.objects.*', 'resourcemanager.projects.get'],
  'roles/storage.objectViewer': ['storage.objects.get', 'storage.objects.list', 'resourcemanager.projects.get'],
  'roles/storage.legacyBucketReader': ['storage.buckets.get', 'storage.objects.list'],
  'roles/iam.serviceAccountUser': [
    'iam.serviceAccounts.actAs',
    'iam.serviceAccounts.get',
    'iam.serviceAccounts.list',
    'resourcemanager.projects.get',
  ],
  'roles/iam.serviceAccountViewer': ['iam.serviceAccounts.get', 'iam.serviceAccounts.list'],
  'roles/compute.viewer': [
    'compute.firewalls.list',
    'compute.networks.get',
    'compute.networks.list',
    'compute.projects.get',
    'compute.regions.get',
    'compute.regions.list',
    'compute.subnetworks.get',
    'compute.subnetworks.list',
    'resourcemanager.projects.get',
    'serviceusage.quotas.get',
    'serviceusage.services.get',
  ],
  'roles/serviceusage.serviceUsageConsumer': [
    'serviceusage.quotas.get',
    'serviceusage.services.get',
    'serviceusage.services.list',
    'serviceusage.services.use',
  ],
  'roles/serviceusage.serviceUsageViewer': [
    'serviceusage.quotas.get',
    'serviceusage.services.get',
    'serviceusage.services.list',
  ],
  'roles/orgpolicy.policyViewer': ['orgpolicy.policies.list', 'orgpolicy.policy.get'],
  'roles/browser': ['resourcemanager.projects.get'],
};
