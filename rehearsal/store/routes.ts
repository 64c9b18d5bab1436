import type { StoreMethodName } from './calls.js';

export interface Route {
  readonly method: StoreMethodName;
  readonly bucket: string;
  readonly object: string;
  readonly destination?: { readonly bucket: string; readonly object: string };
}

/**
 * What a request asks for, or undefined if nothing here serves it. The Node client sends `/b/..` instead of
 * `/storage/v1/b/..` when STORAGE_EMULATOR_HOST is set; uploads keep their path in both.
 */
export function routeOf(verb: string, path: string, query: URLSearchParams): Route | undefined {
  const upload = /^\/(?:resumable\/)?upload\/storage\/v1\/b\/([^/]+)\/o\/?$/.exec(path);
  if (upload !== null) return uploadRoute(verb, decode(upload[1]), query);
  const rest = path.replace(/^\/(?:download\/)?storage\/v1(?=\/)/, '').replace(/\/$/, '');
  if (rest === '/b') return verbRoute(verb, { GET: 'buckets.list', POST: 'buckets.insert' }, '', '');
  const bucket = /^\/b\/([^/]+)$/.exec(rest);
  if (bucket !== null) {
    const verbs = { GET: 'buckets.get', PATCH: 'buckets.patch', DELETE: 'buckets.delete' } as const;
    return verbRoute(verb, verbs, decode(bucket[1]), '');
  }
  const asked = /^\/b\/([^/]+)\/iam\/testPermissions$/.exec(rest);
  if (asked !== null) return verbRoute(verb, { GET: 'buckets.testIamPermissions' }, decode(asked[1]), '');
  const match = /^\/b\/([^/]+)\/o(?:\/(.+))?$/.exec(rest);
  return match === null ? undefined : objectRoute(verb, decode(match[1]), match[2]);
}

function uploadRoute(verb: string, bucket: string, query: URLSearchParams): Route | undefined {
  const isResumed = query.has('upload_id');
  if (verb === 'PUT' && isResumed) return { method: 'objects.insert.resume', bucket, object: '' };
  if (verb === 'DELETE' && isResumed) return { method: 'objects.insert.cancel', bucket, object: '' };
  return verb === 'POST' ? { method: 'objects.insert', bucket, object: query.get('name') ?? '' } : undefined;
}

function objectRoute(verb: string, bucket: string, tail: string | undefined): Route | undefined {
  if (tail === undefined) return verbRoute(verb, { GET: 'objects.list', POST: 'objects.insert' }, bucket, '');
  const compose = /^(.+)\/compose$/.exec(tail);
  if (verb === 'POST' && compose !== null) return { method: 'objects.compose', bucket, object: decode(compose[1]) };
  const copy = /^(.+)\/(copyTo|rewriteTo)\/b\/([^/]+)\/o\/(.+)$/.exec(tail);
  if (verb === 'POST' && copy !== null) {
    const method = copy[2] === 'copyTo' ? 'objects.copy' : 'objects.rewrite';
    return {
      method,
      bucket,
      object: decode(copy[1]),
      destination: { bucket: decode(copy[3]), object: decode(copy[4]) },
    };
  }
  const verbs = { GET: 'objects.get', HEAD: 'objects.get', PATCH: 'objects.patch', DELETE: 'objects.delete' } as const;
  return verbRoute(verb, verbs, bucket, decode(tail));
}

function verbRoute(
  verb: string,
  verbs: Readonly<Record<string, StoreMethodName>>,
  bucket: string,
  object: string,
): Route | undefined {
  const method = verbs[verb];
  return method === undefined ? undefined : { method, bucket, object };
}

function decode(text: string | undefined): string {
  return decodeURIComponent(text ?? '');
}
