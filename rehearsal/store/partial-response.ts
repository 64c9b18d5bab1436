import { storeErrors } from './store-error.js';

/** Wanted fields of an answer. An empty map stands for all fields below. */
type Selection = ReadonlyMap<string, Selection>;

/**
 * The fields of an answer that `fields` selects: `kind,items(name,metadata/a)`, `*` for any
 * (cloud.google.com/storage/docs/json_api, "Partial response", 2026-11). Throws StoreError 400.
 */
export function selectFields(answer: unknown, fields: string): unknown {
  return picked(answer, parseSelection(fields));
}

function picked(value: unknown, selection: Selection): unknown {
  if (selection.size === 0 || typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((item) => picked(item, selection));
  const entries = Object.entries(value as Record<string, unknown>).flatMap(([key, field]) => {
    const below = selection.get(key) ?? selection.get('*');
    return below === undefined ? [] : [[key, picked(field, below)] as const];
  });
  return Object.fromEntries(entries);
}

function parseSelection(text: string): Selection {
  const root = new Map<string, Selection>();
  const rest = parseList(text, 0, root, text);
  if (rest !== text.length) throw invalidSelection(text);
  return root;
}

/** Parses `a,b/c,d(e,f)` from `start` on into `into`. @returns the index after it */
function parseList(text: string, start: number, into: Map<string, Selection>, whole: string): number {
  for (let at = start; ;) {
    at = parseField(text, at, into, whole);
    if (text[at] !== ',') return at;
    at += 1;
  }
}

function parseField(text: string, start: number, into: Map<string, Selection>, whole: string): number {
  const match = /^\s*([A-Za-z0-9_.*-]+)\s*/.exec(text.slice(start));
  if (match === null) throw invalidSelection(whole);
  const at = start + match[0].length;
  const name = match[1] ?? '';
  const below = (into.get(name) as Map<string, Selection> | undefined) ?? new Map<string, Selection>();
  into.set(name, below);
  if (text[at] === '/') return parseField(text, at + 1, below, whole);
  if (text[at] !== '(') return at;
  const end = parseList(text, at + 1, below, whole);
  if (text[end] !== ')') throw invalidSelection(whole);
  return end + 1;
}

function invalidSelection(text: string): Error {
  return storeErrors.invalidParameter(`Invalid field selection ${text}`);
}
