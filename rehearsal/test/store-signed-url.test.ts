import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import type { File } from '@google-cloud/storage';
import { Storage } from '@google-cloud/storage';
import { slowness, until } from '../../test/until.js';
import type { Answer } from './store-under-test.js';
import { StoreUnderTest } from './store-under-test.js';

/** What the XML API calls a refusal. */
const codeOf = ({ status, text }: Answer): readonly [number, string | undefined] => [
  status,
  /<Code>(\w+)<\/Code>/.exec(text)?.[1],
];

describe('signed URLs of the rehearsal’s Cloud Storage', () => {
  const store = new StoreUnderTest();
  let signer: Storage;
  before(async () => {
    await store.start();
    await store.bucket('signed');
    const { json } = await store.ask('GET', '/_rehearsal/service-account-key');
    signer = new Storage({ apiEndpoint: store.url, projectId: 'p', credentials: json as never });
  });
  after(() => store.stop());

  const file = (name: string): File => signer.bucket('signed').file(name);
  const expires = (): number => Date.now() + 60_000;

  async function signedRead(name: string): Promise<string> {
    return (await file(name).getSignedUrl({ version: 'v4', action: 'read', expires: expires() }))[0];
  }

  it('of the Node client are read, whole and in part, under any name', async () => {
    for (const name of ['plain', 'fold/er?&#+%20.txt', 'ünïcode (1)!*']) {
      await store.put('signed', name, 'content');
      const url = await signedRead(name);
      assert.equal((await store.ask('GET', url)).text, 'content');
      const part = await store.ask('GET', url, { headers: { range: 'bytes=1-2' } });
      assert.deepEqual([part.status, part.text], [206, 'on']);
    }
  });

  it('are good for the verb and the object that they were signed for, and no other', async () => {
    for (const name of ['one', 'two']) await store.put('signed', name, 'content');
    const url = await signedRead('one');
    const refused = [403, 'SignatureDoesNotMatch'];
    assert.deepEqual(codeOf(await store.ask('DELETE', url)), refused);
    assert.deepEqual(codeOf(await store.ask('GET', url.replace('/one?', '/two?'))), refused);
    assert.deepEqual(codeOf(await store.ask('GET', url.replace(/X-Goog-Expires=\d+/, 'X-Goog-Expires=600'))), refused);
    assert.deepEqual(
      codeOf(
        await store.ask(
          'GET',
          url.replace(/.$/, (last) => (last === '0' ? '1' : '0')),
        ),
      ),
      refused,
    );
    assert.equal((await store.ask('GET', url)).status, 200);
  });

  it('are good until they run out', async () => {
    await store.put('signed', 'short', 'content');
    const [url] = await file('short').getSignedUrl({
      version: 'v4',
      action: 'read',
      expires: Date.now() + 1_500 * slowness(),
    });
    assert.equal((await store.ask('GET', url)).status, 200);
    const over = await until('the URL to run out', async () => {
      const answer = await store.ask('GET', url);
      return answer.status !== 200 && answer;
    });
    assert.deepEqual(codeOf(over), [400, 'ExpiredToken']);
  });

  it('of V2 are refused', async () => {
    const [url] = await file('old').getSignedUrl({ version: 'v2', action: 'read', expires: expires() });
    assert.equal((await store.ask('GET', url.replace('https://storage.googleapis.com', store.url))).status, 403);
  });

  it('stay good over a restart', async () => {
    await store.put('signed', 'restarted', 'content');
    const path = (await signedRead('restarted')).replace(store.url, '');
    await store.halt();
    await store.start();
    // Another port: the signature is of the host's name alone.
    assert.equal((await store.ask('GET', path)).text, 'content');
    signer = new Storage({
      apiEndpoint: store.url,
      projectId: 'p',
      credentials: signer.authClient.jsonContent as never,
    });
  });

  it('write with the headers that were signed, and with those alone', async () => {
    const contentType = 'text/x-signed';
    const [url] = await file('written').getSignedUrl({
      version: 'v4',
      action: 'write',
      expires: expires(),
      contentType,
    });
    const other = await store.ask('PUT', url, { headers: { 'content-type': 'text/plain' }, body: 'no' });
    assert.deepEqual(codeOf(other), [403, 'SignatureDoesNotMatch']);
    const put = await store.ask('PUT', url, { headers: { 'content-type': contentType }, body: 'by URL' });
    assert.equal(put.headers.get('etag'), `"${createHash('md5').update('by URL').digest('hex')}"`);
    const got = await store.ask('GET', await signedRead('written'));
    assert.deepEqual([got.text, got.headers.get('content-type')], ['by URL', contentType]);
  });

  it('begin a resumable upload', async () => {
    const [url] = await file('resumed').getSignedUrl({ version: 'v4', action: 'resumable', expires: expires() });
    const begun = await store.ask('POST', url, { headers: { 'x-goog-resumable': 'start' } });
    assert.equal(begun.status, 201);
    const done = await store.ask('PUT', String(begun.headers.get('location')), { body: 'resumable' });
    assert.deepEqual([done.status, await store.read('signed', 'resumed')], [200, 'resumable']);
  });
});

