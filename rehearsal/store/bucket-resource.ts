import { createHash } from 'node:crypto';
import type { JsonObject } from '../json.js';
import { asObject, isObject } from '../json.js';
import { mergePatch } from '../project/merge-patch.js';
import type { ObjectAttributes } from './object-record.js';
import { storeErrors } from './store-error.js';

/** A bucket's resource as stored. Answers add its links. */
export type BucketResource = JsonObject & { readonly name: string };

/** IAM policy of a bucket (JSON API, "Buckets: getIamPolicy"). It is stored and answered; rights come from the principals. */
export type BucketPolicy = JsonObject & { readonly etag: string };

/** Fields that a request cannot set. */
const FIXED = ['kind', 'id', 'name', 'selfLink', 'projectNumber', 'metageneration', 'timeCreated', 'updated', 'etag'];

/** Defaults of a new bucket (cloud.google.com/storage/docs/json_api/v1/buckets, 2026-11). @param now ISO 8601. */
export function newBucketResource(request: JsonObject, project: string, now: string): BucketResource {
  const name = bucketName(request['name']);
  checkBucketFields(request);
  const iam = asObject(request['iamConfiguration']);
  const isUniform = asObject(iam['uniformBucketLevelAccess'])['enabled'] === true;
  return {
    storageClass: 'STANDARD',
    softDeletePolicy: { retentionDurationSeconds: '604800', effectiveTime: now },
    ...withoutFixed(request),
    ...placeOf(request['location']),
    iamConfiguration: {
      publicAccessPrevention: 'inherited',
      ...iam,
      bucketPolicyOnly: { enabled: isUniform },
      uniformBucketLevelAccess: { enabled: isUniform },
    },
    kind: 'storage#bucket',
    id: name,
    name,
    projectNumber: projectNumber(project),
    metageneration: '1',
    timeCreated: now,
    updated: now,
  };
}

/**
 * Applies a JSON merge patch to the fields that may change.
 * @param mode `update` replaces them all. Throws StoreError 400.
 */
export function changedBucketResource(
  resource: BucketResource,
  changes: JsonObject,
  { mode, now }: { readonly mode: 'patch' | 'update'; readonly now: string },
): BucketResource {
  checkBucketFields(changes);
  const kept = Object.entries(resource).filter(
    ([field]) => [...FIXED, 'location', 'locationType', 'storageClass'].includes(field) || mode === 'patch',
  );
  const merged = asObject(mergePatch(Object.fromEntries(kept), withoutFixed(changes)));
  const { location, locationType } = resource;
  const metageneration = String(Number(resource['metageneration']) + 1);
  return { ...merged, location, locationType, name: resource.name, metageneration, updated: now };
}

function withoutFixed(fields: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(fields).filter(([field]) => !FIXED.includes(field)));
}

function checkBucketFields(request: JsonObject): void {
  for (const field of [
    'labels',
    'versioning',
    'lifecycle',
    'iamConfiguration',
    'softDeletePolicy',
    'retentionPolicy',
  ]) {
    const value = request[field];
    if (value !== undefined && value !== null && !isObject(value))
      throw storeErrors.invalid(`Invalid value for: ${field}`);
  }
  const retention = request['retentionPolicy'];
  if (isObject(retention) && !(Number(retention['retentionPeriod']) > 0))
    throw storeErrors.invalid('Invalid value for: retentionPolicy.retentionPeriod');
  // A bucket with folders is a different kind of bucket: a refusal is better than a bucket that only claims to be one.
  if (asObject(request['hierarchicalNamespace'])['enabled'] === true) {
    throw storeErrors.notServed('A bucket with a hierarchical namespace');
  }
}

/** Checks a bucket's name. Throws StoreError 400 (cloud.google.com/storage/docs/buckets#naming, 2026-11; with dots up to 222). */
function bucketName(name: unknown): string {
  if (name === undefined) throw storeErrors.required('name');
  const text = typeof name === 'string' ? name : '';
  const isLong = text.includes('.')
    ? text.length > 222 || text.split('.').some((part) => part.length > 63)
    : text.length > 63;
  const isForm = /^[a-z0-9][a-z0-9._-]+[a-z0-9]$/.test(text);
  const isReserved = /^goog|google|g00gle|^(?:\d{1,3}\.){3}\d{1,3}$|\.\./.test(text);
  if (!isForm || isLong || isReserved) throw storeErrors.invalid(`Invalid bucket name: '${String(name)}'`);
  return text;
}

/** Attributes that an object of this bucket gets if its writer gives none. */
export function objectDefaults(resource: BucketResource): ObjectAttributes {
  const storageClass = resource['storageClass'];
  return typeof storageClass === 'string' && storageClass !== 'STANDARD' ? { storageClass } : {};
}

/** Retention period of its objects, ms; 0 without a retention policy. */
export const retentionMs = (resource: BucketResource | undefined): number =>
  Number(asObject(resource?.['retentionPolicy'])['retentionPeriod'] ?? 0) * 1000;

/** The resource with its links. @param origin scheme and authority that the client used */
export function bucketAnswer(resource: BucketResource, origin: string): JsonObject {
  const { name, metageneration } = resource;
  const etag = Buffer.from(String(metageneration)).toString('base64');
  return { selfLink: `${origin}/storage/v1/b/${name}`, etag, ...resource };
}

/** A project's number, in Google's form; always the same for one project. */
export function projectNumber(project: string): string {
  return String(10 ** 11 + (createHash('sha256').update(project).digest().readUInt32BE() % 9e8) * 1000);
}

export function newPolicy(project: string): BucketPolicy {
  const role = (name: string, ...kinds: readonly string[]): JsonObject => ({
    role: `roles/storage.${name}`,
    members: kinds.map((kind) => `${kind}:${project}`),
  });
  const bindings = [
    role('legacyBucketOwner', 'projectEditor', 'projectOwner'),
    role('legacyBucketReader', 'projectViewer'),
  ];
  return { kind: 'storage#policy', version: 1, etag: 'CAE=', bindings };
}

/** Throws StoreError 400 for an invalid policy, 412 if the policy changed since it was read. */
export function changedPolicy(old: BucketPolicy, request: JsonObject): BucketPolicy {
  const { etag, bindings = [] } = request;
  if (!Array.isArray(bindings) || !bindings.every((binding) => isObject(binding))) {
    throw storeErrors.invalid('Invalid value for: bindings');
  }
  if (typeof etag === 'string' && etag !== old.etag) throw storeErrors.preconditionFailed();
  const count = Buffer.from(old.etag, 'base64').readUInt8(1);
  return { ...request, kind: 'storage#policy', bindings, etag: Buffer.from([8, (count + 1) % 256]).toString('base64') };
}

/** The location in Cloud Storage's form: in capitals, with its type. */
function placeOf(asked: unknown): { readonly location: string; readonly locationType: string } {
  const location = typeof asked === 'string' && asked !== '' ? asked.toUpperCase() : 'US';
  if (['US', 'EU', 'ASIA'].includes(location)) return { location, locationType: 'multi-region' };
  return { location, locationType: location.includes('-') ? 'region' : 'dual-region' };
}
