import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import type { FileSource } from '../../domain/local-files.js';
import type { StorePort, StoreReader } from '../../cloud/store/port.js';

export interface StoreUnderTest {
  readonly store: StorePort;
  /** Of the same bucket. */
  readonly reader: StoreReader;
  /** Names begin with it; nothing is there before. */
  readonly prefix: string;
  /** Of two who send the parts of one object at once both may be told that they made it. */
  readonly mayUploadTwice?: boolean;
  /** How many may compare and change one object at the same time; 6 without it. */
  readonly writersAtOnce?: number;
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
    uploadCases(() => under);
    findCases(() => under);
    for (const half of ['store', 'reader'] as const) {
      describe(half === 'store' ? 'reading' : 'the light reader', () => readCases(() => under, half));
    }
  });
}

const text = (content: Buffer | undefined): string | undefined => content?.toString();

const PIECE_BYTES = 1_000_003;
const PIECE = createHash('shake256', { outputLength: PIECE_BYTES }).update('any').digest();

/** Bytes of no pattern, the same in each run, and of each piece others. */
function* bytesOf(size: number): Generator<Buffer> {
  for (let at = 0; at < size; at += PIECE_BYTES) {
    const piece = Buffer.from(PIECE.subarray(0, size - at));
    if (piece.length >= 4) piece.writeUInt32BE(at);
    yield piece;
  }
}

function sourceOf(size: number, sha256?: string): FileSource {
  const hash = createHash('sha256');
  for (const piece of bytesOf(size)) hash.update(piece);
  return {
    ...{ size, sha256: sha256 ?? hash.digest('hex') },
    read: async function* () {
      yield* bytesOf(size);
    },
  };
}

function uploadCases(under: () => StoreUnderTest): void {
  const at = (name: string): string => `${under().prefix}uploads/${name}`;

  for (const size of [0, 70_000, 9_000_000])
    it(`makes an object of ${size} bytes from a source, once`, async () => {
      const { store } = under();
      const name = at(`of-${size}`);
      const source = sourceOf(size);
      assert.equal(await store.upload(name, source), 'uploaded');
      const content = await store.read(name);
      assert.equal(
        createHash('sha256')
          .update(content ?? '')
          .digest('hex'),
        source.sha256,
      );
      assert.equal((await store.stat(name))?.size, size);
      assert.equal(await store.upload(name, source), 'exists');
    });

  it('of many who upload one object at once one makes it, and all find it', async () => {
    const source = sourceOf(9_000_000);
    const ends = await Promise.all(Array.from({ length: 4 }, () => under().store.upload(at('raced'), source)));
    const made = ends.filter((end) => end === 'uploaded').length;
    assert.ok(under().mayUploadTwice === true ? made >= 1 : made === 1, `${made} made it`);
    assert.equal((await under().store.stat(at('raced')))?.size, source.size);
  });

  for (const size of [70_000, 9_000_000])
    it(`makes none of ${size} bytes that are not what the source said`, async () => {
      const name = at(`changed-${size}`);
      await assert.rejects(under().store.upload(name, sourceOf(size, '0'.repeat(64))), { name: 'SourceChanged' });
      assert.equal(await under().store.stat(name), undefined);
      assert.deepEqual(await under().store.list(name), []);
    });
}

function findCases(under: () => StoreUnderTest): void {
  const at = (name: string): string => `${under().prefix}find/${name}`;
  const globs: Record<string, readonly string[]> = {
    'find/*/run': ['a.b/run', 'a/run', 'b/run'],
    'find/a/*': ['a/run'],
    'find/a/**': ['a/deep/run', 'a/run'],
    'find/*/{run,owner.json}': ['a.b/run', 'a/run', 'b/owner.json', 'b/run'],
    'find/c/*': [],
  };
  before(async () => {
    for (const name of ['a/run', 'a/deep/run', 'b/run', 'b/owner.json', 'b/run.old', 'a.b/run'])
      await under().store.write(at(name), 'x', 'absent');
  });

  for (const [glob, want] of Object.entries(globs))
    it(`finds what ${glob} matches`, async () => {
      const found = await under().store.find(`${under().prefix}${glob}`, 10);
      assert.deepEqual(found, { names: want.map(at), isWhole: true });
    });

  it('finds the first of many, and says that there are more', async () => {
    const found = await under().store.find(`${under().prefix}find/*/run`, 2);
    assert.deepEqual(found, { names: [at('a.b/run'), at('a/run')], isWhole: false });
  });
}

function writeCases(under: () => StoreUnderTest): void {
  const at = (name: string): string => `${under().prefix}${name}`;

  it('says of itself that it can tell two writers apart, and leaves nothing behind', async () => {
    const { store } = under();
    await store.probe();
    assert.deepEqual(await store.list('system/probe'), []);
  });

  it('of many who change one object at once one succeeds, and no change is lost', async () => {
    const { store, writersAtOnce = 6 } = under();
    await store.write(at('counted'), '0', 'absent');
    const count = async (): Promise<void> => {
      for (;;) {
        const found = await store.stat(at('counted'));
        const before = await store.read(at('counted'));
        assert.ok(found && before, 'it is always there, whole');
        // Of a read that is newer than the look the write finds a conflict.
        const next = String(Number(before.toString()) + 1);
        if ((await store.write(at('counted'), next, found)).kind === 'written') return;
      }
    };
    for (let begun = 0; begun < 6; begun += writersAtOnce)
      await Promise.all(Array.from({ length: writersAtOnce }, count));
    assert.equal(text(await store.read(at('counted'))), '6');
  });

  it('what is to be changed and is not there is a conflict', async () => {
    const { store } = under();
    const written = await store.write(at('gone'), 'one', 'absent');
    assert.ok(written.kind === 'written');
    await store.remove(at('gone'));
    assert.deepEqual(await store.write(at('gone'), 'two', written), { kind: 'conflict' });
    assert.equal(await store.read(at('gone')), undefined);
  });

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

  it('a hundred small writes go side by side', async () => {
    const names = Array.from({ length: 100 }, (_, i) => at(`many/${String(i).padStart(3, '0')}`));
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

  it('lists in order of bytes, also what stands beside a folder, from any name on', async () => {
    const { prefix, store } = under();
    const folder = `${prefix}${half}/order/`;
    const names = ['a-b', 'a.b', 'a/b', 'a/b.c', 'a/d/e', 'a0', 'ab', 'b', '\uFFFD', '\u{1F600}'].map(
      (name) => folder + name,
    );
    for (const name of names.toReversed()) await store.write(name, '', 'absent');
    const from = async (start?: string, most?: number): Promise<readonly string[]> =>
      (await under()[half].list(folder, start, most)).map(({ name }) => name);
    assert.deepEqual(await from(), names);
    for (const [index, name] of names.entries()) {
      assert.deepEqual(await from(name), names.slice(index), name);
      assert.deepEqual(await from(`${name}\u0000`, 3), names.slice(index + 1, index + 4), name);
    }
    assert.deepEqual(await from(`${folder}a0`, 1), [`${folder}a0`]);
    assert.deepEqual(
      (await under()[half].list(`${folder}a/`)).map(({ name }) => name),
      names.slice(2, 5),
    );
  });

  it('says size, generation and time of an object, the same in a listing', async () => {
    const seen = await under()[half].stat(at('ten'));
    assert.ok(seen);
    assert.equal(seen.size, 10);
    assert.match(seen.generation, /^[\w-]+$/);
    assert.ok(Math.abs(seen.updatedAt - Date.now()) < 600_000, `updated at ${seen.updatedAt}`);
    assert.deepEqual(await under()[half].list(at('ten')), [seen]);
  });
}
