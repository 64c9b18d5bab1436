import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { statSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { crc32c } from '../store/crc32c.js';
import { until } from '../../test/until.js';
import type { Answer } from './store-under-test.js';
import { refusalOf, StoreUnderTest } from './store-under-test.js';

const GRAIN = 256 * 1024;
const BEGIN = '/upload/storage/v1/b/uploads/o?uploadType=resumable';

describe('uploads to the rehearsal’s Cloud Storage', () => {
  const store = new StoreUnderTest();
  before(async () => {
    await store.start();
    await store.bucket('uploads');
  });
  after(() => store.stop());

  async function begin(name: string, resource: object = {}): Promise<string> {
    const answer = await store.ask('POST', `${BEGIN}&name=${name}`, { body: { ...resource } });
    assert.equal(answer.status, 200);
    return String(answer.headers.get('location')).replace(store.url, '');
  }

  function send(session: string, range: string, body: Buffer | string = ''): Promise<Answer> {
    return store.ask('PUT', session, { headers: { 'content-range': range }, body });
  }

  const [first, second, rest] = [randomBytes(GRAIN), randomBytes(GRAIN), randomBytes(1000)];
  const whole = Buffer.concat([first, second, rest]);

  it('are taken in chunks, and say how far they are', async () => {
    const session = await begin('chunks');
    const one = await send(session, `bytes 0-${GRAIN - 1}/*`, first);
    assert.deepEqual([one.status, one.headers.get('range')], [308, `bytes=0-${GRAIN - 1}`]);
    const asked = await send(session, 'bytes */*');
    assert.deepEqual([asked.status, asked.headers.get('range')], [308, `bytes=0-${GRAIN - 1}`]);
    await send(session, `bytes ${GRAIN}-${2 * GRAIN - 1}/*`, second);
    const done = await send(session, `bytes ${2 * GRAIN}-${whole.length - 1}/${whole.length}`, rest);
    assert.deepEqual([done.status, done.json?.['size']], [200, String(whole.length)]);
    assert.equal(done.json?.['md5Hash'], createHash('md5').update(whole).digest('base64'));
  });

  it('say 0 bytes of a session that has none, without a Range', async () => {
    const asked = await send(await begin('fresh'), 'bytes */*');
    assert.deepEqual([asked.status, asked.headers.get('range')], [308, null]);
  });

  it('are told again as done to who did not get the answer', async () => {
    const session = await begin('again');
    const done = await send(session, 'bytes 0-4/5', 'bytes');
    const again = await send(session, 'bytes */5');
    assert.deepEqual([again.status, again.json?.['generation']], [200, done.json?.['generation']]);
  });

  it('end at a total that comes late, and at one of nothing', async () => {
    const session = await begin('late-total');
    await send(session, `bytes 0-${GRAIN - 1}/*`, first);
    assert.equal((await send(session, `bytes */${GRAIN}`)).json?.['size'], String(GRAIN));
    assert.equal((await send(await begin('empty'), 'bytes */0')).json?.['size'], '0');
  });

  it('pass over what is there already when a chunk comes again', async () => {
    const session = await begin('overlap');
    await send(session, `bytes 0-${GRAIN - 1}/*`, first);
    const done = await send(session, `bytes 0-${whole.length - 1}/${whole.length}`, whole);
    assert.equal(done.json?.['crc32c'], crc32c(whole));
  });

  it('refuse a gap, a small chunk and more than there should be, in Google’s words', async () => {
    const session = await begin('refused');
    const gap = refusalOf(await send(session, `bytes ${GRAIN}-${2 * GRAIN - 1}/*`, first));
    const text = `the upload offset is ${GRAIN} byte(s), which exceeds already uploaded size of 0 byte(s).`;
    assert.equal(gap[0], 400);
    assert.ok(gap[2].endsWith(text), gap[2]);
    const small = refusalOf(await send(session, 'bytes 0-9/*', '0123456789'));
    assert.equal(small[0], 400);
    assert.match(small[2], /required to be equal or greater than 262144, .* contained 10 bytes/);
    assert.equal((await send(session, 'bytes 0-9/5', '0123456789')).status, 400);
    assert.equal((await send(session, 'lines 1-2')).status, 400);
    assert.equal((await send(session, 'bytes */*')).headers.get('range'), null);
  });

  it('keep what came before a connection broke, in multiples of 256 KiB', async () => {
    const session = await begin('broken-off');
    const data = join(store.folder, '.uploads', `${/upload_id=(\w+)/.exec(session)?.[1]}.data`);
    await breakOff(`${store.url}${session}`, whole.length, Buffer.concat([first, rest]), data);
    const asked = await send(session, 'bytes */*');
    assert.equal(asked.headers.get('range'), `bytes=0-${GRAIN - 1}`);
    const done = await send(session, `bytes ${GRAIN}-${whole.length - 1}/${whole.length}`, whole.subarray(GRAIN));
    assert.equal(done.json?.['crc32c'], crc32c(whole));
  });

  it('outlive the process: a session goes on after a restart, an ended one is told as done', async () => {
    const [open, ended] = [await begin('restarted'), await begin('ended')];
    await send(open, `bytes 0-${GRAIN - 1}/*`, first);
    await send(ended, 'bytes 0-4/5', 'bytes');
    await store.halt();
    await store.start();
    assert.equal((await send(open, 'bytes */*')).headers.get('range'), `bytes=0-${GRAIN - 1}`);
    const done = await send(open, `bytes ${GRAIN}-${whole.length - 1}/${whole.length}`, whole.subarray(GRAIN));
    assert.equal(done.json?.['crc32c'], crc32c(whole));
    assert.equal((await send(ended, 'bytes */5')).status, 200);
  });

  it('are gone once they are cancelled', async () => {
    const session = await begin('cancelled');
    assert.equal((await store.ask('DELETE', session)).status, 499);
    assert.equal((await send(session, 'bytes */*')).status, 404);
  });

  it('answer 200 in place of 308 to the Go client, which takes 308 for a redirect', async () => {
    const session = await begin('go');
    const headers = { 'content-range': `bytes 0-${GRAIN - 1}/*`, 'x-guploader-no-308': 'yes' };
    const answer = await store.ask('PUT', session, { headers, body: first });
    assert.deepEqual([answer.status, answer.headers.get('x-http-status-code-override')], [200, '308']);
  });

  const ends: Record<string, string> = { 'lines of HTTP': '\r\n', 'the bare newlines of apitools': '\n' };
  for (const [name, newline] of Object.entries(ends)) {
    it(`take a multipart body with ${name}, and a content that looks like a boundary`, async () => {
      const content = `--edg${newline}--edge-less? no: ${newline}-edge--${newline}`;
      const lines = [
        '--edge',
        'Content-Type: application/json',
        '',
        '{"name": "two parts"}',
        '--edge',
        'content-type: a/b',
        '',
        content,
        '--edge--',
        '',
      ];
      const answer = await store.ask('POST', '/upload/storage/v1/b/uploads/o?uploadType=multipart', {
        headers: { 'content-type': "multipart/related; boundary='edge'" },
        body: lines.join(newline),
      });
      assert.deepEqual([answer.status, answer.json?.['name'], answer.json?.['contentType']], [200, 'two parts', 'a/b']);
      assert.equal(await store.read('uploads', 'two parts'), content);
    });
  }

  const malformed: Record<string, { readonly type: string; readonly body: string }> = {
    'no boundary named': { type: 'multipart/related', body: '--edge\r\n\r\n{}\r\n--edge--' },
    'no boundary in it': { type: 'multipart/related; boundary=edge', body: 'nothing of the kind' },
    'one part': { type: 'multipart/related; boundary=edge', body: '--edge\r\n\r\n{}\r\n--edge--' },
    'no JSON': { type: 'multipart/related; boundary=edge', body: '--edge\r\n\r\n{\r\n--edge\r\n\r\nx\r\n--edge--' },
    'no end': { type: 'multipart/related; boundary=edge', body: '--edge\r\n\r\n{"name":"endless"}\r\n--edge\r\n\r\nx' },
  };
  for (const [name, { type, body }] of Object.entries(malformed)) {
    it(`refuse a multipart body with ${name}, and write nothing`, async () => {
      const path = '/upload/storage/v1/b/uploads/o?uploadType=multipart';
      const answer = await store.ask('POST', path, { headers: { 'content-type': type }, body });
      assert.equal(answer.status, 400);
      assert.equal((await store.ask('GET', '/storage/v1/b/uploads/o/endless')).status, 404);
    });
  }

  const hashes: Record<string, { readonly headers?: Record<string, string>; readonly resource?: object }> = {
    'the CRC32C of its resource': { resource: { crc32c: 'AAAAAA==' } },
    'the MD5 hash of its resource': { resource: { md5Hash: 'AAAAAAAAAAAAAAAAAAAAAA==' } },
    'the CRC32C of x-goog-hash': { headers: { 'x-goog-hash': 'crc32c=AAAAAA==' } },
    'the MD5 hash of x-goog-hash': { headers: { 'x-goog-hash': 'crc32c=,md5=AAAAAAAAAAAAAAAAAAAAAA==' } },
  };
  for (const [name, { headers = {}, resource = {} }] of Object.entries(hashes)) {
    it(`refuse content that does not match ${name}`, async () => {
      const session = await begin('mismatch', resource);
      const answer = await store.ask('PUT', session, { headers, body: 'content' });
      const [status, reason, text] = refusalOf(answer);
      assert.deepEqual([status, reason], [400, 'invalid']);
      assert.match(text, /^Provided (CRC32C|MD5 hash) "A+==" doesn't match calculated \1 "[^"]+"\.$/);
      assert.equal((await store.ask('GET', '/storage/v1/b/uploads/o/mismatch')).status, 404);
    });
  }

  it('are unpacked where they were packed for their way, and refused where they were not', async () => {
    const range = { 'content-range': 'bytes 0-4/5', 'content-encoding': 'gzip' };
    const done = await store.ask('PUT', await begin('in-flight'), { headers: range, body: gzipSync('plain') });
    assert.deepEqual([done.status, done.json?.['size'], done.json?.['contentEncoding']], [200, '5', undefined]);
    const refused = await store.ask('PUT', await begin('not-packed'), { headers: range, body: 'plain' });
    assert.equal(refused.status, 400);
  });

  it('tell a client that forgot the form of the upload where it belongs', async () => {
    const answer = refusalOf(await store.ask('POST', '/storage/v1/b/uploads/o?name=x', { body: {} }));
    assert.deepEqual(answer.slice(0, 2), [400, 'wrongUrlForUpload']);
  });
});

/** Sends less than it says, and hangs up when it has arrived in that file. */
async function breakOff(url: string, length: number, part: Buffer, file: string): Promise<void> {
  const headers = { 'content-length': length, 'content-range': `bytes 0-${length - 1}/${length}` };
  const sent = request(url, { method: 'PUT', headers });
  const closed = new Promise<void>((resolve) => sent.on('close', resolve));
  sent.on('error', () => undefined);
  sent.write(part);
  await until('all of it to arrive', () => statSync(file).size === part.length);
  sent.destroy();
  await closed;
}
