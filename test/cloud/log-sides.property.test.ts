import assert from 'node:assert/strict';
import fc from 'fast-check';
import { logSides } from '../../cloud/store/log-starts.js';
import type { StoreReader } from '../../cloud/store/port.js';
import { logChunkObject, logPrefix } from '../../domain/store-layout.js';

const PREFIX = logPrefix('train', 1, 'command');

/** One host's output, cut into objects at these places, beside that of its neighbour. */
function storeOf(text: string, cuts: readonly number[]): Pick<StoreReader, 'list' | 'read'> {
  const places = [0, ...new Set(cuts.map((cut) => cut % (text.length + 1)))].toSorted((a, b) => a - b);
  const objects = new Map<string, Buffer>([[logChunkObject(PREFIX, '1', 0), Buffer.from('another host')]]);
  for (const [at, offset] of places.entries()) {
    const bytes = Buffer.from(text.slice(offset, places[at + 1]));
    if (bytes.length > 0) objects.set(logChunkObject(PREFIX, '0', offset), bytes);
  }
  const names = [...objects.keys()].toSorted();
  return {
    list: async (prefix, from = '', most = Infinity) =>
      names
        .filter((name) => name.startsWith(prefix) && name >= from)
        .slice(0, most)
        .map((name) => ({ name, size: objects.get(name)?.length ?? 0, updatedAt: 0 })) as never,
    read: async (name, range) => objects.get(name)?.subarray(range?.start, range?.end),
  };
}

describe('the two sides of a log', () => {
  it('are its beginning and its end, however it was cut, and the whole where both meet', async () => {
    const text = fc.string({ minLength: 0, maxLength: 200, unit: fc.constantFrom('a', 'b', '\n', '1', '2') });
    await fc.assert(
      fc.asyncProperty(
        text,
        fc.array(fc.nat(200), { maxLength: 12 }),
        fc.integer({ min: 1, max: 80 }),
        async (all, cuts, most) => {
          const sides = (await logSides(storeOf(all, cuts), PREFIX, 0, most)).toString();
          assert.equal(sides, all.length <= 2 * most ? all : `${all.slice(0, most)}\n${all.slice(-most)}`);
        },
      ),
      { numRuns: 300 },
    );
  });

  it('are empty of a host that stored nothing', async () => {
    assert.equal((await logSides(storeOf('x', []), PREFIX, 7, 100)).length, 0);
  });
});
