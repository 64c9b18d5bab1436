import assert from 'node:assert/strict';
import { createServer, type AddressInfo } from 'node:net';
import { createStore, ensureBucket } from '../../cloud/store/gcs.js';
import { createStoreReader } from '../../cloud/store/reader.js';
import { asWorker, StoreWithRights } from '../hosts/store-with-rights.js';
import type { HttpAnswer } from '../../rehearsal/test/authenticated-cloud.js';
import { startRehearsedCloud, type RehearsedCloud } from './rehearsed-cloud.js';
import { exerciseStore } from './store-conformance.js';

describe('the store', () => {
  let cloud: RehearsedCloud;
  before(async () => {
    cloud = await startRehearsedCloud();
  });
  after(() => cloud.stop());

  exerciseStore('the rehearsal', async () => {
    const at = { endpoint: cloud.storeEndpoint, bucket: 'conformance', projectId: 'p' };
    await ensureBucket(at);
    return { store: createStore(at), reader: createStoreReader(at), prefix: 'run/', close: async () => undefined };
  });

  it('makes its bucket once, also when several do', async () => {
    const at = { endpoint: cloud.storeEndpoint, bucket: 'made-here', projectId: 'p' };
    const made = await Promise.all([ensureBucket(at), ensureBucket(at), ensureBucket(at)]);
    assert.equal(made.filter((how) => how === 'created').length, 1);
    assert.equal(await ensureBucket(at), 'exists');
  });

  it('a bucket that is not there is refused, and never read as an empty one', async () => {
    const at = { endpoint: cloud.storeEndpoint, bucket: 'not-there' };
    const store = createStore(at);
    const refused = { name: 'StoreRefused', message: /not-there/ };
    await assert.rejects(store.write('a', 'x', 'absent'), refused);
    for (const half of [store, createStoreReader(at)]) {
      await assert.rejects(half.read('a'), refused);
      await assert.rejects(half.stat('a'), refused);
      await assert.rejects(half.list('a'), refused);
    }
  });
});

describe('the address of an object', () => {
  const authenticated = new StoreWithRights();
  before(() => authenticated.start());
  after(() => authenticated.cloud.stop());

  const name = 'odd name/%2F+?#&ü.bin';
  const anonymously = (url: string): Promise<HttpAnswer> => authenticated.cloud.ask(url);

  it('reads it with a token, whatever characters its name has, and without one over http:', async () => {
    const file = await authenticated.file(name);
    const { status, text } = await authenticated.cloud.ask(file.stored.url ?? '', {
      token: await authenticated.cloud.token(),
    });
    assert.deepEqual([status, text], [200, file.text]);
    assert.equal((await anonymously(file.stored.url ?? '')).status, 401);

    const cloud = await startRehearsedCloud();
    try {
      const at = { endpoint: cloud.storeEndpoint, bucket: 'open', projectId: 'p' };
      await ensureBucket(at);
      const store = createStore(at);
      await store.write(name, 'content', 'absent');
      assert.equal(await (await fetch(store.downloadUrl(name) ?? '')).text(), 'content');
      assert.equal(await store.signedUrl(name, 60_000), undefined);
    } finally {
      await cloud.stop();
    }
  });

  it('is signed by a service account for so long, and lets anybody read', () =>
    asWorker(authenticated.keyFile, async () => {
      const file = await authenticated.file(name);
      const store = createStore({ endpoint: authenticated.cloud.endpoints.store, bucket: 'jobs' });
      const url = await store.signedUrl(name, 120_000);
      const seconds = Number(new URL(url ?? '').searchParams.get('X-Goog-Expires'));
      assert.ok(seconds > 100 && seconds <= 120, `good for ${seconds} s`);
      assert.equal((await anonymously(url ?? '')).text, file.text);
      const other = (url ?? '').replace('odd', 'another');
      assert.equal((await anonymously(other)).status, 403);
    }));

  it('cannot be signed by a person’s login', () =>
    asWorker(authenticated.cloud.endpoints.credentialsFile ?? '', async () => {
      const store = createStore({ endpoint: authenticated.cloud.endpoints.store, bucket: 'jobs' });
      assert.equal(await store.signedUrl(name, 60_000), undefined);
    }));

  it('of Google’s store is there where no other is configured', () => {
    const wanted = 'https://storage.googleapis.com/download/storage/v1/b/jobs/o/a%2Fb?alt=media';
    assert.equal(createStore({ bucket: 'jobs' }).downloadUrl('a/b'), wanted);
  });
});

const realBucket = process.env['JOBCTL_TEST_GCS_BUCKET'];
if (realBucket !== undefined) {
  exerciseStore(`bucket ${realBucket}`, async () => {
    const at = { bucket: realBucket };
    const prefix = `jobctl-test/${Date.now()}/`;
    const store = createStore(at);
    const removeAll = async (): Promise<void> => {
      await Promise.all((await store.list(prefix)).map(({ name }) => store.remove(name)));
    };
    return { store, reader: createStoreReader(at), prefix, close: removeAll };
  });
}

describe('a store that does not answer', () => {
  it('is unavailable, with the reason', async () => {
    const server = createServer((socket) => socket.on('error', () => undefined).destroy());
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const at = { endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, bucket: 'b' };
    const unavailable = { name: 'StoreUnavailable', message: /gs:\/\/b\/a: .*(hang up|closed|ECONNRESET|EPIPE)/ };
    await Promise.all([
      assert.rejects(createStore(at).write('a', 'x', 'absent'), unavailable),
      assert.rejects(createStoreReader(at).read('a'), unavailable),
    ]);
    await new Promise((resolve) => server.close(resolve));
  });
});
