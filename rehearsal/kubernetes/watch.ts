import type { ServerResponse } from 'node:http';
import { refusals } from './api-status.js';
import { matcherOf } from './listing.js';
import type { Change, ObjectStore } from './object-store.js';
import type { KubeObject } from './objects.js';
import type { Resource } from './resources.js';
import { tableOf } from './tables.js';

/** Length of a watch if the client gives no `timeoutSeconds`. */
const LONGEST_SECONDS = 3_600;

/** Sends a line of JSON for each change, until the client disconnects or its time is over. */
export function serveWatch(
  store: ObjectStore,
  resource: Resource,
  namespace: string | undefined,
  query: URLSearchParams,
  { response, isTable }: { readonly response: ServerResponse; readonly isTable: boolean },
): void {
  const matches = matcherOf(query, resource);
  const since = Number(query.get('resourceVersion') ?? 0);
  response.writeHead(200, { 'content-type': 'application/json' });
  response.flushHeaders();
  const send = (type: string, object: KubeObject): void => {
    const shown = isTable ? tableOf(resource, [object], {}) : object;
    response.write(`${JSON.stringify({ type, object: shown })}\n`);
  };
  const tell = ({ type, resource: of, object }: Change): void => {
    const isIn = namespace === undefined || object.metadata.namespace === namespace;
    if (of === resource && isIn && matches(object)) send(type, object);
  };
  if (since === 0) for (const object of store.list(resource, namespace).filter(matches)) send('ADDED', object);
  const missed = since === 0 ? [] : store.changesAfter(since);
  if (missed === undefined) {
    response.write(
      `${JSON.stringify({ type: 'ERROR', object: refusals.expired(`too old resource version: ${since} (${store.version})`).body })}\n`,
    );
    response.end();
    return;
  }
  for (const change of missed) tell(change);
  const stop = store.onChange(tell);
  const seconds = Number(query.get('timeoutSeconds') ?? 0) || LONGEST_SECONDS;
  const timer = setTimeout(() => response.end(), seconds * 1000);
  response.once('close', () => {
    stop();
    clearTimeout(timer);
  });
}
