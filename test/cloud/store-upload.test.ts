import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { OAuth2Client } from 'google-auth-library';
import { createStore, ensureBucket } from '../../cloud/store/gcs.js';
import type { StorePort } from '../../cloud/store/port.js';
import { type SendUpload, uploadInChunks, uploadSender } from '../../cloud/store/resumable-upload.js';
import type { FileSource } from '../../domain/local-files.js';
import { startTcpCutter, type TcpCutter } from '../hosts/tcp-cutter.js';
import { startRehearsedCloud, type RehearsedCloud } from './rehearsed-cloud.js';

const MIB = 1024 * 1024;

/** In pieces of an odd size. @param actual what reading gives, where that is another content */
function sourceOf(size: number, actual?: Buffer): FileSource & { readonly content: Buffer; reads: number } {
  const content = randomBytes(size);
  const source = {
    ...{ content, size, reads: 0, sha256: createHash('sha256').update(content).digest('hex') },
    async *read(start: number) {
      source.reads += 1;
      const bytes = actual ?? content;
      for (let at = start; at < bytes.length; at += 99_999) yield bytes.subarray(at, at + 99_999);
    },
  };
  return source;
}

const gone = (): AsyncIterable<Buffer> => createReadStream('/nowhere/at/all') as AsyncIterable<Buffer>;

describe('an upload', () => {
  let cloud: RehearsedCloud;
  let cutter: TcpCutter;
  let store: StorePort;
  before(async () => {
    cloud = await startRehearsedCloud();
    cutter = await startTcpCutter(Number(new URL(cloud.storeEndpoint).port));
    await ensureBucket({ endpoint: cloud.storeEndpoint, bucket: 'uploads', projectId: 'p' });
    store = createStore({ endpoint: `http://127.0.0.1:${cutter.port}`, bucket: 'uploads' });
  });
  afterEach(async () => {
    cutter.cutAfter(undefined);
    await cloud.takeBack('fail');
  });
  after(async () => {
    await cutter.close();
    await cloud.stop();
  });

  const failNext = (code: string, more: object = {}): Promise<void> =>
    cloud.admin('fail', { method: 'objects.insert.resume', code, times: 1, ...more });
  const arrived = async (name: string, { content }: { readonly content: Buffer }): Promise<void> =>
    assert.ok(content.equals((await store.read(name)) ?? Buffer.of(1)), name);

  it('brings every byte of every size, and sends nothing of what is there', async () => {
    for (const size of [0, 1, MIB, MIB + 1, 8 * MIB, 16 * MIB + 7]) {
      const source = sourceOf(size);
      assert.equal(await store.upload(`size ${size}`, source), 'uploaded');
      await arrived(`size ${size}`, source);
      source.reads = 0;
      assert.equal(await store.upload(`size ${size}`, source), 'exists');
      assert.equal(source.reads, 0);
    }
  });

  it('goes on where it was after each cut, and reads no byte twice', async () => {
    const source = sourceOf(9 * MIB + 5);
    const before = cutter.connections();
    cutter.cutAfter(3 * MIB);
    assert.equal(await store.upload('cut', source), 'uploaded');
    assert.ok(cutter.connections() - before >= 3, 'it was never cut');
    assert.equal(source.reads, 1);
    await arrived('cut', source);
  });

  it('of a source that changed meanwhile leaves no object', async () => {
    const same = sourceOf(9 * MIB);
    const other = Buffer.from(same.content);
    other[8_500_000]! ^= 1;
    const cases: Record<string, [FileSource, RegExp]> = {
      'other bytes': [sourceOf(9 * MIB, other), /^changed while it was uploaded: its bytes are others now$/],
      'fewer bytes': [sourceOf(2 * MIB, same.content.subarray(1, 2 * MIB)), /fewer bytes/],
      'no bytes': [sourceOf(2 * MIB, Buffer.alloc(0)), /fewer bytes/],
      'more bytes': [sourceOf(9 * MIB, Buffer.concat([same.content, Buffer.alloc(1)])), /more bytes/],
      'it is gone': [{ ...sourceOf(2 * MIB), read: gone }, /it cannot be read any more: ENOENT/],
      'a small one': [sourceOf(100, Buffer.alloc(100, 1)), /its bytes are others now/],
    };
    for (const [name, [source, message]] of Object.entries(cases)) {
      await assert.rejects(store.upload(name, source), { name: 'SourceChanged', message });
      assert.equal(await store.stat(name), undefined, name);
    }
  });

  it('whose answer was lost has its object', async () => {
    const source = sourceOf(2 * MIB);
    await failNext('UNAVAILABLE', { afterEffect: true });
    assert.equal(await store.upload('lost answer', source), 'uploaded');
    await arrived('lost answer', source);
  });

  it('that the store forgot begins again', async () => {
    const source = sourceOf(9 * MIB);
    await failNext('NOT_FOUND');
    assert.equal(await store.upload('forgotten', source), 'uploaded');
    assert.equal(source.reads, 2);
    await arrived('forgotten', source);
  });

  it('that is refused is refused at once, with the reason', async () => {
    await failNext('PERMISSION_DENIED', { message: 'alice may not' });
    await assert.rejects(store.upload('refused', sourceOf(2 * MIB)), {
      name: 'StoreRefused',
      message: /gs:\/\/uploads\/refused.*/,
    });
    assert.equal(await store.stat('refused'), undefined);
    const nowhere = createStore({ endpoint: cloud.storeEndpoint, bucket: 'not-there' });
    await assert.rejects(nowhere.upload('a', sourceOf(2 * MIB)), { name: 'StoreRefused', message: /not-there/ });
  });

  it('of a large object at once that is refused is answered, though nobody wanted the rest of it', async () => {
    await cloud.admin('refuse', { method: 'objects.insert', code: 7, message: 'no right', times: 1 });
    // More than the sockets between hold: whoever does not read it keeps the client from its answer.
    await assert.rejects(store.write('large', randomBytes(3 * MIB), 'absent'), {
      name: 'StoreRefused',
      message: /no right/,
    });
  });

  it('beside another of the same name is made once', async () => {
    const source = sourceOf(9 * MIB);
    const ends = await Promise.all([store.upload('both', source), store.upload('both', source)]);
    assert.deepEqual(ends.toSorted(), ['exists', 'uploaded']);
    await arrived('both', source);
  });
});

