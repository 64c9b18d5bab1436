import { globExpression } from './glob.js';
import { compareNames } from './name-index.js';
import type { ObjectRecord } from './object-record.js';
import type { BucketObjects } from './objects.js';
import { storeErrors } from './store-error.js';

export interface ObjectPage {
  readonly items: readonly ObjectRecord[];
  readonly prefixes: readonly string[];
  readonly nextPageToken?: string;
}

/** Most items and prefixes together on one page. */
const MAX_RESULTS = 1000;

interface Listing {
  readonly prefix: string;
  readonly delimiter: string;
  /** Inclusive; '': no start. */
  readonly start: string;
  /** Exclusive; '': no end. */
  readonly end: string;
  readonly glob: RegExp | undefined;
  readonly isVersioned: boolean;
  /** Whether a name that ends with the first delimiter is an item beside its prefix. */
  readonly hasTrailing: boolean;
  readonly size: number;
  readonly after: Place | undefined;
}

/** The place where a page ended. */
type Place =
  | { readonly prefix: string }
  /** Versions up to this generation were shown. */
  | { readonly name: string; readonly generation: string };

/**
 * One page of a listing (JSON API, objects.list). Names are in the order of their bytes. Names with a delimiter after the prefix
 * are returned as one prefix, and skipped in one step however many they are. Throws StoreError 400.
 */
export function listPage(objects: BucketObjects, query: URLSearchParams): ObjectPage {
  const listing = readListing(query);
  const { names } = objects;
  const [items, prefixes]: [ObjectRecord[], string[]] = [[], []];
  let last: Place | undefined;
  for (let index = firstIndex(objects, listing); index < names.length;) {
    const name = names.at(index) ?? '';
    if (!name.startsWith(listing.prefix) || (listing.end !== '' && compareNames(name, listing.end) >= 0)) break;
    const group = prefixOf(name, listing);
    const shown = shownVersions(objects, name, listing);
    const isItem = group === undefined || (group === name && listing.hasTrailing);
    if (shown.length > 0 && items.length + prefixes.length >= listing.size && last !== undefined) {
      return { items, prefixes, nextPageToken: encodePlace(last) };
    }
    if (isItem && shown.length > 0) {
      const free = Math.max(listing.size - items.length - prefixes.length, 1);
      const taken = shown.slice(0, free);
      items.push(...taken);
      last = { name, generation: taken.at(-1)?.generation ?? '' };
      if (taken.length < shown.length) return { items, prefixes, nextPageToken: encodePlace(last) };
    }
    if (group !== undefined && shown.length > 0) {
      prefixes.push(group);
      last = { prefix: group };
    }
    index = group !== undefined && shown.length > 0 ? names.firstBehindPrefix(group) : index + 1;
  }
  return { items, prefixes };
}

function readListing(query: URLSearchParams): Listing {
  const text = (parameter: string): string => query.get(parameter) ?? '';
  const glob = text('matchGlob');
  return {
    prefix: text('prefix'),
    delimiter: text('delimiter'),
    start: text('startOffset'),
    end: text('endOffset'),
    glob: glob === '' ? undefined : globExpression(glob),
    isVersioned: readBoolean(query, 'versions'),
    hasTrailing: readBoolean(query, 'includeTrailingDelimiter'),
    size: readMaxResults(query),
    after: query.has('pageToken') && text('pageToken') !== '' ? decodePlace(text('pageToken')) : undefined,
  };
}

/** Page size, 1 to 1000; 1000 if the query gives none, 0 or more than 1000. Throws StoreError 400. */
export function readMaxResults(query: URLSearchParams): number {
  const text = query.get('maxResults') ?? '0';
  if (!/^\d{1,10}$/.test(text)) throw storeErrors.invalidValue('maxResults', text);
  return Math.min(Number(text) || MAX_RESULTS, MAX_RESULTS);
}

/** False if the query lacks the parameter. Throws StoreError 400. */
export function readBoolean(query: URLSearchParams, parameter: string): boolean {
  const text = query.get(parameter) ?? 'false';
  if (!/^(?:true|false)$/i.test(text)) throw storeErrors.invalidValue(parameter, text);
  return text.toLowerCase() === 'true';
}

function firstIndex({ names }: BucketObjects, { prefix, start, after }: Listing): number {
  const index = names.firstFrom(compareNames(prefix, start) > 0 ? prefix : start);
  if (after === undefined) return index;
  // Begins with the same name again: it may have versions that were not shown.
  return Math.max(index, 'prefix' in after ? names.firstBehindPrefix(after.prefix) : names.firstFrom(after.name));
}

/** The prefix that stands for this name and all like it; undefined for a name that is listed itself. */
function prefixOf(name: string, { prefix, delimiter }: Listing): string | undefined {
  const cut = delimiter === '' ? -1 : name.indexOf(delimiter, prefix.length);
  return cut < 0 ? undefined : name.slice(0, cut + delimiter.length);
}

function shownVersions(objects: BucketObjects, name: string, listing: Listing): readonly ObjectRecord[] {
  if (listing.glob !== undefined && !listing.glob.test(name)) return [];
  const live = objects.find(name);
  const { after } = listing;
  const isPast = (version: ObjectRecord): boolean =>
    after !== undefined &&
    'name' in after &&
    after.name === name &&
    BigInt(version.generation) <= BigInt(after.generation);
  const versions = listing.isVersioned ? objects.versions(name) : live === undefined ? [] : [live];
  return versions.filter((version) => !isPast(version));
}

function encodePlace(place: Place): string {
  return Buffer.from(JSON.stringify(place)).toString('base64url');
}

function decodePlace(token: string): Place {
  try {
    const place = JSON.parse(Buffer.from(token, 'base64url').toString()) as Record<string, unknown>;
    const { prefix, name, generation } = place;
    if (typeof prefix === 'string') return { prefix };
    if (typeof name === 'string' && typeof generation === 'string' && /^\d+$/.test(generation)) {
      return { name, generation };
    }
  } catch {
    // Not a token of a page: refused below.
  }
  throw storeErrors.invalidValue('pageToken', token);
}
