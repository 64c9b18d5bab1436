import type { RecordedCall } from './recorded-call.js';
import type { Rehearsed } from './rehearsed-answer.js';

/** A field that Google's answer and the rehearsal's do not have in common. */
export interface Difference {
  readonly method: string;
  /** Such as `networkEndpoints[].port`, or `code`. */
  readonly path: string;
  readonly google: unknown;
  readonly rehearsal: unknown;
}

/**
 * Field by field: which fields there are, of which type, and, where the service says one of its own words, the same word. What a
 * source shows in part says nothing of the fields that it leaves out.
 */
export function differences(call: RecordedCall, rehearsed: Rehearsed): readonly Difference[] {
  const { method, code, answer, file } = call;
  if ('stuck' in rehearsed) return [{ method, path: 'state', google: file.name, rehearsal: rehearsed.stuck }];
  const [google, own] = [fieldsOf(withoutCode({ code, answer })), fieldsOf(withoutCode(rehearsed))];
  const paths = [...new Set([...google.keys(), ...(file.partial === true ? [] : own.keys())])];
  return paths
    .map((path) => ({ method, path: shortPath(path), google: google.get(path), rehearsal: own.get(path) }))
    .filter((row) => !isSame(row));
}

/** google.rpc.Status says the code a second time. */
const withoutCode = ({ code, answer }: Pick<RecordedCall, 'code' | 'answer'>): object =>
  code === 0 ? { code, answer } : { code, answer: { ...answer, code: undefined } };

const shortPath = (path: string): string => path.replace(/^answer\./, '');

/** Fields whose values are the service's own words: they have to be the same. Of other ones the type is compared. */
const OWN_WORDS =
  /(?:^|\.)(?:code|state|stateInitiator|health|verb|done|reason|domain|@type|apiVersion|message|acceleratorType|runtimeVersion|type|topology|port|spot|preemptible|unreachable\[\])$/;

function isSame({ path, google, rehearsal }: Difference): boolean {
  if (google === undefined || rehearsal === undefined) return false;
  if (!OWN_WORDS.test(path)) return typeof google === typeof rehearsal;
  return path.endsWith('message') ? wording(google) === wording(rehearsal) : google === rehearsal;
}

/** A text without what differs from case to case. */
const wording = (text: unknown): string =>
  String(text)
    .replace(/0x[0-9a-f]+/g, '0x')
    .replace(/(["'])[^"']*\1/g, "''")
    .replace(/projects\/\S+/g, 'projects/')
    .replace(/\b[a-z]+-[a-z]+\d+(?:-[a-z])?\b/g, 'ZONE')
    .replace(/\bv\d\w*-\d+\b/g, 'TYPE')
    .replace(/\d+/g, '0');

/** Leaves by their paths. What proto3 does not carry counts as absent: false, an empty text, list or map. */
function fieldsOf(value: unknown, path = ''): ReadonlyMap<string, unknown> {
  if (value === false || value === '' || value === null || value === undefined) return new Map();
  if (Array.isArray(value)) return new Map(value.flatMap((item: unknown) => [...fieldsOf(item, `${path}[]`)]));
  if (typeof value !== 'object') return new Map([[path, value]]);
  const entries = Object.entries(value).flatMap(([key, child]) => [
    ...fieldsOf(child, path === '' ? key : `${path}.${key}`),
  ]);
  // An empty message says something by being there, such as `spot`; an empty map does not.
  const isMap = /(?:^|\.)(?:labels|metadata|answer)$/.test(path);
  return entries.length === 0 && !isMap ? new Map([[path, 'present']]) : new Map(entries);
}

/** A row of an allow list: what may differ, and why. */
export interface Allowed {
  /** Of an RPC; absent: of any. */
  readonly method?: string;
  /** `*` at its end stands for the rest of a path. */
  readonly path: string;
  readonly why: string;
}

export function isAllowed({ method, path }: Difference, row: Allowed): boolean {
  if (row.method !== undefined && row.method !== method) return false;
  return row.path.endsWith('*') ? path.startsWith(row.path.slice(0, -1)) : path === row.path;
}
