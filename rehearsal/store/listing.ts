import type { BucketObjects, StoredObject } from './objects.js';

export interface ObjectPage {
  readonly kind: 'storage#objects';
  readonly items: readonly StoredObject[];
  readonly prefixes?: readonly string[];
  readonly nextPageToken?: string;
}

/**
 * One page of a listing (JSON API, objects.list): prefix, delimiter, startOffset (inclusive), endOffset (exclusive),
 * maxResults (items and prefixes together, 1000 at most) and pageToken.
 */
export function listPage(objects: BucketObjects, query: URLSearchParams): ObjectPage {
  const entries = entriesOf(objects, query);
  const token = query.get('pageToken');
  const after = token === null ? undefined : Buffer.from(token, 'base64url');
  const rest =
    after === undefined ? entries : entries.filter((entry) => Buffer.compare(Buffer.from(entry.key), after) > 0);
  const size = Math.min(Number(query.get('maxResults') ?? 1000) || 1000, 1000);
  const page = rest.slice(0, size);
  const last = page.at(-1);
  const prefixes = page.filter((entry) => entry.object === undefined).map((entry) => entry.key);
  return {
    kind: 'storage#objects',
    items: page.flatMap((entry) => entry.object ?? []),
    ...(prefixes.length === 0 ? {} : { prefixes }),
    ...(rest.length > page.length && last !== undefined
      ? { nextPageToken: Buffer.from(last.key).toString('base64url') }
      : {}),
  };
}

interface Entry {
  readonly key: string;
  /** Undefined for a prefix that stands for all names below it. */
  readonly object?: StoredObject;
}

function entriesOf(objects: BucketObjects, query: URLSearchParams): readonly Entry[] {
  const prefix = query.get('prefix') ?? '';
  const delimiter = query.get('delimiter') ?? '';
  const [start, end] = [query.get('startOffset') ?? '', query.get('endOffset') ?? ''];
  const entries = new Map<string, Entry>();
  for (const object of objects.list(prefix)) {
    if (compare(object.name, start) < 0 || (end !== '' && compare(object.name, end) >= 0)) continue;
    const cut = delimiter === '' ? -1 : object.name.indexOf(delimiter, prefix.length);
    const key = cut < 0 ? object.name : object.name.slice(0, cut + delimiter.length);
    entries.set(key, cut < 0 ? { key, object } : { key });
  }
  return [...entries.values()];
}

function compare(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}
