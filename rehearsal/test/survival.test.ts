import assert from 'node:assert/strict';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Storage } from '@google-cloud/storage';
import { type Rehearsal, startRehearsal } from '../index.js';
import { detectIsolation } from '../vm/isolation.js';
import { PARENT, SSH_PORT, tpuClient } from './cloud-under-test.js';
import type { RehearsalProcess } from './rehearsal-process.js';
import { startRehearsalProcess } from './rehearsal-process.js';
import type { Scratch, UserKey } from './scratch.js';
import { makeUserKey, scratchFolder, SUBNET_OCTET } from './scratch.js';
import { until } from '../../test/until.js';
import { firstOutput } from '../../test/first-output.js';
import type { SshPlace } from './ssh-client.js';
import { ssh, startSsh } from './ssh-client.js';

describe('a rehearsal in a process of its own', function () {
  this.timeout(60_000);
  let scratch: Scratch;
  let key: UserKey;
  let stateDir: string;
  let rehearsal: RehearsalProcess;
  let continued: Rehearsal | undefined;
  let place: SshPlace;

  before(async () => {
    scratch = scratchFolder('process');
    key = makeUserKey(scratch.path);
    stateDir = join(scratch.path, 'state');
    rehearsal = await startRehearsalProcess(stateDir, SSH_PORT);
    place = await makeReadyNode(rehearsal);
  });
  after(async () => {
    if (rehearsal.child.exitCode === null && rehearsal.child.signalCode === null) await rehearsal.end('SIGTERM');
    await continued?.stop();
    scratch.remove();
  });

  async function makeReadyNode(at: RehearsalProcess): Promise<SshPlace> {
    const client = tpuClient(at.endpoints);
    const metadata = { 'ssh-keys': `alice:${key.publicKey}` };
    const node = { acceleratorType: 'v5litepod-16', runtimeVersion: 'v2-alpha-tpuv5-lite', metadata };
    const [operation] = await client.createNode({ parent: PARENT, nodeId: 'survivor', node });
    await operation.promise();
    const [made] = await client.getNode({ name: `${PARENT}/nodes/survivor` });
    await client.close();
    return { address: made.networkEndpoints?.[0]?.ipAddress ?? 'none', port: SSH_PORT, key };
  }

  it('killed with SIGKILL and started again: what ran in the VMs runs on, what was stored is there', async () => {
    const storage = new Storage({ apiEndpoint: rehearsal.endpoints.store, projectId: 'p' });
    await storage.createBucket('kept');
    await storage
      .bucket('kept')
      .file('a')
      .save('stored', { resumable: false, preconditionOpts: { ifGenerationMatch: 0 } });
    const daemon = `setsid -f bash -c 'echo $$ > ~/pid; exec sleep 900' </dev/null >/dev/null 2>&1`;
    assert.equal((await ssh(place, daemon)).code, 0);
    const session = startSsh(place, 'echo $$ > ~/session; echo ready; while :; do sleep 0.05; done');
    await firstOutput(session);
    await rehearsal.end('SIGKILL');
    rehearsal = await startRehearsalProcess(stateDir, SSH_PORT);
    const looked = await ssh(place, 'kill -0 $(cat ~/pid) && ps -o args= -p $(cat ~/pid)');
    assert.equal(looked.stdout, 'sleep 900\n');
    await until('the session that lost its server to be hung up', async () => {
      return (await ssh(place, 'kill -0 $(cat ~/session)')).code === 1;
    });
    const again = new Storage({ apiEndpoint: rehearsal.endpoints.store, projectId: 'p' });
    assert.equal(String((await again.bucket('kept').file('a').download())[0]), 'stored');
    const client = tpuClient(rehearsal.endpoints);
    assert.equal((await client.getNode({ name: `${PARENT}/nodes/survivor` }))[0].state, 'READY');
    await client.close();
  });

  it('a login on a VM, also on one that outlived its rehearsal, is told where Cloud Storage is', async () => {
    const { stdout } = await ssh(place, `bash -lc 'echo "$STORAGE_EMULATOR_HOST"'`);
    assert.equal(stdout, `${rehearsal.endpoints.store}\n`);
  });

  it('a second one on the same state folder is refused', async () => {
    await assert.rejects(
      startRehearsal({ stateDir, sshPort: 2299 }).then((second) => second.stop()),
      new RegExp(`state folder ${stateDir} is in use by the rehearsal with pid ${rehearsal.child.pid}`),
    );
  });

  it('stopped with SIGTERM it leaves no process, and boots the same disks when it is started again', async () => {
    const inits = initsOf(stateDir);
    assert.equal(await rehearsal.end('SIGTERM'), 0);
    if (detectIsolation() === 'namespaces') {
      assert.equal(inits.length, 1, 'of four hosts one was logged in to, so that one has booted');
      assert.deepEqual(inits.filter(isThere), []);
    }
    assert.equal((await ssh(place, 'true')).code, 255);
    continued = await startRehearsal({ stateDir, sshPort: SSH_PORT, subnetOctet: SUBNET_OCTET });
    const fresh = await ssh(place, 'cat ~/pid; ps -e -o args= | grep -c "[s]leep 900"');
    assert.match(fresh.stdout, /^\d+\n0\n$/);
  });

  it('a port that is taken is named, with what to do', async () => {
    const holder = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => holder.once('listening', resolve));
    const { port } = holder.address() as AddressInfo;
    const wanted = (flag: string): RegExp =>
      new RegExp(`port ${port} on 127.0.0.1 is in use by another process; .* choose another with --${flag}-port`);
    for (const part of ['tpu', 'rest', 'store', 'admin']) {
      const start = startRehearsal({ stateDir: join(scratch.path, part), sshPort: 2298, [`${part}Port`]: port });
      await assert.rejects(start, wanted(part));
    }
    holder.close();
  });
});

/** Pids of the VMs' inits, from their boot records. */
function initsOf(stateDir: string): readonly number[] {
  const vms = join(stateDir, 'vms');
  return readdirSync(vms).flatMap((node) =>
    readdirSync(join(vms, node)).flatMap((host) => {
      const record = join(vms, node, host, 'disk/boot.json');
      return existsSync(record) ? [(JSON.parse(readFileSync(record, 'utf8')) as { readonly pid: number }).pid] : [];
    }),
  );
}

function isThere(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
