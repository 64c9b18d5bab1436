import assert from 'node:assert/strict';
import { gzipSync } from 'node:zlib';
import { refusalOf, StoreUnderTest } from './store-under-test.js';

const MIB = 1024 * 1024;
const O = '/storage/v1/b/objects/o';

describe('objects of the rehearsal’s Cloud Storage', () => {
  const store = new StoreUnderTest();
  before(async () => {
    await store.start();
    await store.bucket('objects');
    await store.bucket('versions', { versioning: { enabled: true } });
  });
  after(() => store.stop());

  const put = (name: string, content: string | Buffer = 'x'): Promise<string> => store.put('objects', name, content);

  /** As Cloud Storage promises: a read that begins as an object is overwritten answers one of the two, never 404. */
  it('are there for a reader, whole, however often they are overwritten meanwhile', async () => {
    await put('overwritten', 'content 0');
    const answers = new Set<number>();
    let isWritten = false;
    const reading = Array.from({ length: 6 }, async () => {
      while (!isWritten) {
        const { status, text } = await store.ask('GET', `${O}/overwritten?alt=media`);
        answers.add(status);
        if (status === 200) assert.match(text, /^content \d+$/);
      }
    });
    for (let next = 1; next <= 300; next++) await put('overwritten', `content ${next}`);
    isWritten = true;
    await Promise.all(reading);
    assert.deepEqual([...answers], [200]);
  });

  describe('preconditions', () => {
    const METHODS: Record<string, (query: string) => readonly [verb: string, path: string, body?: object | string]> = {
      'an insert': (query) => ['POST', `/upload${O}?uploadType=media&name=guarded&${query}`, 'new'],
      'a resumable insert': (query) => ['POST', `/upload${O}?uploadType=resumable&name=guarded&${query}`, {}],
      'a patch': (query) => ['PATCH', `${O}/guarded?${query}`, { contentType: 'a/b' }],
      'an update': (query) => ['PUT', `${O}/guarded?${query}`, { contentType: 'a/b' }],
      'a delete': (query) => ['DELETE', `${O}/guarded?${query}`],
      'a compose': (query) => ['POST', `${O}/guarded/compose?${query}`, { sourceObjects: [{ name: 'source' }] }],
      'a copy': (query) => ['POST', `${O}/source/copyTo/b/objects/o/guarded?${query}`, {}],
      'a rewrite': (query) => ['POST', `${O}/source/rewriteTo/b/objects/o/guarded?${query}`, {}],
      'a move': (query) => ['POST', `${O}/source/moveTo/o/guarded?${query}`],
      'a read': (query) => ['GET', `${O}/guarded?${query}`],
    };
    const ask = ([verb, path, body]: readonly [string, string, (object | string)?]): ReturnType<
      StoreUnderTest['ask']
    > => store.ask(verb, path, body === undefined ? {} : { body: body as string });

    for (const [name, request] of Object.entries(METHODS)) {
      it(`hold back ${name} that any of the four forbids, and let it through where all hold`, async () => {
        await put('source');
        const generation = await put('guarded');
        const isRead = name === 'a read';
        const broken: Record<string, number> = {
          [`ifGenerationMatch=${BigInt(generation) - 1n}`]: 412,
          'ifMetagenerationMatch=7': 412,
          [`ifGenerationNotMatch=${generation}`]: isRead ? 304 : 412,
          'ifMetagenerationNotMatch=1': isRead ? 304 : 412,
        };
        for (const [query, status] of Object.entries(broken)) {
          const answer = await ask(request(query));
          assert.equal(answer.status, status, query);
          if (status === 412) assert.equal(refusalOf(answer)[1], 'conditionNotMet');
          assert.equal(await store.read('objects', 'guarded'), 'x', query);
        }
        const held = `ifGenerationMatch=${generation}&ifMetagenerationMatch=1&ifMetagenerationNotMatch=2&ifGenerationNotMatch=1`;
        const through = await ask(request(held));
        assert.ok(through.status < 300, through.text);
      });
    }

    const OF_SOURCE = ['copyTo/b/objects/o/target', 'rewriteTo/b/objects/o/target', 'moveTo/o/target'];
    for (const tail of OF_SOURCE) {
      it(`of the source hold back ${tail.slice(0, 9)}`, async () => {
        const generation = await put('source');
        const broken = [`ifSourceGenerationMatch=1`, 'ifSourceMetagenerationMatch=2'];
        const isMove = tail.startsWith('move');
        for (const query of broken) {
          assert.equal((await store.ask('POST', `${O}/source/${tail}?${query}`)).status, 412, query);
        }
        const notNewer = await store.ask('POST', `${O}/source/${tail}?ifSourceGenerationNotMatch=${generation}`);
        assert.equal(notNewer.status, isMove ? 412 : 304);
        const good = await store.ask('POST', `${O}/source/${tail}?ifSourceGenerationMatch=${generation}`);
        assert.equal(good.status, 200);
      });
    }

    it('0 wants a name that nobody has', async () => {
      const path = `/upload${O}?uploadType=media&name=only-once&ifGenerationMatch=0`;
      const [first, second] = [
        await store.ask('POST', path, { body: 'a' }),
        await store.ask('POST', path, { body: 'b' }),
      ];
      assert.deepEqual([first.status, second.status], [200, 412]);
    });

    it('of sources hold back a compose', async () => {
      await put('source');
      const sourceObjects = [{ name: 'source', objectPreconditions: { ifGenerationMatch: '1' } }];
      assert.equal((await store.ask('POST', `${O}/composed/compose`, { body: { sourceObjects } })).status, 412);
    });

    it('that are null are none, as the Python client writes them', async () => {
      await put('source');
      const sourceObjects = [{ name: 'source', generation: null, objectPreconditions: { ifGenerationMatch: null } }];
      assert.equal((await store.ask('POST', `${O}/composed/compose`, { body: { sourceObjects } })).status, 200);
    });
  });

  it('compose up to 32 sources, in their order, without an MD5', async () => {
    const sourceObjects = [];
    for (let index = 0; index < 32; index += 1) {
      await put(`part-${index}`, `${index} `);
      sourceObjects.push({ name: `part-${index}` });
    }
    const body = { sourceObjects, destination: { contentType: 'text/plain' } };
    const { json } = await store.ask('POST', `${O}/composed/compose`, { body });
    assert.deepEqual(
      [json?.['componentCount'], json?.['md5Hash'], json?.['contentType']],
      [32, undefined, 'text/plain'],
    );
    assert.equal(
      await store.read('objects', 'composed'),
      Array.from({ length: 32 }, (_, index) => `${index} `).join(''),
    );
    const tooMany = { sourceObjects: [...sourceObjects, { name: 'part-0' }] };
    assert.equal((await store.ask('POST', `${O}/composed/compose`, { body: tooMany })).status, 400);
    assert.equal((await store.ask('POST', `${O}/composed/compose`, { body: {} })).status, 400);
  });

  it('rewrite in steps of what a call may do, with a token from call to call', async () => {
    await put('large', Buffer.alloc(2 * MIB + 1, 1));
    const path = `${O}/large/rewriteTo/b/versions/o/large?maxBytesRewrittenPerCall=${MIB}`;
    const steps = [];
    for (let token = ''; steps.length < 9;) {
      const { json } = await store.ask('POST', `${path}&rewriteToken=${token}`);
      steps.push([json?.['done'], json?.['totalBytesRewritten']]);
      if (json?.['done'] === true) break;
      token = String(json?.['rewriteToken']);
    }
    assert.deepEqual(steps, [
      [false, String(MIB)],
      [false, String(2 * MIB)],
      [true, String(2 * MIB + 1)],
    ]);
    assert.equal((await store.read('versions', 'large')).length, 2 * MIB + 1);
    assert.equal((await store.ask('POST', `${path}&rewriteToken=forged`)).status, 400);
    assert.equal((await store.ask('POST', `${path}1`)).status, 400);
  });

  it('keep a copy’s bytes when the original is gone', async () => {
    await put('original', 'bytes');
    await store.ask('POST', `${O}/original/copyTo/b/objects/o/copy`);
    await store.ask('DELETE', `${O}/original`);
    assert.equal(await store.read('objects', 'copy'), 'bytes');
  });

  it('move at once, to a new generation', async () => {
    const generation = await put('here', 'moved');
    const moved = await store.ask('POST', `${O}/here/moveTo/o/there`);
    assert.notEqual(moved.json?.['generation'], generation);
    assert.equal((await store.ask('GET', `${O}/here`)).status, 404);
    assert.equal(await store.read('objects', 'there'), 'moved');
  });

  it('lose what a patch says null of, and all that an update does not name', async () => {
    await put('changed');
    const set = { contentType: 'a/b', cacheControl: 'no-cache', metadata: { a: '1', b: '2' } };
    await store.ask('PATCH', `${O}/changed`, { body: set });
    const patched = await store.ask('PATCH', `${O}/changed`, { body: { cacheControl: null, metadata: { a: null } } });
    assert.deepEqual([patched.json?.['cacheControl'], patched.json?.['metadata']], [undefined, { b: '2' }]);
    const updated = await store.ask('PUT', `${O}/changed`, { body: { contentType: 'c/d' } });
    assert.deepEqual([updated.json?.['contentType'], updated.json?.['metadata']], ['c/d', undefined]);
    assert.equal((await store.ask('PATCH', `${O}/changed`, { body: { metadata: { a: 1 } } })).status, 400);
  });

  it('are unpacked for readers who do not take gzip, and passed on as they are to those who do', async () => {
    const path = `/upload${O}?uploadType=multipart&name=packed`;
    const head = '--e\r\n\r\n{"contentEncoding": "gzip"}\r\n--e\r\nContent-Type: text/plain\r\n\r\n';
    const body = Buffer.concat([Buffer.from(head), gzipSync('plain'), Buffer.from('\r\n--e--')]);
    await store.ask('POST', path, { headers: { 'content-type': 'multipart/related; boundary=e' }, body });
    const read = async (encoding: string): Promise<Response> =>
      fetch(`${store.url}${O}/packed?alt=media`, { headers: { 'accept-encoding': encoding } });
    const unpacked = await read('identity');
    assert.equal(await unpacked.text(), 'plain');
    assert.deepEqual(
      [unpacked.headers.get('content-encoding'), unpacked.headers.get('x-goog-stored-content-encoding')],
      [null, 'gzip'],
    );
    // fetch unpacks it itself.
    const packed = await read('gzip');
    assert.equal(packed.headers.get('content-encoding'), 'gzip');
    assert.equal(Number(packed.headers.get('content-length')), gzipSync('plain').length);
    assert.equal(await packed.text(), 'plain');
  });

  it('refuse readers of bytes in plain text, others in JSON', async () => {
    const media = await store.ask('GET', `${O}/nobody?alt=media`);
    assert.deepEqual([media.status, media.text], [404, 'No such object: objects/nobody']);
    assert.deepEqual(refusalOf(await store.ask('GET', `${O}/nobody`)), [
      404,
      'notFound',
      'No such object: objects/nobody',
    ]);
  });

  it('of a versioned bucket stay as noncurrent ones until their generation is deleted', async () => {
    const V = '/storage/v1/b/versions/o/kept';
    const first = await store.put('versions', 'kept', 'one');
    const second = await store.put('versions', 'kept', 'two');
    assert.equal((await store.ask('GET', `${V}?alt=media&generation=${first}`)).text, 'one');
    assert.equal((await store.ask('DELETE', V)).status, 204);
    assert.equal((await store.ask('GET', V)).status, 404);
    const old = await store.ask('GET', `${V}?generation=${second}`);
    assert.match(String(old.json?.['timeDeleted']), /^\d{4}-/);
    assert.equal((await store.ask('DELETE', '/storage/v1/b/versions')).status, 409);
    for (const generation of [first, second])
      assert.equal((await store.ask('DELETE', `${V}?generation=${generation}`)).status, 204);
    assert.equal((await store.ask('GET', `${V}?generation=${second}`)).status, 404);
  });

  it('of a restarted store are what they were: metadata, versions, and generations that only grow', async () => {
    const first = await store.put('versions', 'restarted', 'one');
    const second = await store.put('versions', 'restarted', 'two');
    await store.ask('PATCH', '/storage/v1/b/versions/o/restarted', { body: { metadata: { a: 'b' } } });
    await store.halt();
    // A clock that was set back must not make a generation twice.
    store.now = () => Date.now() - 3_600_000;
    await store.start();
    const path = '/storage/v1/b/versions/o/restarted';
    const { json } = await store.ask('GET', path);
    assert.deepEqual([json?.['generation'], json?.['metadata'], json?.['metageneration']], [second, { a: 'b' }, '2']);
    assert.equal((await store.ask('GET', `${path}?alt=media&generation=${first}`)).text, 'one');
    assert.ok(BigInt(await store.put('versions', 'restarted', 'three')) > BigInt(second));
    store.now = Date.now;
  });

  describe('in a batch', () => {
    const batch = (parts: readonly string[]): ReturnType<StoreUnderTest['ask']> => {
      const lines = parts.map(
        (part, index) => `--b\r\nContent-Type: application/http\r\nContent-ID: <id+${index}>\r\n\r\n${part}\r\n\r\n`,
      );
      return store.ask('POST', '/batch/storage/v1', {
        headers: { 'content-type': 'multipart/mixed; boundary="b"' },
        body: `${lines.join('')}--b--`,
      });
    };

    it('are called one after another, each with an answer of its own', async () => {
      await put('in-batch');
      const patch = '{"metadata": {"k": "ü"}}';
      const length = `content-type: application/json\r\ncontent-length: ${Buffer.byteLength(patch)}`;
      const { text } = await batch([
        `PATCH ${O}/in-batch HTTP/1.1\r\n${length}\r\n\r\n${patch}`,
        `GET ${O}/in-batch?fields=metadata HTTP/1.1`,
        `DELETE ${store.url}${O}/in-batch HTTP/1.1`,
        `DELETE ${O}/in-batch HTTP/1.1`,
      ]);
      assert.deepEqual(
        [...text.matchAll(/^HTTP\/1\.1 (\d+)/gm)].map((match) => match[1]),
        ['200', '200', '204', '404'],
      );
      assert.deepEqual(
        [...text.matchAll(/^Content-ID: (.*)$/gm)].map((match) => match[1]?.trim()),
        [0, 1, 2, 3].map((id) => `<response-id+${id}>`),
      );
      assert.match(text, /\{"metadata":\{"k":"ü"\}\}/);
    });

    it('are refused as a whole where the batch is none, or too large', async () => {
      assert.equal((await batch(['nothing of HTTP'])).status, 400);
      assert.equal((await batch(Array.from({ length: 101 }, () => `DELETE ${O}/x HTTP/1.1`))).status, 400);
      const noBoundary = { headers: { 'content-type': 'multipart/mixed' }, body: 'x' };
      assert.equal((await store.ask('POST', '/batch/storage/v1', noBoundary)).status, 400);
    });
  });
});
