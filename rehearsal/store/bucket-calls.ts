import { callHeaders } from '../access/access-control.js';
import type { JsonObject } from '../json.js';
import { json, listed, noContent } from './answers.js';
import { bucketAnswer } from './bucket-resource.js';
import type { StoreCall, StoreMethod, StoreParts } from './call.js';
import { readMaxResults } from './listing.js';
import { readPreconditions } from './preconditions.js';
import { storeErrors } from './store-error.js';

/** Changes a bucket: PATCH merges the fields, PUT replaces those that may change. */
function change(mode: 'patch' | 'update'): StoreMethod {
  return async ({ buckets }, call) => {
    const changes = (await call.body.json()) as JsonObject;
    const wanted = readPreconditions(call.query);
    return json(bucketAnswer(buckets.change(call.bucket, changes, { mode, wanted }).resource, call.origin));
  };
}

export const BUCKET_METHODS = {
  'buckets.list': listBuckets,
  'buckets.insert': async ({ buckets }, call) => {
    const project = projectOf(call);
    const bucket = buckets.create((await call.body.json()) as JsonObject, project);
    return json(bucketAnswer(bucket.resource, call.origin));
  },
  'buckets.get': ({ buckets }, call) => {
    const { resource } = buckets.get(call.bucket);
    const wanted = readPreconditions(call.query);
    const found = String(resource['metageneration']);
    if (wanted.notMetageneration === found) throw storeErrors.notModified();
    if ((wanted.metageneration ?? found) !== found) throw storeErrors.preconditionFailed();
    return json(bucketAnswer(resource, call.origin));
  },
  'buckets.patch': change('patch'),
  'buckets.update': change('update'),
  'buckets.delete': ({ buckets }, call) => {
    buckets.remove(call.bucket, readPreconditions(call.query));
    return noContent();
  },
  'buckets.getStorageLayout': ({ buckets }, call) => {
    const { name, location, locationType } = buckets.get(call.bucket).resource;
    const hierarchicalNamespace = { enabled: false };
    return json({ kind: 'storage#storageLayout', bucket: name, location, locationType, hierarchicalNamespace });
  },
  'buckets.getIamPolicy': ({ buckets }, call) => json(policyAnswer(buckets.get(call.bucket).policy, call)),
  'buckets.setIamPolicy': async ({ buckets }, call) => {
    const { policy } = buckets.setPolicy(call.bucket, (await call.body.json()) as JsonObject);
    return json(policyAnswer(policy, call));
  },
  'buckets.testIamPermissions': ({ buckets, granted }, call) => {
    buckets.get(call.bucket);
    const asked = call.query.getAll('permissions');
    if (asked.length === 0) throw storeErrors.required('permissions');
    return listed('storage#testIamPermissionsResponse', {
      permissions: granted(callHeaders(call.headers, call.isOwnLogin), asked),
    });
  },
  // A bucket without a hierarchical namespace has no folders of either kind.
  'folders.list': ({ buckets }, call) => {
    buckets.get(call.bucket);
    throw storeErrors.flatNamespace();
  },
  'managedFolders.list': ({ buckets }, call) => {
    buckets.get(call.bucket);
    return listed('storage#managedFolders', {});
  },
} as const satisfies Readonly<Record<string, StoreMethod>>;

function listBuckets({ buckets }: StoreParts, call: StoreCall): ReturnType<StoreMethod> {
  const prefix = call.query.get('prefix') ?? '';
  const token = Buffer.from(call.query.get('pageToken') ?? '', 'base64url').toString();
  const size = readMaxResults(call.query);
  const all = buckets.list(projectOf(call)).map((bucket) => bucket.resource);
  const rest = all.filter(({ name }) => name.startsWith(prefix) && name > token);
  const page = rest.slice(0, size);
  const next = rest.length > size ? Buffer.from(page.at(-1)?.name ?? '').toString('base64url') : undefined;
  return listed('storage#buckets', { items: page.map((resource) => bucketAnswer(resource, call.origin)) }, next);
}

function policyAnswer(policy: JsonObject, { bucket }: StoreCall): object {
  return { ...policy, resourceId: `projects/_/buckets/${bucket}` };
}

function projectOf(call: StoreCall): string {
  const project = call.query.get('project') ?? '';
  if (project === '') throw storeErrors.required('project');
  return project;
}
