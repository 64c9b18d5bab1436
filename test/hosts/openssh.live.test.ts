import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { memoryHostKeyPins } from '../../cloud/hosts/host-key-pins.js';
import { HostUnreachable } from '../../cloud/hosts/port.js';
import { createSshHosts } from '../../cloud/hosts/ssh-fleet.js';
import { startOpenSshd } from './open-sshd.js';
import { never, ourKey, withHost } from './session.js';
import { manyAreTaken } from './slow-reader.js';

const key = { privateKey: ourKey.private };

describe("OpenSSH's own server", () => {
  it('takes OpenSSH through a jump host for a proxy command', () =>
    withHost(async ({ host, another }) => {
      const jump = await startOpenSshd({ authorized: ourKey, address: '127.205.0.3', port: 24_207 });
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
    const sshd = await startOpenSshd({ authorized: ourKey, address: '127.205.0.2', port: 24_206 });
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
    const sshd = await startOpenSshd({ authorized: ourKey, address: '127.205.0.4', port: 24_208 });
    const fleet = createSshHosts({ port: sshd.port, hostKeys: memoryHostKeyPins() });
    try {
      await manyAreTaken(await fleet.connect(sshd.target, key, never));
    } finally {
      fleet.release();
      await sshd.stop();
    }
  });
});
