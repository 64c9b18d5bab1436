import type { StoreMethodName } from './calls.js';
import { storeErrors } from './store-error.js';
import type { XmlOperation } from './xml-calls.js';

interface Place {
  readonly bucket: string;
  readonly object: string;
  readonly destination?: { readonly bucket: string; readonly object: string };
}
export type Route = Place & { readonly method: StoreMethodName } & (
    | { readonly api: 'json' }
    | { readonly api: 'xml'; readonly operation: XmlOperation }
  );

/**
 * Returns the call that a request makes, or undefined if nothing here serves it. The JSON API's paths may lack their beginning:
 * the Node client sends `/b/..` if STORAGE_EMULATOR_HOST is set, gcsfuse `/storage/b/..`. Any other path is the XML API's
 * `/bucket/object`: no bucket has a name of one letter. Throws StoreError 400.
 */
export function routeOf(verb: string, path: string, query: URLSearchParams): Route | undefined {
  const upload = /^\/(?:resumable\/)?upload\/storage\/v1\/b\/([^/]+)\/o\/?$/.exec(path);
  if (upload !== null) return uploadRoute(verb, decoded(upload[1]), query);
  const rest = path.replace(/^\/(?:download\/)?(?:storage\/)?(?:v1\/)?(?=b(?:\/|$))/, '/');
  if (!/^\/b(?:\/|$)/.test(rest)) return xmlRoute(verb, path, query);
  return jsonRoute(verb, rest, query);
}

type Verbs = Readonly<Record<string, StoreMethodName>>;

/** Calls by the path after `/b/BUCKET`; '' for the bucket itself. */
const BUCKET_CALLS: Readonly<Record<string, Verbs>> = {
  '': { GET: 'buckets.get', PATCH: 'buckets.patch', PUT: 'buckets.update', DELETE: 'buckets.delete' },
  '/iam': { GET: 'buckets.getIamPolicy', PUT: 'buckets.setIamPolicy' },
  '/iam/testPermissions': { GET: 'buckets.testIamPermissions' },
  '/storageLayout': { GET: 'buckets.getStorageLayout' },
  '/folders': { GET: 'folders.list', POST: 'folders.list' },
  '/managedFolders': { GET: 'managedFolders.list' },
  '/o': { GET: 'objects.list', POST: 'objects.insert' },
};

function jsonRoute(verb: string, path: string, query: URLSearchParams): Route | undefined {
  const [, name, tail = ''] = /^\/b(?:\/([^/]+)(\/.*)?)?\/?$/.exec(path) ?? [];
  if (name === undefined)
    return verbRoute(verb, { GET: 'buckets.list', POST: 'buckets.insert' }, { bucket: '', object: '' });
  const bucket = decoded(name);
  const call = BUCKET_CALLS[tail.replace(/\/$/, '')];
  if (call !== undefined) return verbRoute(verb, call, { bucket, object: query.get('name') ?? '' });
  const object = /^\/o\/(.+)$/.exec(tail);
  return object === null ? undefined : objectRoute(verb, bucket, object[1] ?? '');
}

function uploadRoute(verb: string, bucket: string, query: URLSearchParams): Route | undefined {
  const object = query.get('name') ?? '';
  const resumed: Verbs = {
    PUT: 'objects.insert.resume',
    POST: 'objects.insert.resume',
    DELETE: 'objects.insert.cancel',
  };
  const verbs: Verbs = query.has('upload_id') ? resumed : { POST: 'objects.insert', PUT: 'objects.insert' };
  return verbRoute(verb, verbs, { bucket, object });
}

function objectRoute(verb: string, bucket: string, tail: string): Route | undefined {
  const post: Verbs = { POST: 'objects.compose' };
  const compose = /^(.+)\/compose$/.exec(tail);
  if (verb === 'POST' && compose !== null) return verbRoute(verb, post, { bucket, object: decoded(compose[1]) });
  const move = /^(.+)\/moveTo\/o\/(.+)$/.exec(tail);
  if (verb === 'POST' && move !== null) {
    const destination = { bucket, object: decoded(move[2]) };
    return verbRoute(verb, { POST: 'objects.move' }, { bucket, object: decoded(move[1]), destination });
  }
  const copy = /^(.+)\/(copyTo|rewriteTo)\/b\/([^/]+)\/o\/(.+)$/.exec(tail);
  if (verb === 'POST' && copy !== null) {
    const method = copy[2] === 'copyTo' ? 'objects.copy' : 'objects.rewrite';
    const destination = { bucket: decoded(copy[3]), object: decoded(copy[4]) };
    return verbRoute(verb, { POST: method }, { bucket, object: decoded(copy[1]), destination });
  }
  const asked = /^(.+)\/iam\/testPermissions$/.exec(tail);
  if (asked !== null) {
    return verbRoute(verb, { GET: 'objects.testIamPermissions' }, { bucket, object: decoded(asked[1]) });
  }
  const verbs: Verbs = {
    GET: 'objects.get',
    HEAD: 'objects.get',
    PATCH: 'objects.patch',
    PUT: 'objects.update',
    DELETE: 'objects.delete',
  };
  return verbRoute(verb, verbs, { bucket, object: decoded(tail) });
}

function verbRoute(verb: string, verbs: Verbs, place: Place): Route | undefined {
  const method = verbs[verb];
  return method === undefined ? undefined : { api: 'json', method, ...place };
}

function xmlRoute(verb: string, path: string, query: URLSearchParams): Route | undefined {
  const [, bucket, object] = /^\/([a-z0-9][^/]{2,})\/(.+)$/.exec(path) ?? [];
  if (bucket === undefined) return undefined;
  const found = xmlCall(verb, query);
  return found && { api: 'xml', ...found, bucket: decoded(bucket), object: decoded(object) };
}

function xmlCall(
  verb: string,
  query: URLSearchParams,
): { readonly method: StoreMethodName; readonly operation: XmlOperation } | undefined {
  const isPart = query.has('uploadId');
  const isResumed = query.has('upload_id');
  switch (verb) {
    case 'GET':
    case 'HEAD':
      return { method: 'objects.get', operation: 'get' };
    case 'PUT':
      if (isPart) return { method: 'objects.insert.resume', operation: 'putPart' };
      if (isResumed) return { method: 'objects.insert.resume', operation: 'resume' };
      return { method: 'objects.insert', operation: 'put' };
    case 'POST':
      if (isPart) return { method: 'objects.insert.resume', operation: 'completeParts' };
      return { method: 'objects.insert', operation: query.has('uploads') ? 'beginParts' : 'beginResumable' };
    case 'DELETE':
      if (isPart) return { method: 'objects.insert.cancel', operation: 'abortParts' };
      return { method: 'objects.delete', operation: 'delete' };
    default:
      return undefined;
  }
}

function decoded(text: string | undefined): string {
  try {
    return decodeURIComponent(text ?? '');
  } catch {
    throw storeErrors.invalid(`Malformed percent-encoding in the URL: ${text}`);
  }
}