describe('an upload to a store that takes nothing', () => {
  const timing = { requestMs: 200, stallMs: 600, pauseMs: 20 };
  let server: Server;
  const open = new Set<Socket>();
  const answering = async (answer: (socket: Socket) => void): Promise<string> => {
    server = createServer((socket) => {
      open.add(socket);
      socket.on('error', () => undefined).on('data', () => answer(socket));
    }).listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  };
  afterEach(async () => {
    open.forEach((socket) => socket.destroy());
    await new Promise((resolve) => server.close(resolve));
  });

  it('and never answers is given up', async () => {
    const url = await answering(() => undefined);
    const wish = { url, source: sourceOf(2 * MIB), send: uploadSender(undefined), timing };
    await assert.rejects(uploadInChunks(wish), /nothing more was stored for 0.6 s/);
  });
  it('and whose login is never given is given up', async () => {
    const url = await answering(() => undefined);
    const login = new OAuth2Client({ clientId: 'a', clientSecret: 'b', endpoints: { oauth2TokenUrl: `${url}/token` } });
    login.setCredentials({ refresh_token: 'c' });
    const wish = { url, source: sourceOf(2 * MIB), send: uploadSender(login), timing };
    await assert.rejects(uploadInChunks(wish), ({ cause }: Error) => /no answer in 0.2 s/.test(String(cause)));
  });
  it('and is always busy is given up, with its words', async () => {
    const busy = 'HTTP/1.1 503 Busy\r\ncontent-length: 4\r\nconnection: close\r\n\r\nbusy';
    const url = await answering((socket) => void socket.end(busy));
    const wish = { url, source: sourceOf(2 * MIB), send: uploadSender(undefined), timing };
    await assert.rejects(uploadInChunks(wish), ({ cause }: Error) => /busy/.test(String(cause)));
  });
  it('and begins it and stores nothing is given up', async () => {
    const send: SendUpload = async ({ method, url }) =>
      method === 'POST' ? { status: 200, location: `${url}/session`, text: '' } : { status: 308, text: '' };
    const wish = { url: 'http://store', source: sourceOf(2 * MIB), send, timing };
    await assert.rejects(uploadInChunks(wish), /nothing more was stored/);
  });
});
