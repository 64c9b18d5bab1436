// Cloud Storage's JSON API, as much of it as the stand-ins of gcloud, gsutil and gcsfuse need.
import { readFileSync } from 'node:fs';

const BASE = process.env.REHEARSAL_STORE_URL ?? '';
const JSON_TYPE = { 'content-type': 'application/json' };

/** An answer other than 2xx. `status` is HTTP's. */
export class StorageError extends Error {
  constructor(status, message) {
    super(message);
    this.name = 'StorageError';
    this.status = status;
  }
}

export function isNotFound(error) {
  return error instanceof StorageError && error.status === 404;
}

let token;

/** With authentication: the token of the VM's service account, found as Google's own tools find it. Without: no header. */
async function authorization() {
  if (!BASE.startsWith('https:')) return {};
  if (token === undefined) {
    const host = process.env.GCE_METADATA_HOST ?? 'metadata.google.internal';
    const url = `http://${host}/computeMetadata/v1/instance/service-accounts/default/token`;
    token = (await (await fetch(url, { headers: { 'Metadata-Flavor': 'Google' } })).json()).access_token;
  }
  return { authorization: `Bearer ${token}` };
}

async function call(method, path, { query = {}, body, headers = {} } = {}) {
  const given = Object.entries(query).filter(([, value]) => value !== undefined);
  const url = `${BASE}${path}?${new URLSearchParams(given)}`;
  const answer = await fetch(url, { method, headers: { ...headers, ...(await authorization()) }, body });
  if (answer.ok) return answer;
  const text = await answer.text();
  let message = text;
  try {
    message = JSON.parse(text).error.message;
  } catch {
    // Not in the API's error format: the text stays as it came.
  }
  throw new StorageError(answer.status, message);
}

const bucketPath = (bucket) => `/storage/v1/b/${encodeURIComponent(bucket)}`;
const objectPath = (bucket, name) => `${bucketPath(bucket)}/o/${encodeURIComponent(name)}`;

export async function getBucket(bucket) {
  return (await call('GET', bucketPath(bucket))).json();
}

export async function listBuckets() {
  const query = { project: process.env.REHEARSAL_PROJECT };
  return (await (await call('GET', '/storage/v1/b', { query })).json()).items ?? [];
}

export async function createBucket(bucket, more) {
  const body = JSON.stringify({ name: bucket, ...more });
  await call('POST', '/storage/v1/b', { query: { project: process.env.REHEARSAL_PROJECT }, body, headers: JSON_TYPE });
}

export async function deleteBucket(bucket) {
  await call('DELETE', bucketPath(bucket));
}

/** Lists all pages. @returns {Promise<{items: object[], prefixes: string[]}>} */
export async function list(bucket, prefix = '', delimiter) {
  const items = [];
  const prefixes = [];
  let pageToken;
  do {
    const query = { prefix, delimiter, pageToken };
    const page = await (await call('GET', `${bucketPath(bucket)}/o`, { query })).json();
    items.push(...(page.items ?? []));
    prefixes.push(...(page.prefixes ?? []));
    pageToken = page.nextPageToken;
  } while (pageToken !== undefined);
  return { items, prefixes };
}

export async function getObject(bucket, name) {
  return (await call('GET', objectPath(bucket, name))).json();
}

/** @param range of bytes, both ends included. @returns the response; its body is a stream */
export async function read(bucket, name, range) {
  const headers = range === undefined ? {} : { range: `bytes=${range.from}-${range.to ?? ''}` };
  return call('GET', objectPath(bucket, name), { query: { alt: 'media' }, headers });
}

export async function write(bucket, name, content, ifGenerationMatch) {
  const query = { uploadType: 'media', name, ifGenerationMatch };
  const headers = { 'content-type': 'application/octet-stream' };
  const path = `/upload${bucketPath(bucket)}/o`;
  return (await call('POST', path, { query, body: content, headers })).json();
}

export async function writeFile(bucket, name, file, ifGenerationMatch) {
  return write(bucket, name, readFileSync(file), ifGenerationMatch);
}

export async function copy(bucket, name, toBucket, toName) {
  const path = `${objectPath(bucket, name)}/rewriteTo/b/${encodeURIComponent(toBucket)}/o/${encodeURIComponent(toName)}`;
  let rewriteToken;
  do {
    const answer = await (await call('POST', path, { query: { rewriteToken }, body: '{}', headers: JSON_TYPE })).json();
    rewriteToken = answer.done === false ? answer.rewriteToken : undefined;
  } while (rewriteToken !== undefined);
}

export async function remove(bucket, name) {
  await call('DELETE', objectPath(bucket, name));
}
