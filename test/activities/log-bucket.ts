import assert from 'node:assert/strict';
import type { StorePort } from '../../cloud/store/port.js';
import { logChunkObject, offsetOfChunk } from '../../domain/store-layout.js';

export const PREFIX = 'jobs/train/logs/command.';
export const HOST = 1;
export const START = Date.UTC(2026, 10, 22);

/** More than any test makes. An endless loop of them would let no timer of the test's come. */
const MOST_CALLS = 10_000;

/** What a log stream uses of a store, in memory: the rules of the cuts alone, thousands of times (log-stream.test.ts has the wire). */
export class Bucket {
  readonly objects = new Map<string, Buffer>();
  /** Each call, with its time since `START`. */
  readonly calls: { readonly what: 'list' | 'write'; readonly at: number }[] = [];
  /** Runs before a write takes effect, and after it. */
  beforeWrite: (name: string) => Promise<void> | void = () => undefined;
  afterWrite: () => Promise<void> | void = () => undefined;
  /** Runs before a listing is made; may throw. */
  beforeList: () => void = () => undefined;

  readonly port = {
    bucket: 'logs',
    list: async (prefix: string, startOffset = '', most = Infinity) => {
      this.#called('list');
      await Promise.resolve();
      this.beforeList();
      const found = [...this.objects].filter(([name]) => name.startsWith(prefix) && name >= startOffset);
      const ordered = found.toSorted(([a], [b]) => (a < b ? -1 : 1)).slice(0, most);
      return ordered.map(([name, { length: size }]) => ({ name, size }));
    },
    write: async (name: string, content: Uint8Array, expected: string, contentType: string) => {
      this.#called('write');
      assert.deepEqual([expected, contentType], ['absent', 'text/plain']);
      assert.ok(content.length > 0, 'an empty object');
      await this.beforeWrite(name);
      if (this.objects.has(name)) return { kind: 'conflict' };
      this.objects.set(name, Buffer.from(content));
      await this.afterWrite();
      return { kind: 'written', generation: '1' };
    },
  } as unknown as StorePort;

  #called(what: 'list' | 'write'): void {
    this.calls.push({ what, at: Date.now() - START });
    assert.ok(this.calls.length < MOST_CALLS, 'the store is called without end');
  }
  put(offset: number, text: string, host = HOST): void {
    this.objects.set(logChunkObject(PREFIX, String(host), offset), Buffer.from(text));
  }
  times(what: 'list' | 'write'): readonly number[] {
    return this.calls.filter((call) => call.what === what).map(({ at }) => at);
  }
  /** `[offset, text]` of this host's objects. @throws AssertionError if they leave a hole or store a byte twice */
  chunks(): readonly (readonly [number, string])[] {
    const chunks = [...this.objects]
      .filter(([name]) => name.startsWith(`${PREFIX}host-${HOST}.`))
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, bytes]) => [offsetOfChunk(name) ?? -1, bytes.toString()] as const);
    let end = 0;
    for (const [offset, { length }] of chunks) {
      assert.equal(offset, end, `a hole or a double at ${end}`);
      end += length;
    }
    return chunks;
  }
  get text(): string {
    return this.chunks()
      .map(([, text]) => text)
      .join('');
  }
}
