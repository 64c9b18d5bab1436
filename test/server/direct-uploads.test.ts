import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { createStore, ensureBucket } from '../../cloud/store/gcs.js';
import type { StorePort } from '../../cloud/store/port.js';
import { uploadInto, uploadSender } from '../../cloud/store/resumable-upload.js';
import { fileObject, UPLOADS_PREFIX } from '../../domain/store-layout.js';
import { DirectUploads } from '../../server/direct-uploads.js';
import { type RehearsedCloud, startRehearsedCloud } from '../cloud/rehearsed-cloud.js';
import { startTcpCutter, type TcpCutter } from '../hosts/tcp-cutter.js';

const MIB = 1024 * 1024;
const DAY = 86_400_000;
const hashOf = (content: Buffer): string => createHash('sha256').update(content).digest('hex');

describe('files that clients bring to the store themselves', () => {
  let cloud: RehearsedCloud;
  let cutter: TcpCutter;
  let store: StorePort;
  let uploads: DirectUploads;
  before(async () => {
    cloud = await startRehearsedCloud();
    cutter = await startTcpCutter(Number(new URL(cloud.storeEndpoint).port));
    await ensureBucket({ endpoint: cloud.storeEndpoint, bucket: 'direct', projectId: 'p' });
    store = createStore({ endpoint: `http://127.0.0.1:${cutter.port}`, bucket: 'direct' });
    uploads = new DirectUploads(store);
  });
  afterEach(() => cutter.cutAfter(undefined));
  after(async () => {
    await cutter.close();
    await cloud.stop();
  });

  /** Sent as curl would, with nothing but the address. */
  async function sent(content: Buffer, size = content.length): Promise<string> {
    const { upload, url } = await uploads.offer(size);
    const { status } = await fetch(url, { method: 'PUT', body: new Uint8Array(content) });
    assert.equal(status, 200);
    return upload;
  }
  const complete = (upload: string, sha256: string, most = 100 * MIB): Promise<void> =>
    uploads.complete(upload, { path: 'f', sha256 }, most);
  const staged = async (): Promise<readonly string[]> => (await store.list(UPLOADS_PREFIX)).map(({ name }) => name);

  it('are under the name of their content once the server has compared them, and nowhere else', async () => {
    const content = randomBytes(9 * MIB + 3);
    const upload = await sent(content);
    assert.equal(await store.stat(fileObject(hashOf(content))), undefined, 'before');
    await complete(upload, hashOf(content));
    assert.ok(content.equals((await store.read(fileObject(hashOf(content)))) ?? Buffer.of()));
    assert.deepEqual(await staged(), []);
    await complete(upload, hashOf(content));
  });

  it('that are other content than they say put nothing there, and the right content can still come', async () => {
    const [content, evil] = [randomBytes(2 * MIB), randomBytes(2 * MIB)];
    const cases: Record<string, Buffer> = {
      'other bytes': evil,
      'a byte more': Buffer.concat([content, Buffer.of(0)]),
      'a byte less': content.subarray(1),
    };
    for (const [name, bytes] of Object.entries(cases)) {
      await assert.rejects(complete(await sent(bytes), hashOf(content)), { name: 'ApiError', code: 'invalid' }, name);
      assert.equal(await store.stat(fileObject(hashOf(content))), undefined, name);
      assert.deepEqual(await staged(), [], name);
    }
    await complete(await sent(content), hashOf(content));
    assert.ok(content.equals((await store.read(fileObject(hashOf(content)))) ?? Buffer.of()));
  });

  it('cannot take the place of what is there: an address is good for one object that is new', async () => {
    const [first, second] = [randomBytes(2 * MIB), randomBytes(2 * MIB)];
    const { upload, url } = await uploads.offer(first.length);
    for (const body of [first, second]) await fetch(url, { method: 'PUT', body: new Uint8Array(body) });
    await complete(upload, hashOf(first));
    assert.ok(first.equals((await store.read(fileObject(hashOf(first)))) ?? Buffer.of()));
    // What is there has been written once, whoever brings it again.
    const before = await store.stat(fileObject(hashOf(first)));
    await complete(await sent(first), hashOf(first));
    assert.deepEqual(await store.stat(fileObject(hashOf(first))), before);
  });

  it('go on after cuts, on both ways', async () => {
    const content = randomBytes(9 * MIB + 5);
    const source = {
      ...{ size: content.length, sha256: hashOf(content) },
      async *read(start: number) {
        yield content.subarray(start);
      },
    };
    const { upload, url } = await uploads.offer(content.length);
    const before = cutter.connections();
    cutter.cutAfter(3 * MIB);
    await uploadInto({ session: url, source, send: uploadSender(undefined) });
    assert.ok(cutter.connections() - before >= 3, 'it was never cut');
    await complete(upload, source.sha256);
    assert.ok(content.equals((await store.read(fileObject(source.sha256))) ?? Buffer.of()));
  });

  it('have an address from 1 MiB on, in a store that is reached without sending anything in the clear', async () => {
    assert.equal(uploads.isOffered(MIB - 1), false);
    assert.match(
      (await uploads.offer(MIB)).url,
      /^http:\/\/127\.0\.0\.1:\d+\/upload\/\S+&name=uploads%2F[0-9a-f]{32}&/,
    );
    const inTheClear = createStore({ endpoint: 'http://10.0.0.1:9000', bucket: 'direct' });
    assert.equal(new DirectUploads(inTheClear).isOffered(MIB), false);
  });

  it('that are not there, or larger than they may be, are refused', async () => {
    const content = randomBytes(2 * MIB);
    await assert.rejects(complete('0'.repeat(32), hashOf(content)), { code: 'not-found' });
    await assert.rejects(complete(await sent(content), hashOf(content), 2 * MIB - 1), { code: 'too-large' });
    assert.deepEqual([await store.stat(fileObject(hashOf(content))), await staged()], [undefined, []]);
  });

  it('that nobody completes are removed when their address has lapsed, and not before', async () => {
    await sent(randomBytes(2 * MIB));
    assert.equal(await uploads.sweep(Date.now() + 7 * DAY), 0);
    assert.equal((await staged()).length, 1);
    assert.equal(await uploads.sweep(Date.now() + 9 * DAY), 1);
    assert.deepEqual(await staged(), []);
  });

  it('in a store that refuses are refused with its reason', async () => {
    const nowhere = new DirectUploads(createStore({ endpoint: cloud.storeEndpoint, bucket: 'not-there' }));
    await assert.rejects(nowhere.offer(MIB), { name: 'StoreRefused', message: /not-there/ });
  });
});
