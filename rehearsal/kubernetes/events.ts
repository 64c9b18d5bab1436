import { randomBytes } from 'node:crypto';
import type { KubeObject } from './objects.js';
import { timestamp } from './objects.js';
import type { ObjectStore } from './object-store.js';
import { apiVersionOf, EVENTS, type Resource } from './resources.js';

export type EventSource = 'job-controller' | 'raycluster-controller' | 'default-scheduler' | 'kubelet';

interface Told {
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly message: string;
  readonly source: EventSource;
}

/** Time for which events are kept, the same as in Kubernetes. */
const KEPT_MS = 3_600_000;
/** A repetition within this time is not recorded. */
const REPEAT_MS = 15_000;

/** Events that the cluster's components report about objects. The same text about one object is one event with a count. */
export class Events {
  readonly #store: ObjectStore;
  readonly #last = new Map<string, { readonly name: string; readonly at: number }>();

  constructor(store: ObjectStore) {
    this.#store = store;
  }

  tell(resource: Resource, { metadata }: KubeObject, { type, reason, message, source }: Told): void {
    const { namespace = 'default', name, uid, resourceVersion } = metadata;
    const key = [uid, reason, message].join('\n');
    const before = this.#last.get(key);
    const now = Date.now();
    if (before !== undefined && now - before.at < REPEAT_MS) return;
    const known = before && this.#store.get(EVENTS, namespace, before.name);
    if (known !== undefined) {
      this.#store.put(EVENTS, { ...known, count: Number(known['count']) + 1, lastTimestamp: timestamp() });
      this.#last.set(key, { name: known.metadata.name, at: now });
      return;
    }
    const event = `${name}.${randomBytes(8).toString('hex')}`;
    this.#last.set(key, { name: event, at: now });
    this.#store.put(EVENTS, {
      ...{ apiVersion: 'v1', kind: 'Event' },
      metadata: {
        name: event,
        namespace,
        uid: crypto.randomUUID(),
        resourceVersion: '',
        creationTimestamp: timestamp(),
      },
      involvedObject: {
        kind: resource.kind,
        namespace,
        name,
        uid,
        apiVersion: apiVersionOf(resource),
        resourceVersion,
      },
      ...{ reason, message, type, count: 1 },
      source: { component: source },
      ...{ firstTimestamp: timestamp(), lastTimestamp: timestamp(), eventTime: null },
      ...{ reportingComponent: source, reportingInstance: '' },
    });
  }

  /** Removes events older than an hour. */
  forget(): void {
    const since = Date.now() - KEPT_MS;
    for (const event of this.#store.list(EVENTS))
      if (Date.parse(String(event['lastTimestamp'])) < since) this.#store.remove(EVENTS, event);
    for (const [key, { at }] of this.#last) if (at < since) this.#last.delete(key);
  }
}
