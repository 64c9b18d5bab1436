import { refusals } from './api-status.js';
import type { KubeObject } from './objects.js';
import type { ObjectStore } from './object-store.js';
import type { Resource } from './resources.js';
import { fieldMatcher, labelMatcher, type Matches } from './selectors.js';

export interface Page {
  readonly items: readonly KubeObject[];
  readonly metadata: {
    readonly resourceVersion: string;
    readonly continue?: string;
    readonly remainingItemCount?: number;
  };
}

/** @throws ApiRefusal 400 */
export function matcherOf(query: URLSearchParams, { kind }: Resource): Matches {
  const [labels, fields] = [query.get('labelSelector'), query.get('fieldSelector')];
  const tests = [...(labels ? [labelMatcher(labels)] : []), ...(fields ? [fieldMatcher(fields, kind)] : [])];
  return (object) => tests.every((test) => test(object));
}

/**
 * One page. The next page begins after the last object of this one, and shows the state at the time of its request. A real API
 * server shows the state of the first page, and forgets it after 5 min (410). A token of another listing is refused with 410 here
 * too.
 */
export function pageOf(
  store: ObjectStore,
  resource: Resource,
  namespace: string | undefined,
  query: URLSearchParams,
): Page {
  const matches = matcherOf(query, resource);
  const limit = Number(query.get('limit') ?? 0) || Infinity;
  const token = query.get('continue');
  const begin = token ? afterOf(token) : '';
  const all = store.list(resource, namespace).filter((object) => matches(object) && keyOf(object) > begin);
  const items = all.slice(0, limit);
  const last = items.at(-1);
  const left = all.length - items.length;
  return {
    items,
    metadata: {
      resourceVersion: String(store.version),
      ...(left > 0 && last && { continue: tokenOf(keyOf(last)), remainingItemCount: left }),
    },
  };
}

const keyOf = ({ metadata: { namespace = '', name } }: KubeObject): string => `${namespace}/${name}`;

const tokenOf = (after: string): string => Buffer.from(JSON.stringify({ v: 'rehearsal', after })).toString('base64url');

function afterOf(token: string): string {
  try {
    const { v, after } = JSON.parse(Buffer.from(token, 'base64url').toString()) as { v?: string; after?: string };
    if (v === 'rehearsal' && after !== undefined) return after;
  } catch {
    // Refused below.
  }
  throw refusals.expired(
    'The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter.',
  );
}
