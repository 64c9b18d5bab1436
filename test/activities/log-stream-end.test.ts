import assert from 'node:assert/strict';
import fc from 'fast-check';
import { LogStream } from '../../activities/attempt/log-stream.js';
import type { StoredObject, StorePort } from '../../cloud/store/port.js';
import { logChunkObject, lostTailObject } from '../../domain/store-layout.js';

const PREFIX = 'jobs/train/logs/a1/command/';

/** The objects of a host, and how many of them a listing gave out. */
class Stored {
  readonly #objects: readonly StoredObject[];
  requests = 0;
  given = 0;

  /** @param chunks `[offset, size]`; stored at their position. @param others names */
  constructor(chunks: Iterable<readonly [number, number]>, others: readonly string[] = []) {
    const made = [...chunks].map(([offset, size], at) => object(logChunkObject(PREFIX, '0', offset), size, at));
    this.#objects = [...made, ...others.map((name) => object(name, 1, 0))].toSorted((a, b) =>
      a.name < b.name ? -1 : 1,
    );
  }

  readonly port = {
    list: async (prefix: string, startOffset = '', most = Infinity) => {
      this.requests += 1;
      assert.ok(this.requests < 1_000, 'its end is looked for without end');
      const from = this.#firstFrom(startOffset);
      const found = this.#objects.slice(from, from + most).filter(({ name }) => name.startsWith(prefix));
      this.given += found.length;
      return found;
    },
  } as unknown as StorePort;

  /** By halves: a log of a month is looked into some sixty times. */
  #firstFrom(startOffset: string): number {
    let [low, high] = [0, this.#objects.length];
    while (low < high) {
      const middle = Math.floor((low + high) / 2);
      if ((this.#objects[middle]?.name ?? '') < startOffset) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  open(): Promise<LogStream> {
    const shipping = { store: this.port, meter: { logLag: () => undefined } };
    return LogStream.open(shipping, PREFIX, 0, new AbortController().signal);
  }
}

const object = (name: string, size: number, updatedAt: number): StoredObject => ({
  ...{ name, size, updatedAt },
  generation: '1',
});
function* evenly(count: number, size: number): Iterable<readonly [number, number]> {
  for (let at = 0; at < count; at++) yield [at * size, size];
}

describe('where the stored output of a host ends', function () {
  this.timeout(30_000);

  it('is found in a log of a month without a listing of it', async () => {
    const stored = new Stored(evenly(260_000, 1000));
    const { position, storedSince } = await stored.open();
    assert.deepEqual([position, storedSince], [260_000_000, 259_998]);
    assert.ok(stored.requests < 60, `${stored.requests} requests`);
    assert.ok(stored.given < 5000, `${stored.given} objects`);
  });

  it('is found behind lost tails, whatever else the host put there', async () => {
    const tails = Array.from({ length: 3000 }, (_, at) => lostTailObject(PREFIX, '0', at * 1000));
    const more = Array.from({ length: 5000 }, (_, at) => `${PREFIX}host-0.made-${at}`);
    assert.equal((await new Stored(evenly(3000, 1000), [...tails, ...more]).open()).position, 3_000_000);
  });

  it('is found by a bounded number of requests where the host made its names up', async () => {
    const dense = [...evenly(1000, 10 ** 10), ...[...evenly(100_000, 1)].map(([at]) => [10 ** 14 + at, 1] as const)];
    const stored = new Stored(dense);
    assert.equal((await stored.open()).position, 10 ** 14 + 100_000);
    assert.ok(stored.requests < 120, `${stored.requests} requests`);
  });

  it('is told with the chunk before the last, however far it lies behind the others', async () => {
    const { position, storedSince } = await new Stored([...evenly(1200, 1), [10 ** 9, 1], [2 * 10 ** 9, 1]]).open();
    assert.deepEqual([position, storedSince], [2 * 10 ** 9 + 1, 1200]);
  });

  it('is the end of the last chunk, and the one before tells since when it was read', () =>
    fc.assert(
      fc.asyncProperty(
        fc.array(fc.integer({ min: 1, max: 1_000_000 }), { maxLength: 20 }),
        fc.integer({ min: 1, max: 400 }),
        async (sizes, repeated) => {
          let end = 0;
          const chunks = sizes.flatMap((size) =>
            Array.from({ length: repeated }, () => [(end += size) - size, size] as const),
          );
          const { position, storedSince } = await new Stored(chunks).open();
          assert.deepEqual([position, storedSince], [end, chunks.length < 2 ? undefined : chunks.length - 2]);
        },
      ),
      { numRuns: 60 },
    ));
});
