import assert from 'node:assert/strict';
import type { StorePort, StoreReader } from '../../cloud/store/port.js';

export interface StoreUnderTest {
  readonly store: StorePort;
  /** Of the same bucket. */
  readonly reader: StoreReader;
  /** Names begin with it; nothing is there before. */
  readonly prefix: string;
  close(): Promise<void>;
}

/** What every `StorePort` and `StoreReader` must do. */
export function exerciseStore(name: string, open: () => Promise<StoreUnderTest>): void {
  describe(`StorePort on ${name}`, () => {
    let under: StoreUnderTest;
    before(async () => {
      under = await open();
    });
    after(() => under.close());
    writeCases(() => under);
    for (const half of ['store', 'reader'] as const) {
      describe(half === 'store' ? 'reading' : 'the light reader', () => readCases(() => under, half));
    }
  });
}

const text = (content: Buffer | undefined): string | undefined => content?.toString();

function writeCases(under: () => StoreUnderTest): void {
  const at = (name: string): string => `${under().prefix}${name}`;

  it('a new object is written once: the second writer finds a conflict and changes nothing', async () => {
    const { store } = under();
    const first = await store.write(at('once'), 'one', 'absent');
    assert.equal(first.kind, 'written');
    assert.deepEqual(await store.write(at('once'), 'two', 'absent'), { kind: 'conflict' });
    assert.equal(text(await store.read(at('once'))), 'one');
  });

  it('a change is written over the generation that was read, and over no other', async () => {
    const { store } = under();
    const first = await store.write(at('changed'), 'one', 'absent');
    assert.ok(first.kind === 'written');
    const second = await store.write(at('changed'), 'two', first);
    assert.ok(second.kind === 'written');
    assert.notEqual(second.generation, first.generation);
    assert.deepEqual(await store.write(at('changed'), 'three', first), { kind: 'conflict' });
    assert.equal(text(await store.read(at('changed'))), 'two');
    assert.equal((await store.stat(at('changed')))?.generation, second.generation);
  });

  it('of many who write at once one succeeds', async () => {
    const writes = Array.from({ length: 20 }, (_, i) => under().store.write(at('race'), `${i}`, 'absent'));
    const kinds = (await Promise.all(writes)).map(({ kind }) => kind);
    assert.equal(kinds.filter((kind) => kind === 'written').length, 1);
  });

  it('hundreds of small writes go side by side', async () => {
    const names = Array.from({ length: 300 }, (_, i) => at(`many/${String(i).padStart(3, '0')}`));
    await Promise.all(names.map((name) => under().store.write(name, name, 'absent')));
    const listed = await under().store.list(at('many/'));
    assert.deepEqual(
      listed.map(({ name }) => name),
      names,
    );
  });

  it('replace writes whatever is there, also nothing', async () => {
    const { store } = under();
    await store.replace(at('replaced'), 'one', 'text/plain');
    await store.replace(at('replaced'), 'two');
    assert.equal(text(await store.read(at('replaced'))), 'two');
  });

  it('remove removes, and does not mind an object that is not there', async () => {
    const { store } = under();
    await store.write(at('removed'), 'x', 'absent');
    await store.remove(at('removed'));
    await store.remove(at('removed'));
    assert.equal(await store.read(at('removed')), undefined);
    assert.equal((await store.write(at('removed'), 'y', 'absent')).kind, 'written');
  });

  it('every byte comes back, in names with any character', async () => {
    const bytes = Uint8Array.from({ length: 70_000 }, (_, i) => (i * 7) % 256);
    const name = at('odd name/%2F+?#&ü.bin');
    await under().store.write(name, bytes, 'absent', 'application/octet-stream');
    for (const half of [under().store, under().reader]) {
      assert.ok(Buffer.from(bytes).equals((await half.read(name)) ?? Buffer.alloc(0)));
      assert.equal((await half.stat(name))?.size, 70_000);
      assert.deepEqual(
        (await half.list(at('odd name/'))).map((object) => object.name),
        [name],
      );
    }
  });
}

function readCases(under: () => StoreUnderTest, half: 'store' | 'reader'): void {
  const at = (name: string): string => `${under().prefix}${half}/${name}`;
  before(async () => {
    await under().store.write(at('ten'), '0123456789', 'absent');
    await under().store.write(at('empty'), '', 'absent');
    for (const name of ['c', 'a', 'b']) await under().store.write(at(`list/${name}`), name, 'absent');
  });

  const ranges: Record<string, { range: { start: number; end?: number }; want: string }> = {
    'a range without its end byte': { range: { start: 2, end: 5 }, want: '234' },
    'a range to the end': { range: { start: 7 }, want: '789' },
    'a range of the first byte': { range: { start: 0, end: 1 }, want: '0' },
    'a range over the end': { range: { start: 8, end: 100 }, want: '89' },
    'a range behind the end': { range: { start: 10 }, want: '' },
    'a range of nothing': { range: { start: 4, end: 4 }, want: '' },
  };
  for (const [name, { range, want }] of Object.entries(ranges)) {
    it(`reads ${name}`, async () => assert.equal(text(await under()[half].read(at('ten'), range)), want));
  }

  it('reads an empty object, whole and from its start', async () => {
    assert.equal(text(await under()[half].read(at('empty'))), '');
    assert.equal(text(await under()[half].read(at('empty'), { start: 0 })), '');
  });

  it('says undefined of an object that is not there', async () => {
    assert.equal(await under()[half].read(at('absent')), undefined);
    assert.equal(await under()[half].read(at('absent'), { start: 3 }), undefined);
    assert.equal(await under()[half].stat(at('absent')), undefined);
    assert.deepEqual(await under()[half].list(at('absent')), []);
  });

  it('lists in order of names, from a name on', async () => {
    const names = async (startOffset?: string, most?: number): Promise<string[]> =>
      (await under()[half].list(at('list/'), startOffset, most)).map(({ name }) => name);
    assert.deepEqual(await names(), [at('list/a'), at('list/b'), at('list/c')]);
    assert.deepEqual(await names(at('list/b')), [at('list/b'), at('list/c')]);
    assert.deepEqual(await names(at('list/b'), 1), [at('list/b')]);
    assert.deepEqual(await names(undefined, 2), [at('list/a'), at('list/b')]);
  });

  it('says size, generation and time of an object, the same in a listing', async () => {
    const seen = await under()[half].stat(at('ten'));
    assert.ok(seen);
    assert.equal(seen.size, 10);
    assert.match(seen.generation, /^\d+$/);
    assert.ok(Math.abs(seen.updatedAt - Date.now()) < 600_000, `updated at ${seen.updatedAt}`);
    assert.deepEqual(await under()[half].list(at('ten')), [seen]);
  });
}
