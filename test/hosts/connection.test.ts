import assert from 'node:assert/strict';
import { memoryHostKeyPins, fingerprintOfLine } from '../../cloud/hosts/host-key-record.js';
import type { HostConnection } from '../../cloud/hosts/port.js';
import { HostKeyMismatch, HostUnreachable } from '../../cloud/hosts/port.js';
import { createSshHosts } from '../../cloud/hosts/ssh-fleet.js';
import { never, ourKey, withHost } from './session.js';
import { makeKeyPair, startTestHost } from './ssh-host.js';

const key = { privateKey: ourKey.private };

describe('the SSH fleet', () => {
  it('keeps one connection per host for all who ask and all steps', () =>
    withHost(async ({ host }) => {
      const before = host.connections();
      const fleet = createSshHosts({ port: host.port, hostKeys: memoryHostKeyPins() });
      const all = await Promise.all(Array.from({ length: 10 }, () => fleet.connect(host.target, key, never)));
      await Promise.all(all.map((connection, index) => connection.runStatus(`train-a${index}`)));
      all[0]!.close();
      await all[1]!.runStatus('train-a1');
      assert.equal(host.connections() - before, 1);
      fleet.release([host.target]);
    }));

  it('keeps the connection when the last holder closes it, until it was idle for long', () =>
    withHost(async ({ host }) => {
      const before = host.connections();
      const fleet = createSshHosts({ port: host.port, hostKeys: memoryHostKeyPins() });
      for (let step = 0; step < 3; step += 1) {
        const connection = await fleet.connect(host.target, key, never);
        await connection.runStatus('train-a1');
        connection.close();
      }
      assert.equal(host.connections() - before, 1);
      fleet.release();
    }));

  it('connects again when the connection was lost', () =>
    withHost(async ({ host, connection }) => {
      await connection.runStatus('train-a1');
      host.cut();
      // The loss may be noticed by the next call only, which then fails: the one after it must not.
      await connection.runStatus('train-a1').catch((error: unknown) => assert.ok(error instanceof HostUnreachable));
      assert.deepEqual(await connection.runStatus('train-a1'), { kind: 'absent' });
      assert.equal(host.connections(), 2);
    }));

  it('says unreachable, not a result, when the connection ends under a command', () =>
    withHost(async ({ host, connection }) => {
      await connection.startRun({ runId: 'train-a1', epoch: 1, script: 'echo up; exec sleep 60', env: {} });
      const followed = connection.followOutput('train-a1', 0, () => host.cut(), never);
      await assert.rejects(followed, {
        name: 'HostUnreachable',
        message: `host 2 of slice 0 (127.0.0.1 port ${host.port}, user bob) was lost: the connection ended before the command did`,
      });
    }));

  it('names a machine that no slice holds by its name in the pool file', () =>
    withHost(async ({ host }) => {
      const fleet = createSshHosts({ port: host.port, hostKeys: memoryHostKeyPins() });
      const target = { ...host.target, own: { name: 'rack-1', port: host.port, lastingUid: 'lab/rack-1' } };
      await assert.rejects(fleet.connect(target, { privateKey: makeKeyPair().private }, never), {
        message: new RegExp(
          `^machine rack-1 \\(127.0.0.1 port ${host.port}, user bob\\) cannot be reached: it refused the key`,
        ),
      });
    }));

  it('names the key, the user and what to look at when the host refuses the login', () =>
    withHost(async ({ host }) => {
      const fleet = createSshHosts({ port: host.port, hostKeys: memoryHostKeyPins() });
      const stranger = { privateKey: makeKeyPair().private };
      await assert.rejects(fleet.connect(host.target, stranger, never), (error: Error) => {
        assert.ok(error instanceof HostUnreachable);
        assert.match(
          error.message,
          /^host 2 of slice 0 \(127\.0\.0\.1 port \d+, user bob\) cannot be reached: it refused the key SHA256:\S{43} for user bob; look whether the node's metadata 'ssh-keys' has this key for this user$/,
        );
        assert.ok(!error.message.includes(stranger.privateKey.split('\n')[1]!));
        return true;
      });
    }));

  it('says refused where nobody listens, and connects once somebody does', async () => {
    const gone = await startTestHost({ authorized: ourKey });
    await gone.stop();
    const fleet = createSshHosts({ port: gone.port, hostKeys: memoryHostKeyPins() });
    await assert.rejects(fleet.connect(gone.target, key, never), {
      name: 'HostUnreachable',
      message: `host 2 of slice 0 (127.0.0.1 port ${gone.port}, user bob) cannot be reached: connection refused (ECONNREFUSED); the host may still be starting`,
    });
    const host = await startTestHost({ authorized: ourKey, port: gone.port });
    const connection = await fleet.connect(host.target, key, never);
    assert.deepEqual(await connection.runStatus('train-a1'), { kind: 'absent' });
    fleet.release();
    await host.stop();
  });

  it('gives up on a host that accepts and says nothing', async () => {
    const { createServer } = await import('node:net');
    const silent = createServer(() => undefined).listen(0, '127.0.0.1');
    await new Promise((resolve) => silent.once('listening', resolve));
    const { port } = silent.address() as { port: number };
    const fleet = createSshHosts({ port, hostKeys: memoryHostKeyPins(), connectTimeoutMs: 200 });
    const target = { reach: 'ssh' as const, uid: '1', slice: 1, index: 3, address: '127.0.0.1', user: 'bob' };
    await assert.rejects(fleet.connect(target, key, never), {
      name: 'HostUnreachable',
      message: `host 3 of slice 1 (127.0.0.1 port ${port}, user bob) cannot be reached: no SSH answer within 200 ms`,
    });
    silent.close();
  });

  it('stops waiting for a connection when it is told to', async () => {
    const { createServer } = await import('node:net');
    const silent = createServer(() => undefined).listen(0, '127.0.0.1');
    await new Promise((resolve) => silent.once('listening', resolve));
    const { port } = silent.address() as { port: number };
    const fleet = createSshHosts({ port, hostKeys: memoryHostKeyPins(), connectTimeoutMs: 15_000 });
    const target = { reach: 'ssh' as const, uid: '1', slice: 1, index: 3, address: '127.0.0.1', user: 'bob' };
    const cancel = new AbortController();
    const connecting = fleet.connect(target, key, cancel.signal);
    cancel.abort(new Error('the job was cancelled'));
    await assert.rejects(connecting, { message: 'the job was cancelled' });
    fleet.release();
    silent.close();
  });

  it('says what is wrong with a private key, without showing it', () =>
    withHost(async ({ host }) => {
      const fleet = createSshHosts({ port: host.port, hostKeys: memoryHostKeyPins() });
      const bad = { privateKey: '-----BEGIN OPENSSH PRIVATE KEY-----\ns3cret\n' };
      await assert.rejects(fleet.connect(host.target, bad, never), (error: Error) => {
        assert.match(
          error.message,
          /^SSH private key: it is no private key that can be read; give an OpenSSH or PEM private key without a passphrase$/,
        );
        assert.ok(!error.message.includes('s3cret'));
        return true;
      });
    }));
});

