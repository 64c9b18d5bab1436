import assert from 'node:assert/strict';
import { appendFileSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { StoreUnderTest } from './store-under-test.js';

/** Mulberry32: the same requests each time. */
function randomFrom(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
}

const VERBS = ['GET', 'GET', 'POST', 'POST', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD'];
const PATHS = [
  '/storage/v1/b',
  '/storage/v1/b/fuzz',
  '/storage/v1/b/fuzz/o',
  '/storage/v1/b/fuzz/o/x',
  '/storage/v1/b/fuzz/o/%',
  '/storage/v1/b/fuzz/o/x/compose',
  '/storage/v1/b/fuzz/o/x/rewriteTo/b/fuzz/o/y',
  '/storage/v1/b/fuzz/o/x/moveTo/o/y',
  '/storage/v1/b/fuzz/iam',
  '/upload/storage/v1/b/fuzz/o',
  '/batch/storage/v1',
  '/fuzz/x',
  '/fuzz/%c3%28',
  '/b//o/',
  '//',
  '/download/storage/v1/b/fuzz/o/x',
];
const QUERIES = [
  'project=p',
  'alt=media',
  'uploadType=media',
  'uploadType=multipart',
  'uploadType=resumable',
  'uploadType=none',
  'name=x',
  'name=%00',
  `name=${'n'.repeat(1025)}`,
  'upload_id=../../x',
  'uploads',
  'partNumber=0',
  'partNumber=1',
  'uploadId=00000000000000000000000000000000',
  'ifGenerationMatch=0',
  'ifGenerationMatch=-1',
  'ifSourceGenerationMatch=99999999999999999999999',
  'generation=x',
  'maxResults=1e9',
  'pageToken=e30',
  'versions=true',
  'fields=a(b',
  'fields=*',
  'rewriteToken=bnVsbA',
  'maxBytesRewrittenPerCall=1',
  'X-Goog-Signature=00&X-Goog-Algorithm=GOOG4-RSA-SHA256&X-Goog-Date=20261121T000000Z&X-Goog-Expires=9',
  'Signature=x',
];
const BODIES = [
  '',
  '{}',
  'null',
  '[]',
  '{"name": 5}',
  '{"name": "x", "metadata": []}',
  '{"name": "fuzz-two", "labels": 1}',
  '{"sourceObjects": [null]}',
  '{"sourceObjects": [{"name": "x", "generation": {}}]}',
  '{"bindings": [1]}',
  '{',
  '\u0000\ufffd',
  '--b\r\n\r\n{"name": "x"}\r\n--b\r\n\r\nbytes\r\n--b--',
  '--b\r\n\r\n--b--',
  '<CompleteMultipartUpload><Part></Part></CompleteMultipartUpload>',
  'x'.repeat(300_000),
];
const HEADERS: readonly Readonly<Record<string, string>>[] = [
  {},
  { 'content-type': 'application/json' },
  { 'content-type': 'application/json; charset=utf-8' },
  { 'content-type': 'application/json' },
  { 'content-type': 'multipart/related; boundary=b' },
  { 'content-type': 'multipart/mixed; boundary=b' },
  { 'content-range': 'bytes 0-1/*' },
  { 'content-range': 'bytes 9-1/2' },
  { range: 'bytes=5-1' },
  { range: 'bytes=-0' },
  { 'x-goog-hash': 'crc32c' },
  { 'x-goog-if-generation-match': 'x' },
  { 'x-goog-resumable': 'start' },
];

describe('bad input to the rehearsal’s Cloud Storage', () => {
  const store = new StoreUnderTest();
  before(async () => {
    await store.start();
    await store.bucket('fuzz');
  });
  after(() => store.stop());

  it('is refused or served, and never its failure: 500 requests from a seed', async () => {
    const random = randomFrom(17);
    const pick = <T>(list: readonly T[]): T => list[random(list.length)] as T;
    const seen = new Map<number, number>();
    for (let index = 0; index < 500; index += 1) {
      if (index % 10 === 0) await store.put('fuzz', 'x', 'content');
      const verb = pick(VERBS);
      const query = Array.from({ length: random(4) }, () => pick(QUERIES)).join('&');
      const body = verb === 'GET' || verb === 'HEAD' ? {} : { body: pick(BODIES) };
      const [path, headers] = [pick(PATHS), pick(HEADERS)];
      const answer = await store.ask(verb, `${path}?${query}`, { headers, ...body });
      const shown = `${verb} ${path}?${query} ${JSON.stringify(headers)}: ${answer.text.slice(0, 200)}`;
      assert.ok(answer.status !== 500, shown);
      seen.set(answer.status, (seen.get(answer.status) ?? 0) + 1);
    }
    for (const status of [200, 204, 400, 403, 404, 412])
      assert.ok((seen.get(status) ?? 0) > 2, `${status}: ${[...seen].join('; ')}`);
    assert.equal(
      await store.put('fuzz', 'after', 'all'),
      (await store.ask('GET', '/storage/v1/b/fuzz/o/after')).json?.['generation'],
    );
  });

  it('takes what a killed process left for what it is: half a line never happened, a content without a name is removed', async () => {
    await store.bucket('killed');
    await store.put('killed', 'whole', 'content');
    await store.halt();
    const folder = join(store.folder, 'killed');
    appendFileSync(join(folder, 'objects.jsonl'), '[{"put":{"name":"half","generation":"1');
    writeFileSync(join(folder, 'blobs', '1'), 'half');
    writeFileSync(join(folder, 'incoming', 'x'), 'half');
    await store.start();
    assert.equal(await store.read('killed', 'whole'), 'content');
    assert.equal((await store.ask('GET', '/storage/v1/b/killed/o/half')).status, 404);
    assert.equal(readdirSync(join(folder, 'blobs')).length, 1);
    assert.deepEqual(readdirSync(join(folder, 'incoming')), []);
    await store.put('killed', 'next', 'line');
    await store.halt();
    await store.start();
    assert.equal(await store.read('killed', 'next'), 'line');
  });

  it('takes over the objects of a store of version 0.1, a file each', async () => {
    await store.bucket('old');
    await store.put('old', 'kept', 'content');
    const { json } = await store.ask('GET', '/storage/v1/b/old/o/kept');
    await store.halt();
    const folder = join(store.folder, 'old');
    rmSync(join(folder, 'objects.jsonl'));
    const { selfLink: _self, mediaLink: _media, ...resource } = json ?? {};
    writeOld(folder, resource);
    await store.start();
    assert.equal(await store.read('old', 'kept'), 'content');
    assert.deepEqual((await store.ask('GET', '/storage/v1/b/old/o/kept')).json?.['generation'], json?.['generation']);
    assert.deepEqual(
      (await store.ask('GET', '/storage/v1/b?project=any&prefix=old')).json?.['items'] === undefined,
      false,
    );
  });
});

function writeOld(folder: string, resource: object): void {
  const bucket = { kind: 'storage#bucket', id: 'old', name: 'old', metageneration: '1', location: 'US' };
  writeFileSync(join(folder, 'bucket.json'), JSON.stringify(bucket));
  mkdirSync(join(folder, 'objects'));
  writeFileSync(join(folder, 'objects', `${'0'.repeat(64)}.json`), JSON.stringify(resource));
}
