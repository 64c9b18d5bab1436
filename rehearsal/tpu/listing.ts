import type { JsonObject, JsonValue } from '../json.js';
import { asString, isObject } from '../json.js';
import { ApiError } from './api-error.js';

export interface Page<T> {
  readonly items: readonly T[];
  /** Empty on the last page. */
  readonly nextPageToken: string;
}

/** Largest page, of Google and here. */
const MAX_PAGE = 1000;

/**
 * One page of a listing in order of names. The token is the last name returned, so that the next page is right whatever was added
 * or deleted meanwhile.
 * @throws ApiError for an invalid page or filter
 */
export function pageOf<T extends { readonly name: string }>(all: readonly T[], request: JsonObject): Page<T> {
  const asked = Number(request['pageSize'] ?? 0);
  if (asked < 0) throw new ApiError('INVALID_ARGUMENT', `page_size ${asked} is negative`);
  const size = asked === 0 ? MAX_PAGE : Math.min(asked, MAX_PAGE);
  const after = startOf(asString(request['pageToken']));
  const matches = filterOf(asString(request['filter']));
  const rest = all.filter((item) => item.name > after && matches(item as unknown as JsonObject)).toSorted(byName);
  const items = rest.slice(0, size);
  const last = items.at(-1);
  const isLast = items.length === rest.length || last === undefined;
  return { items, nextPageToken: isLast ? '' : Buffer.from(last.name).toString('base64url') };
}

function startOf(token: string): string {
  const name = Buffer.from(token, 'base64url').toString();
  if (token === '' || name.startsWith('projects/')) return name;
  throw new ApiError('INVALID_ARGUMENT', `page_token '${token}' is not valid`);
}

function byName(a: { readonly name: string }, b: { readonly name: string }): number {
  return a.name < b.name ? -1 : 1;
}

/** The part of google.aip.dev/160 that lists here use: `field = value`, `!=` and `:` (has), joined by AND. */
function filterOf(filter: string): (item: JsonObject) => boolean {
  if (filter.trim() === '') return () => true;
  const tests = filter.split(/\s+AND\s+/).map((term) => {
    const found = /^\s*([\w.]+)\s*(!=|=|:)\s*(?:"([^"]*)"|(\S+))\s*$/.exec(term);
    if (found === null) throw new ApiError('INVALID_ARGUMENT', `Invalid list filter: '${filter}'`);
    const [, path = '', operator, quoted, bare = ''] = found;
    const wanted = quoted ?? bare;
    return (item: JsonObject): boolean => isSo(valueAt(item, path.split('.')), operator ?? '=', wanted);
  });
  return (item) => tests.every((test) => test(item));
}

function isSo(value: JsonValue | undefined, operator: string, wanted: string): boolean {
  const text = typeof value === 'object' ? JSON.stringify(value) : String(value ?? '');
  if (operator === ':') return wanted === '*' ? value !== undefined : text.includes(wanted);
  return (text === wanted) === (operator === '=');
}

function valueAt(item: JsonObject, path: readonly string[]): JsonValue | undefined {
  return path.reduce<JsonValue | undefined>((at, name) => (isObject(at) ? at[name] : undefined), item);
}
