import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { connect, type Socket } from 'node:net';
import { Readable } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { fileObject } from '../../domain/store-layout.js';
import { paced, UploadShares } from '../../server/shares.js';
import { until } from '../until.js';
import { GatedApp } from './gated-app.js';

const MIB = 1024 * 1024;
const hashOf = (content: Buffer): string => createHash('sha256').update(content).digest('hex');

describe('files through the server', function () {
  this.timeout(60_000);
  let app: GatedApp;
  before(async () => (app = await GatedApp.start({ limits: { uploadBytesPerDay: 40 * MIB } })));
  after(() => app?.stop());

  async function put(name: string, content: Buffer, sha256 = hashOf(content)) {
    const token = await app.issuer.token({ email: `${name}@example.org` });
    return fetch(`${app.urls[0]}/v1/uploads/content?path=f&sha256=${sha256}`, {
      method: 'PUT',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/octet-stream' },
      body: new Uint8Array(content),
    });
  }

  it('are stored as they come, under the name of their content and of no other', async () => {
    for (const size of [0, 5, MIB, 17 * MIB + 3]) {
      const content = randomBytes(size);
      assert.equal((await put('alice', content)).status, 204, String(size));
      assert.ok(content.equals((await app.store.read(fileObject(hashOf(content)))) ?? Buffer.of(1)), String(size));
    }
    const wrong = await put('alice', randomBytes(MIB), hashOf(Buffer.of(7)));
    assert.equal(wrong.status, 422);
    assert.equal(await app.store.stat(fileObject(hashOf(Buffer.of(7)))), undefined);
  });

  it('that stop on the way hold two places of their sender, little memory, and nobody else', async () => {
    const token = await app.issuer.token({ email: 'mallory@example.org' });
    const { port } = new URL(app.urls[0] ?? '');
    const begun: Socket[] = [];
    const before = process.memoryUsage().arrayBuffers;
    for (let at = 0; at < 12; at++) {
      const socket = connect(Number(port), '127.0.0.1');
      begun.push(socket.on('error', () => undefined));
      const head = [
        `PUT /v1/uploads/content?path=f&sha256=${hashOf(Buffer.of(at))} HTTP/1.1`,
        `Host: 127.0.0.1:${port}`,
        `Authorization: Bearer ${token}`,
        'Content-Type: application/octet-stream',
        `Content-Length: ${18 * MIB}`,
      ];
      socket.write(`${head.join('\r\n')}\r\n\r\n`);
      socket.write(Buffer.alloc(17 * MIB));
    }
    await until(
      'they have sent what the server takes',
      async () => begun.some(({ bytesWritten }) => bytesWritten > 12 * MIB) || undefined,
    );
    assert.equal((await put('alice', randomBytes(2 * MIB))).status, 204);
    // Two of 8 MiB each for two files, and what sockets hold; all in memory they were 200 MiB. The client's own buffers count here too.
    const held =
      process.memoryUsage().arrayBuffers - before - begun.reduce((sum, each) => sum + each.writableLength, 0);
    assert.ok(held < 100 * MIB, `${Math.round(held / MIB)} MiB`);
    for (const socket of begun) socket.destroy();
  });

  it('have a most of bytes in a day for each subject', async () => {
    assert.equal((await put('bob', randomBytes(30 * MIB))).status, 204);
    const more = await put('bob', randomBytes(11 * MIB));
    assert.equal(more.status, 429);
    assert.match(await more.text(), /bytes within a day/);
    const [wait, day] = [Number(more.headers.get('retry-after')), 86_400];
    assert.ok(wait > day - 120 && wait <= day, String(wait));
    assert.equal((await put('carol', randomBytes(MIB))).status, 204);
  });

  it('are looked for a few at a time of each subject, in however many calls, and so many within a minute', async () => {
    const shares = new UploadShares(MIB);
    const [looking, most] = [new Map<string, number>(), new Map<string, number>()];
    const looks = (who: string, count: number) =>
      Array.from({ length: count }, () => async () => {
        const now = (looking.get(who) ?? 0) + 1;
        looking.set(who, now);
        most.set(who, Math.max(now, most.get(who) ?? 0));
        await nextTurn();
        looking.set(who, (looking.get(who) ?? 1) - 1);
      });
    const calls = ['mallory', 'mallory', 'alice', 'mallory'].map((who) => shares.look(who, looks(who, 1_000)));
    await Promise.all(calls);
    assert.deepEqual(Object.fromEntries(most), { mallory: 16, alice: 16 });
    await shares.look('mallory', looks('mallory', 1_000));
    assert.throws(
      () => shares.look('mallory', looks('mallory', 1)),
      (error: Error & { readonly retryAfter?: number }) =>
        /mallory has asked for 4000 files within a minute/.test(error.message) && (error.retryAfter ?? 99) <= 60,
    );
    await shares.look('alice', looks('alice', 1_000));
  });

  it('have a least rate, in which the time of the store does not count', async () => {
    const rate = { bytes: 1_000, everyMs: 10, graceMs: 50 };
    const slow = new Readable({ read: () => undefined });
    slow.push(Buffer.alloc(10));
    await assert.rejects(async () => {
      for await (const piece of paced(slow, rate)) assert.equal(piece.length, 10);
    }, /comes at less than 1000 bytes in 10 ms/);
    const pieces: number[] = [];
    for await (const piece of paced(Readable.from([Buffer.alloc(5), Buffer.alloc(6)]), { ...rate, graceMs: 1_000 })) {
      await new Promise((resolve) => setTimeout(resolve, 1_200));
      pieces.push(piece.length);
    }
    assert.deepEqual(pieces, [5, 6]);
  });

  it('of one subject wait for their turn, and are refused beyond that', async () => {
    const shares = new UploadShares(MIB);
    let [running, most] = [0, 0];
    const ends: (() => void)[] = [];
    const work = async (): Promise<void> => {
      most = Math.max(most, (running += 1));
      await new Promise<void>((resolve) => ends.push(resolve));
      running -= 1;
    };
    const all = Array.from({ length: 16 }, () => shares.turn('mallory', work));
    await assert.rejects(shares.turn('mallory', work), /sends 16 files already/);
    const other = shares.turn('alice', work);
    await until('she has her turn', async () => ends.length === 3 || undefined);
    for (let ended = 0; ended < 17; ended++) (await until('one runs', async () => ends.shift()))();
    await Promise.all([...all, other]);
    assert.equal(most, 3);
  });
});
