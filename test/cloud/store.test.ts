import assert from 'node:assert/strict';
import { createServer, type AddressInfo } from 'node:net';
import { createStore, ensureBucket } from '../../cloud/store/gcs.js';
import { createStoreReader } from '../../cloud/store/reader.js';
import { startRehearsedCloud, type RehearsedCloud } from './rehearsed-cloud.js';
import { exerciseStore } from './store-conformance.js';

describe('the store', () => {
  let cloud: RehearsedCloud;
  before(async () => {
    cloud = await startRehearsedCloud(103);
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
