import assert from 'node:assert/strict';
import { createServer, type AddressInfo } from 'node:net';
import { memoryHostKeyPins } from '../../cloud/hosts/host-key-record.js';
import type { CommandOptions } from '../../cloud/hosts/port.js';
import { HostUnreachable } from '../../cloud/hosts/port.js';
import { createSshHosts } from '../../cloud/hosts/ssh-fleet.js';
import { slowness, until } from '../until.js';
import { never, ourKey, withHost } from './session.js';
import { startTcpCutter } from './tcp-cutter.js';

const key = { privateKey: ourKey.private };
const quiet: CommandOptions = { onStdout: () => undefined, onStderr: () => undefined, signal: never };

describe('a connection', () => {
  it('that falls silent is a loss after three signs of life without an answer; the next call goes over a new one', () =>
    withHost(async ({ host, another }) => {
      const cutter = await startTcpCutter(host.port);
      const connection = await another({ port: cutter.port, keepaliveMs: 100 * slowness() });
      const sleeping = connection.exec('sleep 60', quiet);
      await connection.runStatus('train-a1');
      cutter.silence();
      await assert.rejects(sleeping, HostUnreachable);
      assert.deepEqual(await connection.runStatus('train-a1'), { kind: 'absent' });
      await Promise.all([1, 2, 3].map(() => connection.runStatus('train-a1')));
      assert.equal(cutter.connections(), 2);
      await cutter.close();
    }));

  it('is made again once, however many wait for it, and calls under way at the cut all end', () =>
    withHost(async ({ host, another }) => {
      const cutter = await startTcpCutter(host.port);
      const connection = await another({ port: cutter.port });
      const underWay = [1, 2, 3, 4].map(() => connection.exec('sleep 60', quiet));
      const ends = Promise.allSettled(underWay);
      await connection.runStatus('train-a1');
      cutter.cut();
      const reasons = (await ends).map((end) => (end.status === 'rejected' ? (end.reason as unknown) : end.value));
      assert.ok(
        reasons.every((reason) => reason instanceof HostUnreachable),
        String(reasons),
      );
      const after = await Promise.all(Array.from({ length: 12 }, () => connection.runStatus('train-a1')));
      assert.ok(after.every(({ kind }) => kind === 'absent'));
      assert.equal(cutter.connections(), 2);
      await cutter.close();
    }));

  it('that waits for its turn is given up at once when its signal says so', () =>
    withHost(async ({ connection }) => {
      const stop = new AbortController();
      const busy = Array.from({ length: 5 }, () => connection.exec('sleep 60', { ...quiet, signal: stop.signal }));
      const ended = Promise.allSettled(busy);
      const cancel = new AbortController();
      const waiting = connection.exec('true', { ...quiet, signal: cancel.signal });
      cancel.abort(new Error('the job was cancelled'));
      await assert.rejects(waiting, { message: 'the job was cancelled' });
      stop.abort(new Error('over'));
      assert.ok((await ended).every(({ status }) => status === 'rejected'));
    }));

  it('is not made to more hosts at a time than the fleet is told', async () => {
    let open = 0;
    let most = 0;
    const silent = createServer((socket) => {
      most = Math.max(most, (open += 1));
      socket
        .resume()
        .on('error', () => undefined)
        .on('close', () => (open -= 1));
    }).listen(0, '127.0.0.1');
    await new Promise((resolve) => silent.once('listening', resolve));
    const { port } = silent.address() as AddressInfo;
    const fleet = createSshHosts({ port, hostKeys: memoryHostKeyPins(), connectTimeoutMs: 100, maxConnecting: 3 });
    const targets = Array.from({ length: 9 }, (_, index) => ({
      reach: 'ssh' as const,
      uid: '1',
      slice: 0,
      index,
      address: '127.0.0.1',
      user: 'bob',
    }));
    const ends = await Promise.allSettled(targets.map((target) => fleet.connect(target, key, never)));
    assert.ok(ends.every(({ status }) => status === 'rejected'));
    await until('all sockets are closed', () => open === 0, 5_000);
    // The server hears of an end a little later than the fleet, which has begun the next by then.
    assert.ok(most >= 2 && most < 6, `${most} at a time`);
    silent.close();
  });

  it('serves many commands with one signal, and Node warns of no leak', () =>
    withHost(async ({ connection }) => {
      const warnings: Error[] = [];
      const note = (warning: Error): void => void warnings.push(warning);
      process.on('warning', note);
      const { signal } = new AbortController();
      await Promise.all(Array.from({ length: 30 }, () => connection.exec('true', { ...quiet, signal })));
      await new Promise((resolve) => setImmediate(resolve));
      process.off('warning', note);
      assert.deepEqual(warnings, []);
    }));
});
