import type { JournalEvent } from '../journal.js';
import type { JsonObject } from '../json.js';
import type { CloudState } from './state.js';

type Kind = 'node' | 'queued-resource';

/** A resource from `at` on (cloud's epoch ms); without `resource`: it did not exist. */
interface Image {
  readonly at: number;
  readonly resource: JsonObject | undefined;
}

/**
 * Past contents of lists, from the after-images in the journal. The history is kept in memory, and only during a lag. It begins
 * with the resources that exist when the lag is switched on, or when the rehearsal starts again.
 */
export class ListHistory {
  readonly #state: CloudState;
  readonly #images: Readonly<Record<Kind, Map<string, Image[]>>> = { node: new Map(), 'queued-resource': new Map() };
  #isKept = false;

  constructor(state: CloudState) {
    this.#state = state;
  }

  /** Call it with each event of the journal, after the change. */
  observe({ kind, subject, at, details }: Pick<JournalEvent, 'kind' | 'subject' | 'at' | 'details'>): void {
    if (this.#state.listLag === undefined) return this.#forget();
    this.#begin();
    const of = kindOf(kind);
    if (of === undefined) return;
    const images = this.#images[of].get(subject) ?? [];
    images.push({ at, resource: details['resource'] as JsonObject | undefined });
    this.#images[of].set(subject, withoutOld(images, at - this.#state.listLag.lagMs));
  }

  /** The resources as a list shows them now; undefined: lists do not lag. @param now cloud's epoch ms */
  shown(kind: Kind, now: number): readonly JsonObject[] | undefined {
    const { listLag } = this.#state;
    if (listLag === undefined) return undefined;
    this.#begin();
    const moment = now - listLag.lagMs;
    return [...this.#images[kind].values()].flatMap((images) => {
      const image = images.findLast(({ at }) => at <= moment);
      return image?.resource === undefined ? [] : [image.resource];
    });
  }

  #begin(): void {
    if (this.#isKept) return;
    this.#isKept = true;
    const { nodes, queuedResources } = this.#state;
    for (const [name, { resource }] of Object.entries(nodes))
      this.#images.node.set(name, [{ at: -Infinity, resource }]);
    for (const [name, { resource }] of Object.entries(queuedResources)) {
      this.#images['queued-resource'].set(name, [{ at: -Infinity, resource }]);
    }
  }

  #forget(): void {
    if (!this.#isKept) return;
    this.#isKept = false;
    for (const images of Object.values(this.#images)) images.clear();
  }
}

function kindOf(eventKind: string): Kind | undefined {
  if (eventKind === 'node-state' || eventKind === 'node-change') return 'node';
  return eventKind === 'queued-resource-state' || eventKind === 'queued-resource-change'
    ? 'queued-resource'
    : undefined;
}

/** The last image before `moment` is still shown then; earlier ones never are again. */
function withoutOld(images: Image[], moment: number): Image[] {
  const last = images.findLastIndex(({ at }) => at <= moment);
  return last <= 0 ? images : images.slice(last);
}
