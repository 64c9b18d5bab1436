import assert from 'node:assert/strict';
import { join } from 'node:path';
import { type Rehearsal, startRehearsal } from '../index.js';
import { parseMachine } from '../machines.js';
import { makeUserKey, scratchFolder, SUBNET_OCTET } from './scratch.js';
import { ssh, type SshResult } from './ssh-client.js';

describe("machines of the user's own", function () {
  this.timeout(60_000);
  const scratch = scratchFolder('machines');
  const key = makeUserKey(scratch.path);
  let rehearsal: Rehearsal;
  const names = ['one', 'two'];

  const start = async (): Promise<void> => {
    const machines = names.map((name, at) => ({ name, user: 'me', address: `127.${SUBNET_OCTET}.${at + 1}.255` }));
    const place = { stateDir: join(scratch.path, 'state'), subnetOctet: SUBNET_OCTET, sshPort: 2222 };
    rehearsal = await startRehearsal({ ...place, machines, machineKey: `${key.publicKey}\n` });
  };
  const run = (at: number, command: string, user = 'me'): Promise<SshResult> =>
    ssh({ address: `127.${SUBNET_OCTET}.${at + 1}.255`, port: rehearsal.endpoints.sshPort, key, user }, command);
  before(start);
  after(async () => {
    await rehearsal.stop();
    scratch.remove();
  });

  it('let in one login with one key, each with a home of its own, and no API knows them', async () => {
    assert.deepEqual(await run(0, 'hostname; id -un; echo first > kept'), { code: 0, stdout: 'one\nme\n', stderr: '' });
    assert.equal((await run(1, 'hostname; ls')).stdout, 'two\n');
    assert.notEqual((await run(0, 'true', 'other')).code, 0);
    const status = await (await fetch(`${rehearsal.endpoints.admin}/admin/status`)).json();
    const { nodes, vms } = status as { readonly nodes: unknown; readonly vms: unknown };
    assert.deepEqual([nodes, vms], [[], []]);
  });

  it('keep their disks over a restart, and lose them with their name', async () => {
    await rehearsal.stop();
    await start();
    assert.equal((await run(0, 'cat kept')).stdout, 'first\n');
    await rehearsal.stop();
    names.length = 0;
    await start();
    await rehearsal.stop();
    names.push('one');
    await start();
    assert.equal((await run(0, 'ls')).stdout, '');
  });

  it('are written NAME=USER@ADDRESS, at an address that no VM is given', () => {
    assert.deepEqual(parseMachine('a-1=me@127.77.1.255'), { name: 'a-1', user: 'me', address: '127.77.1.255' });
    for (const text of ['a@127.77.1.255', 'a=me@127.77.1.1', 'a=me@10.0.0.255', 'A=me@127.77.1.255', ''])
      assert.equal(parseMachine(text), undefined, text);
  });
});
