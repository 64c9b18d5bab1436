import type { StoredObject, StoreReader } from '../../cloud/store/port.js';

export interface Traffic {
  readonly requests: number;
  /** Of the content that was read, and of the names that were listed. */
  readonly bytes: number;
}

/** Cloud Storage lists so many objects in one answer. */
const PAGE = 1_000;

/** A bucket in memory that counts what reading it costs, as Cloud Storage does: a listing is a request per page. */
export class MapStore implements StoreReader {
  readonly bucket = 'map';
  readonly #objects = new Map<string, { readonly content: Buffer; readonly updatedAt: number }>();
  #names: readonly string[] | undefined;
  #traffic: Traffic = { requests: 0, bytes: 0 };

  put(name: string, content: Buffer | string, updatedAt = Date.now()): void {
    this.#objects.set(name, { content: Buffer.from(content), updatedAt });
    this.#names = undefined;
  }

  async list(prefix: string, startOffset = '', most = Infinity): Promise<readonly StoredObject[]> {
    this.#names ??= [...this.#objects.keys()].toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
    const names = this.#names.filter((name) => name.startsWith(prefix) && name >= startOffset).slice(0, most);
    this.#count(Math.max(1, Math.ceil(names.length / PAGE)), names.join('').length);
    return names.map((name) => this.#objectOf(name));
  }

  async read(name: string, range?: { readonly start: number; readonly end?: number }): Promise<Buffer | undefined> {
    const bytes = this.#objects.get(name)?.content.subarray(range?.start ?? 0, range?.end);
    this.#count(1, bytes?.length ?? 0);
    return bytes;
  }

  async stat(name: string): Promise<StoredObject | undefined> {
    this.#count(1, 0);
    return this.#objects.has(name) ? this.#objectOf(name) : undefined;
  }

  /** What was asked for while `call` ran. */
  async during<T>(call: () => Promise<T>): Promise<readonly [T, Traffic]> {
    const before = this.#traffic;
    const result = await call();
    return [result, { requests: this.#traffic.requests - before.requests, bytes: this.#traffic.bytes - before.bytes }];
  }

  #count(requests: number, bytes: number): void {
    this.#traffic = { requests: this.#traffic.requests + requests, bytes: this.#traffic.bytes + bytes };
  }

  #objectOf(name: string): StoredObject {
    const { content, updatedAt = 0 } = this.#objects.get(name) ?? { content: Buffer.alloc(0) };
    return { name, size: content.length, generation: '1', updatedAt };
  }
}
