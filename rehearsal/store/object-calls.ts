import { callHeaders } from '../access/access-control.js';
import { json, listed, noContent } from './answers.js';
import type { StoreAnswer, StoreCall, StoreMethod, StoreParts } from './call.js';
import { listPage } from './listing.js';
import { mediaOf } from './media.js';
import { etagOf, resourceOf } from './object-record.js';
import { checkReadPreconditions, readPreconditions } from './preconditions.js';
import { storeErrors } from './store-error.js';

function change(mode: 'patch' | 'update'): StoreMethod {
  return async ({ buckets }, call) => {
    const { objects } = buckets.get(call.bucket);
    const changes = await call.body.json();
    const wanted = readPreconditions(call.query);
    const object = objects.patch(call.object, changes, { wanted, generation: readGeneration(call.query), mode });
    return json(resourceOf(object, call.bucket, call.origin));
  };
}

export const OBJECT_METHODS = {
  'objects.list': ({ buckets }, call) => {
    const { items, prefixes, nextPageToken } = listPage(buckets.get(call.bucket).objects, call.query);
    const resources = items.map((object) => resourceOf(object, call.bucket, call.origin));
    return listed('storage#objects', { prefixes, items: resources }, nextPageToken);
  },
  'objects.get': getObject,
  'objects.patch': change('patch'),
  'objects.update': change('update'),
  'objects.delete': ({ buckets }, { bucket, object, query }) => {
    buckets.get(bucket).objects.remove(object, readPreconditions(query), readGeneration(query));
    return noContent();
  },
  'objects.testIamPermissions': ({ buckets, granted }, call) => {
    buckets.get(call.bucket).objects.get(call.object);
    const permissions = granted(callHeaders(call.headers, call.isOwnLogin), call.query.getAll('permissions'));
    return listed('storage#testIamPermissionsResponse', { permissions });
  },
} as const satisfies Readonly<Record<string, StoreMethod>>;

async function getObject({ buckets }: StoreParts, call: StoreCall): Promise<StoreAnswer> {
  const { objects } = buckets.get(call.bucket);
  const object = objects.get(call.object, readGeneration(call.query));
  checkReadPreconditions(object, readPreconditions(call.query));
  if (call.headers['if-none-match'] === etagOf(object)) throw storeErrors.notModified();
  const isMedia = call.query.get('alt') === 'media';
  if (!isMedia) {
    return { kind: 'json', json: resourceOf(object, call.bucket, call.origin), headers: { etag: etagOf(object) } };
  }
  return { kind: 'bytes', ...(await mediaOf(objects, object, call.headers, call.verb === 'HEAD')) };
}

/** 0 means the live generation, as gcsfuse sends it. Throws StoreError 400. */
export function readGeneration(query: URLSearchParams, parameter = 'generation'): string | undefined {
  const generation = query.get(parameter);
  if (generation === null || generation === '0') return undefined;
  if (!/^\d{1,20}$/.test(generation)) throw storeErrors.invalidValue(parameter, generation);
  return generation;
}
