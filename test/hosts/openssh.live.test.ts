import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { memoryHostKeyPins } from '../../cloud/hosts/host-key-record.js';
import { type CommandEnd, type CommandOptions, type HostConnection, HostUnreachable } from '../../cloud/hosts/port.js';
import { createSshHosts } from '../../cloud/hosts/ssh-fleet.js';
import { until } from '../until.js';
import { type OpenSshd, startOpenSshd } from './open-sshd.js';
import { takeOctet } from '../../rehearsal/test/subnet-octets.js';
import { never, ourKey, withHost } from './session.js';
import { manyAreTaken } from './slow-reader.js';

const key = { privateKey: ourKey.private };
const quiet: CommandOptions = { onStdout: () => undefined, onStderr: () => undefined, signal: never };

const { octet } = await takeOctet();

describe("OpenSSH's own server", () => {
  it('takes OpenSSH through a jump host for a proxy command', () =>
    withHost(async ({ host, another }) => {
      const jump = await startOpenSshd({ authorized: ourKey, address: `127.${octet}.0.3`, port: 24_207 });
      const keyFile = join(host.home, 'id');
      writeFileSync(keyFile, ourKey.private, { mode: 0o600 });
      const options = '-F none -o BatchMode=yes -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null';
      const connection = await another({
        proxyCommand: `ssh ${options} -i ${keyFile} -p ${jump.port} -W %h:%p ${jump.user}@${jump.address}`,
      });
      assert.deepEqual(await connection.runStatus('train-a1'), { kind: 'absent' });
      await jump.stop();
      await assert.rejects(
        another({ proxyCommand: `ssh ${options} -p ${jump.port} -W %h:%p ${jump.user}@${jump.address}` }),
        /ProxyCommand 'ssh .*' ended with code 255: .*Connection refused/,
      );
    }));

  it('refuses a login: the user that OS Login knows is tried; else the error says both', async () => {
    const sshd = await startOpenSshd({ authorized: ourKey, address: `127.${octet}.0.2`, port: 24_206 });
    const stranger = { ...sshd.target, user: 'nobody-here' };
    const fleetWith = (otherUserOf: () => Promise<string | undefined>) =>
      createSshHosts({ port: sshd.port, hostKeys: memoryHostKeyPins(), otherUserOf });
    const known = fleetWith(async () => sshd.user);
    const connection = await known.connect(stranger, key, never);
    assert.deepEqual(await connection.runStatus('train-a1'), { kind: 'absent' });
    known.release();
    const failing = fleetWith(() => Promise.reject(new Error('OS Login is on (here)')));
    await assert.rejects(failing.connect(stranger, key, never), (error: Error) => {
      assert.ok(error instanceof HostUnreachable);
      assert.match(
        error.message,
        /it refused the key SHA256:\S{43} for user nobody-here; .*; OS Login is on \(here\)$/,
      );
      return true;
    });
    await assert.rejects(fleetWith(async () => undefined).connect(stranger, key, never), /for user nobody-here/);
    await sshd.stop();
  });

  it('gives all that a command writes before its end, however slowly it is taken', async () => {
    const sshd = await startOpenSshd({ authorized: ourKey, address: `127.${octet}.0.4`, port: 24_208 });
    const fleet = createSshHosts({ port: sshd.port, hostKeys: memoryHostKeyPins() });
    try {
      await manyAreTaken(await fleet.connect(sshd.target, key, never));
    } finally {
      fleet.release();
      await sshd.stop();
    }
  });
});

describe("a host with OpenSSH's own server", () => {
  const withSshd = async (
    settings: string,
    work: (connection: HostConnection, sshd: OpenSshd) => Promise<void>,
  ): Promise<void> => {
    const sshd = await startOpenSshd({ authorized: ourKey, address: `127.${octet}.0.1`, port: 24_205, settings });
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
