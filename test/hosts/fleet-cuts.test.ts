import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { memoryHostKeyPins } from '../../cloud/hosts/host-key-pins.js';
import type { CommandEnd, CommandOptions, HostConnection } from '../../cloud/hosts/port.js';
import { HostUnreachable } from '../../cloud/hosts/port.js';
import { createSshHosts } from '../../cloud/hosts/ssh-fleet.js';
import { until } from '../until.js';
import { hasOpenSshd, type OpenSshd, startOpenSshd } from './open-sshd.js';
import { never, ourKey, withHost } from './session.js';
import { startTcpCutter } from './tcp-cutter.js';

const key = { privateKey: ourKey.private };
const quiet: CommandOptions = { onStdout: () => undefined, onStderr: () => undefined, signal: never };

describe('a connection', () => {
  it('that falls silent is a loss after three signs of life without an answer; the next call goes over a new one', () =>
    withHost(async ({ host, another }) => {
      const cutter = await startTcpCutter(host.port);
      const connection = await another({ port: cutter.port, keepaliveMs: 100 });
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

(hasOpenSshd ? describe : describe.skip)("a host with OpenSSH's own server", () => {
  const withSshd = async (
    settings: string,
    work: (connection: HostConnection, sshd: OpenSshd) => Promise<void>,
  ): Promise<void> => {
    const sshd = await startOpenSshd({ authorized: ourKey, address: '127.205.0.1', port: 24_205, settings });
    const fleet = createSshHosts({ port: sshd.port, hostKeys: memoryHostKeyPins() });
    try {
      await work(await fleet.connect(sshd.target, key, never), sshd);
    } finally {
      fleet.release();
      await sshd.stop();
    }
  };

  it('takes commands, files and runs', () =>
    withSshd('', async (connection, { home }) => {
      let out = '';
      const end = await connection.exec('cat; exit 5', {
        ...quiet,
        stdin: Buffer.from('in'),
        onStdout: (chunk) => void (out += chunk.toString()),
      });
      assert.deepEqual([end, out], [{ code: 5 }, 'in']);
      assert.deepEqual(await connection.exec('kill -TERM $$', quiet), { signal: 'SIGTERM' });
      const content = randomBytes(3_000_000);
      assert.equal(await connection.putFile(content, 'data/big', { mode: 0o600, signal: never }), 'done');
      assert.ok(readFileSync(join(home, 'data/big')).equals(content));
      const { size } = await connection.getFile('data/big', () => undefined, { most: content.length, signal: never });
      assert.equal(size, content.length);
      await connection.startRun({ runId: 'train-a1', epoch: 1, script: 'echo hello; exit 3', env: {} });
      let printed = '';
      await connection.followOutput('train-a1', 0, (chunk) => void (printed += chunk.toString()), never);
      const status = await connection.runStatus('train-a1');
      assert.ok(status.kind === 'exited' && status.code === 3, JSON.stringify(status));
      assert.equal(printed, 'hello\n');
    }));

  it('that allows two sessions: a third is refused by name, and costs the others nothing', () =>
    withSshd('MaxSessions 2', async (connection) => {
      const two = [1, 2].map(() => connection.exec('sleep 1; exit 4', quiet));
      await assert.rejects(connection.exec('true', quiet), (error: Error) => {
        assert.ok(error instanceof HostUnreachable);
        assert.match(error.message, /takes no further session: no channel could be opened: .*open failed/);
        return true;
      });
      assert.deepEqual(await Promise.all(two), [{ code: 4 }, { code: 4 }]);
      // The server frees a session some time after it told how the command ended.
      const third = (): Promise<CommandEnd | undefined> => connection.exec('exit 6', quiet).catch(() => undefined);
      assert.deepEqual(await until('a session is free again', third), { code: 6 });
    }));
});
