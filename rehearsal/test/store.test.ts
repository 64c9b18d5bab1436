import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import type { Bucket } from '@google-cloud/storage';
import { Storage } from '@google-cloud/storage';
import { crc32c } from '../store/crc32c.js';
import { CloudUnderTest } from './cloud-under-test.js';

const cloud = new CloudUnderTest();
const ABSENT = { preconditionOpts: { ifGenerationMatch: 0 } };

describe('the rehearsal’s Cloud Storage', () => {
  let bucket: Bucket;

  before(async () => {
    await cloud.start();
    [bucket] = await storage().createBucket('conformance');
  });
  after(() => cloud.stop());

  function storage(): Storage {
    return new Storage({ apiEndpoint: cloud.endpoints.store, projectId: 'p' });
  }

  async function put(name: string, content: string | Buffer, resumable = false): Promise<string> {
    await bucket.file(name).save(content, { ...ABSENT, resumable });
    return String((await bucket.file(name).getMetadata())[0].generation);
  }

  it('has no bucket until a client makes it, and makes each once', async () => {
    assert.deepEqual(await storage().bucket('nobody').exists(), [false]);
    await assert.rejects(
      storage()
        .bucket('nobody')
        .file('a')
        .save('x', { ...ABSENT, resumable: false }),
      hasCode(404),
    );
    await assert.rejects(storage().createBucket('conformance'), hasCode(409));
    assert.deepEqual(await bucket.exists(), [true]);
  });

  it('gives back every byte of simple and resumable uploads, with hashes that the client verifies', async () => {
    const content = randomBytes(3_000_001);
    await put('simple', content);
    await put('resumable', content, true);
    for (const name of ['simple', 'resumable']) {
      const [bytes] = await bucket.file(name).download({ validation: 'crc32c' });
      assert.ok(bytes.equals(content), name);
    }
    const [metadata] = await bucket.file('simple').getMetadata();
    assert.equal(metadata.crc32c, crc32c(content));
    assert.equal(metadata.size, '3000001');
  });

  it('takes a resumable upload in chunks', async () => {
    const content = randomBytes(1_000_000);
    await bucket.file('chunks').save(content, { ...ABSENT, resumable: true, chunkSize: 256 * 1024 });
    assert.ok((await bucket.file('chunks').download())[0].equals(content));
  });

  it('computes the CRC-32C of the standard’s check value', () => {
    assert.equal(crc32c(Buffer.from('123456789')), Buffer.from('e3069283', 'hex').toString('base64'));
  });

  it('refuses an upload whose hash is another', async () => {
    const metadata = { crc32c: 'AAAAAA==' };
    await assert.rejects(
      bucket.file('wrong').save('x', { ...ABSENT, resumable: false, metadata, validation: false }),
      hasCode(400),
    );
    assert.deepEqual(await bucket.file('wrong').exists(), [false]);
  });

  it('writes over the expected generation alone', async () => {
    const generation = await put('guarded', 'one');
    await assert.rejects(bucket.file('guarded').save('two', { ...ABSENT, resumable: false }), hasCode(412));
    await assert.rejects(
      bucket.file('guarded').save('two', { ...ABSENT, resumable: true }),
      (error: { readonly status?: number }) => error.status === 412,
    );
    const expected = { preconditionOpts: { ifGenerationMatch: generation }, resumable: false };
    await bucket.file('guarded').save('two', expected);
    await assert.rejects(bucket.file('guarded').save('three', expected), hasCode(412));
    await assert.rejects(bucket.file('guarded', { generation }).download(), hasCode(404));
    assert.equal(String((await bucket.file('guarded').download())[0]), 'two');
    await assert.rejects(bucket.file('guarded').delete({ ifGenerationMatch: generation }), hasCode(412));
  });

  it('lets one of many writers win', async () => {
    const writes = Array.from({ length: 20 }, (_, index) =>
      bucket.file('raced').save(`by ${index}`, { ...ABSENT, resumable: false }),
    );
    const results = await Promise.allSettled(writes);
    assert.equal(results.filter((result) => result.status === 'fulfilled').length, 1);
  });

  it('changes metadata without a new generation, under its own precondition', async () => {
    const generation = await put('labelled', 'x');
    const [first] = await bucket.file('labelled').setMetadata({ metadata: { a: '1', b: '2' } });
    const [second] = await bucket
      .file('labelled')
      .setMetadata({ metadata: { b: null } }, { ifMetagenerationMatch: first.metageneration ?? 0 });
    assert.deepEqual([second.metadata, second.metageneration, second.generation], [{ a: '1' }, '3', generation]);
    await assert.rejects(
      bucket.file('labelled').setMetadata({ metadata: {} }, { ifMetagenerationMatch: 1 }),
      hasCode(412),
    );
  });

  const ranges: Record<
    string,
    { readonly header: string; readonly status: number; readonly body?: string; readonly contentRange?: string }
  > = {
    'a part': { header: 'bytes=2-4', status: 206, body: '234', contentRange: 'bytes 2-4/10' },
    'from a byte on': { header: 'bytes=7-', status: 206, body: '789', contentRange: 'bytes 7-9/10' },
    'the last bytes': { header: 'bytes=-2', status: 206, body: '89', contentRange: 'bytes 8-9/10' },
    'more than there is': { header: 'bytes=8-99', status: 206, body: '89', contentRange: 'bytes 8-9/10' },
    'behind the end': { header: 'bytes=10-', status: 416 },
    'a form that servers pass over': { header: 'lines=1-2', status: 200, body: '0123456789' },
  };
  for (const [name, { header, status, body, contentRange }] of Object.entries(ranges)) {
    it(`reads ${name}: ${header}`, async () => {
      if (!(await bucket.file('digits').exists())[0]) await put('digits', '0123456789');
      const url = `${cloud.endpoints.store}/storage/v1/b/conformance/o/digits?alt=media`;
      const response = await fetch(url, { headers: { range: header } });
      assert.equal(response.status, status);
      if (body !== undefined) assert.equal(await response.text(), body);
      assert.equal(response.headers.get('content-range') ?? undefined, contentRange);
    });
  }

  it('lists in byte order, by prefix, delimiter, start and pages', async () => {
    for (const name of ['l/a/1', 'l/a/2', 'l/b', 'l/é', 'l/Z', 'm']) await put(name, name);
    const names = async (query: object): Promise<readonly string[]> =>
      (await bucket.getFiles(query))[0].map((file) => file.name);
    assert.deepEqual(await names({ prefix: 'l/' }), ['l/Z', 'l/a/1', 'l/a/2', 'l/b', 'l/é']);
    assert.deepEqual(await names({ prefix: 'l/', maxResults: 2 }), ['l/Z', 'l/a/1', 'l/a/2', 'l/b', 'l/é'].slice(0, 2));
    assert.deepEqual(await names({ prefix: 'l/', startOffset: 'l/a/2', endOffset: 'l/é' }), ['l/a/2', 'l/b']);
    const query = { prefix: 'l/', delimiter: '/', autoPaginate: false };
    const [files, , response] = await bucket.getFiles(query);
    assert.deepEqual(
      [files.map((file) => file.name), (response as { readonly prefixes?: string[] }).prefixes],
      [['l/Z', 'l/b', 'l/é'], ['l/a/']],
    );
    const paged: string[] = [];
    for (let pageToken: string | undefined, first = true; first || pageToken !== undefined; first = false) {
      const page = {
        prefix: 'l/',
        maxResults: 2,
        autoPaginate: false,
        ...(pageToken === undefined ? {} : { pageToken }),
      };
      const [part, next] = await bucket.getFiles(page);
      paged.push(...part.map((file) => file.name));
      pageToken = (next as { readonly pageToken?: string } | null)?.pageToken;
    }
    assert.deepEqual(paged, ['l/Z', 'l/a/1', 'l/a/2', 'l/b', 'l/é']);
  });

  it('composes and copies', async () => {
    await put('part 1', 'one ');
    await put('part 2', 'two');
    await bucket.combine(['part 1', 'part 2'], 'whole', { ifGenerationMatch: 0 });
    assert.equal(String((await bucket.file('whole').download())[0]), 'one two');
    await bucket.file('whole').copy('copies/of it', { ...ABSENT });
    assert.equal(String((await bucket.file('copies/of it').download())[0]), 'one two');
    await assert.rejects(bucket.combine(['part 1', 'not there'], 'broken', { ifGenerationMatch: 0 }), hasCode(404));
  });

  it('answers under the short paths too that clients use with STORAGE_EMULATOR_HOST', async () => {
    await put('short', 'path');
    const response = await fetch(`${cloud.endpoints.store}/b/conformance/o/short?alt=media`);
    assert.equal(await response.text(), 'path');
    assert.match(String(response.headers.get('x-goog-hash')), /^crc32c=.+,md5=.+$/);
  });

  it('loses an answer when told to, after the effect', async () => {
    await cloud.admin('refuse', {
      method: 'objects.insert',
      code: 'UNAVAILABLE',
      times: 1,
      afterEffect: true,
      nameMatches: 'lost',
    });
    const once = new Storage({
      apiEndpoint: cloud.endpoints.store,
      projectId: 'p',
      retryOptions: { autoRetry: false },
    });
    await assert.rejects(
      once
        .bucket('conformance')
        .file('lost')
        .save('there', { ...ABSENT, resumable: false }),
      hasCode(503),
    );
    assert.equal(String((await bucket.file('lost').download())[0]), 'there');
  });

  it('keeps its objects over a restart', async () => {
    const generation = await put('kept', 'over a restart');
    await cloud.halt();
    await cloud.start();
    bucket = storage().bucket('conformance');
    assert.equal(String((await bucket.file('kept').download())[0]), 'over a restart');
    assert.equal((await bucket.file('kept').getMetadata())[0].generation, generation);
    await bucket.file('kept').delete({ ifGenerationMatch: generation });
    assert.deepEqual(await bucket.file('kept').exists(), [false]);
  });
});

function hasCode(code: number): (error: { readonly code?: number }) => boolean {
  return (error) => error.code === code;
}
