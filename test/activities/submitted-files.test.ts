import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { submittedFiles } from '../../activities/attempt/submitted-files.js';
import type { StoredSource } from '../../cloud/hosts/port.js';
import type { StorePort } from '../../cloud/store/port.js';
import type { FileSource } from '../../domain/local-files.js';

const MIB = 1024 * 1024;

/** A bucket whose one object has this content, whatever its name says. */
const storeOf = (content: Buffer) =>
  ({
    bucket: 'jobs',
    stat: async (name) => ({ name, size: content.length, generation: '1', updatedAt: 0 }),
    read: async (_name, { start, end } = { start: 0 }) => content.subarray(start, end),
    downloadUrl: (name) => `http://store/${name}`,
    signedUrl: async () => undefined,
  }) satisfies Partial<StorePort> as unknown as StorePort;

async function read(source: FileSource, start: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of source.read(start)) chunks.push(chunk);
  return Buffer.concat(chunks);
}

describe("a submitter's file that the bucket has", () => {
  const sourceOf = async (content: Buffer, submitted = content): Promise<FileSource> => {
    const sha256 = createHash('sha256').update(submitted).digest('hex');
    const files = await submittedFiles(storeOf(content), { 'train.py': sha256 });
    return files.get('train.py') as FileSource;
  };

  // None, inline with the scripts, kept in memory, in pieces of 8 MiB.
  for (const size of [0, 155, 300_000, 9 * MIB]) {
    const content = Buffer.alloc(size, 'train ');

    it(`(${size} bytes) is read as it was submitted, from any offset`, async () => {
      const source = await sourceOf(content);
      assert.ok((await read(source, 0)).equals(content));
      assert.ok((await read(source, Math.floor(size / 2))).equals(content.subarray(Math.floor(size / 2))));
    });

    it(`(${size} bytes) is refused for good if somebody has overwritten it, and named with both hashes`, async () => {
      const evil = Buffer.from(content);
      const other = size === 0 ? Buffer.from('evil') : evil;
      // The last byte: a check of a first part alone would pass it.
      if (size > 0) evil[size - 1] = 0;
      await assert.rejects(
        sourceOf(other, content).then((source) => read(source, 0)),
        {
          type: 'InvalidJob',
          nonRetryable: true,
          message: /^train\.py: gs:\/\/jobs\/\S+ is not what was submitted: its sha256 is \w{64}, not \w{64}\n/,
        },
      );
    });
  }

  it('is refused if an empty one lies in its place', async () => {
    const source = await sourceOf(Buffer.alloc(0), Buffer.from('train'));
    await assert.rejects(read(source, 0), { type: 'InvalidJob' });
  });

  it('that was overwritten is not kept as refused: the object may be put right', async () => {
    let content = Buffer.from('evil!');
    const sha256 = createHash('sha256').update('train').digest('hex');
    const store = { ...storeOf(content), read: async () => content } as StorePort;
    const source = (await submittedFiles(store, { 'train.py': sha256 })).get('train.py') as FileSource;
    await assert.rejects(read(source, 0));
    content = Buffer.from('train');
    assert.equal((await read(source, 0)).toString(), 'train');
  });

  it('is refused before anything is read where the bucket has it not', async () => {
    const store = { ...storeOf(Buffer.from('x')), stat: async () => undefined } as unknown as StorePort;
    await assert.rejects(submittedFiles(store, { 'train.py': 'ab'.repeat(32) }), {
      type: 'InvalidJob',
      message: /^train\.py: its content \(\S+\) is not in bucket jobs; submit the job again$/,
    });
  });

  it('of 4 MiB at most is read once for all hosts, a larger one by each of them', async () => {
    for (const [size, readsOfTwo] of [
      [4 * MIB, 1],
      [4 * MIB + 1, 2],
    ] as const) {
      const content = Buffer.alloc(size, 'train ');
      let reads = 0;
      const store = storeOf(content);
      const counted = {
        ...store,
        read: async (...args: Parameters<StorePort['read']>) => (reads++, store.read(...args)),
      };
      const sha256 = createHash('sha256').update(content).digest('hex');
      const source = (await submittedFiles(counted, { f: sha256 })).get('f') as FileSource;
      for (let host = 0; host < 2; host++) assert.equal((await read(source, 0)).length, size);
      assert.equal(reads, readsOfTwo, `${size} bytes`);
    }
  });

  it('that the store gives in part, or no more, is no file', async () => {
    const content = Buffer.from('train');
    const sha256 = createHash('sha256').update(content).digest('hex');
    for (const given of [content.subarray(1), undefined]) {
      const store = { ...storeOf(content), read: async () => given } as StorePort;
      const source = (await submittedFiles(store, { 'train.py': sha256 })).get('train.py') as FileSource;
      await assert.rejects(read(source, 0), /in bucket jobs: bytes 0 to 5 could not be read$/);
    }
  });

  it('says where a host finds it itself: its place, its URL, and one that is signed for ten minutes', async () => {
    const content = Buffer.from('train');
    const sha256 = createHash('sha256').update(content).digest('hex');
    const signedUrl = async (name: string, ms: number) => `http://store/${name}?for=${ms}`;
    const store = { ...storeOf(content), signedUrl } as unknown as StorePort;
    const { size, stored } = (await submittedFiles(store, { 'train.py': sha256 })).get('train.py') as StoredSource;
    const name = stored.place.replace('gs://jobs/', '');
    assert.deepEqual([size, stored.called, stored.url], [5, 'train.py', `http://store/${name}`]);
    assert.equal(await stored.signedUrl(), `http://store/${name}?for=600000`);
  });
});
