import type { QueuedResourceRecord } from './model.js';

/**
 * Names of queued resources, keyed by the nodes that they made or will make. Several requests may use one node name, one after
 * another.
 */
export class Claims {
  readonly #names = new Map<string, Set<string>>();

  add({ nodes, resource }: QueuedResourceRecord): void {
    for (const node of nodes) this.#names.set(node, (this.#names.get(node) ?? new Set()).add(resource.name));
  }

  remove({ nodes, resource }: QueuedResourceRecord): void {
    for (const node of nodes) {
      const names = this.#names.get(node);
      names?.delete(resource.name);
      if (names?.size === 0) this.#names.delete(node);
    }
  }

  of(nodeName: string): readonly string[] {
    return [...(this.#names.get(nodeName) ?? [])];
  }
}