describe('host keys', () => {
  it('are pinned at the first use of a node and refused when they change, naming both', async () => {
    const pins = memoryHostKeyPins();
    const first = await startTestHost({ authorized: ourKey });
    const before = createSshHosts({ port: first.port, hostKeys: pins });
    await before.connect(first.target, key, never);
    const pinned = fingerprintOfLine((await pins.expected(first.target))?.publicKeys[0] ?? '');
    before.release();
    await first.stop();
    const second = await startTestHost({ authorized: ourKey });
    const after = createSshHosts({ port: second.port, hostKeys: pins });
    try {
      await assert.rejects(after.connect(second.target, key, never), (error: Error) => {
        assert.ok(error instanceof HostKeyMismatch);
        assert.ok(error.message.includes(`node 4711 was seen with ${pinned}`), error.message);
        assert.match(error.message, /its host key is SHA256:\S{43}, but/);
        return true;
      });
      // The address of a node that is gone went to another one: nothing wrong with that.
      const other: HostConnection = await after.connect({ ...second.target, uid: '4712' }, key, never);
      assert.deepEqual(await other.runStatus('train-a1'), { kind: 'absent' });
    } finally {
      after.release();
      await second.stop();
    }
  });

  it('are not pinned by a host that refused the login', () =>
    withHost(async ({ host }) => {
      const pins = memoryHostKeyPins();
      const fleet = createSshHosts({ port: host.port, hostKeys: pins });
      await assert.rejects(fleet.connect(host.target, { privateKey: makeKeyPair().private }, never), HostUnreachable);
      assert.equal(await pins.expected(host.target), undefined);
    }));
});