describe('the XML API of the rehearsal’s Cloud Storage', () => {
  const store = new StoreUnderTest();
  before(async () => {
    await store.start();
    await store.bucket('spoken-xml');
  });
  after(() => store.stop());

  it('writes, reads and deletes, with attributes and conditions in headers', async () => {
    const headers = { 'content-type': 'a/b', 'x-goog-meta-owner': 'me', 'x-goog-if-generation-match': '0' };
    assert.equal((await store.ask('PUT', '/spoken-xml/d/o', { headers, body: 'xml' })).status, 200);
    assert.deepEqual(codeOf(await store.ask('PUT', '/spoken-xml/d/o', { headers, body: 'xml' })), [
      412,
      'PreconditionFailed',
    ]);
    const got = await store.ask('GET', '/spoken-xml/d/o');
    assert.deepEqual(
      [got.text, got.headers.get('x-goog-meta-owner'), got.headers.get('content-type')],
      ['xml', 'me', 'a/b'],
    );
    assert.equal((await store.ask('HEAD', '/spoken-xml/d/o')).headers.get('content-length'), '3');
    assert.equal((await store.ask('DELETE', '/spoken-xml/d/o')).status, 204);
    assert.deepEqual(codeOf(await store.ask('GET', '/spoken-xml/d/o')), [404, 'NoSuchKey']);
    assert.deepEqual(codeOf(await store.ask('GET', '/no-such-bucket/d/o')), [404, 'NoSuchBucket']);
  });

  it('puts the parts of a multipart upload together, those that are named and no others', async () => {
    const begun = await store.ask('POST', '/spoken-xml/whole?uploads', { headers: { 'content-type': 'a/b' } });
    const id = /<UploadId>(\w+)</.exec(begun.text)?.[1] ?? '';
    const part = async (number: number, body: string): Promise<string> => {
      const answer = await store.ask('PUT', `/spoken-xml/whole?partNumber=${number}&uploadId=${id}`, { body });
      return `<Part><PartNumber>${number}</PartNumber><ETag>${answer.headers.get('etag')}</ETag></Part>`;
    };
    const complete = (parts: string): Promise<Answer> =>
      store.ask('POST', `/spoken-xml/whole?uploadId=${id}`, {
        body: `<CompleteMultipartUpload>${parts}</CompleteMultipartUpload>`,
      });
    const [second, old, first] = [await part(2, 'two'), await part(1, 'old'), await part(1, 'one ')];
    await part(3, 'not named');
    assert.deepEqual(codeOf(await complete(old + second)), [400, 'InvalidPart']);
    assert.deepEqual(codeOf(await complete('')), [400, 'MalformedXML']);
    assert.equal((await complete(second + first)).status, 200);
    const { json } = await store.ask('GET', '/storage/v1/b/spoken-xml/o/whole');
    assert.deepEqual([json?.['contentType'], json?.['md5Hash'], json?.['size']], ['a/b', undefined, '7']);
    assert.equal(await store.read('spoken-xml', 'whole'), 'one two');
    assert.deepEqual(codeOf(await complete(first)), [404, 'NoSuchUpload']);
  });
});
