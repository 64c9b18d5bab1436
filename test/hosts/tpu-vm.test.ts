import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { memoryHostKeyPins } from '../../cloud/hosts/host-key-record.js';
import type { HostConnection, SshTarget } from '../../cloud/hosts/port.js';
import { HostUnreachable } from '../../cloud/hosts/port.js';
import { createSshHosts } from '../../cloud/hosts/ssh-fleet.js';
import type { Isolation } from '../../rehearsal/vm/isolation.js';
import { detectIsolation } from '../../rehearsal/vm/isolation.js';
import type { Vm } from '../../rehearsal/vm/index.js';
import { startVm } from '../../rehearsal/vm/index.js';
import { NOTICE } from './run.js';
import { takeOctet } from '../../rehearsal/test/subnet-octets.js';
import { never, ourKey } from './session.js';

const SSH_PORT = 24_022;
const { octet } = await takeOctet();
const address = (index: number): string => `127.${octet}.0.${index + 1}`;
const slice = [0, 1].map((index) => ({ hostname: `t1v-n-test-w-${index}`, address: address(index) }));
/** A new node has new host keys. */
let node = 0;
const target = (index: number): SshTarget => ({
  reach: 'ssh',
  uid: `node-${node}`,
  slice: 0,
  index,
  address: address(index),
  user: 'ada',
});

const run = { runId: 'train-a1', epoch: 1, env: {} };

/** 'marks' VMs share the kernel's process list, so there only the marks keep one VM's runs from another's. */
const ways: Isolation[] = detectIsolation() === 'namespaces' ? ['namespaces', 'marks'] : ['marks'];
for (const isolation of ways) {
  describe(`a slice of rehearsed TPU VMs (${isolation})`, () => {
    let folder: string;
    let vms: Vm[];
    let connections: HostConnection[];
    const fleet = createSshHosts({ port: SSH_PORT, hostKeys: memoryHostKeyPins() });

    const boot = (index: number): Promise<Vm> =>
      startVm({
        dir: join(folder, `vm-${index}`),
        address: address(index),
        sshPort: SSH_PORT,
        hostname: slice[index]!.hostname,
        authorizedKeys: `ada:${ourKey.public}`,
        slice,
        isolation,
      });

    beforeEach(async () => {
      node += 1;
      folder = await mkdtemp(join(tmpdir(), 'hosts-vm-'));
      vms = await Promise.all([boot(0), boot(1)]);
      connections = await Promise.all(
        [0, 1].map((index) => fleet.connect(target(index), { privateKey: ourKey.private }, never)),
      );
    });
    afterEach(async () => {
      fleet.release();
      await Promise.all(vms.map((vm) => vm.kill()));
      await rm(folder, { recursive: true, force: true, maxRetries: 5 });
    });

    it('runs a command on every host and stops it on one alone', async () => {
      const script = 'echo "$(hostname) in $HOME"; exec sleep 300';
      await Promise.all(connections.map((connection) => connection.startRun({ ...run, script })));
      const stopped = await connections[0]!.stopRun(run.runId, 500, NOTICE);
      assert.equal(stopped.kind === 'exited' && stopped.signal, 'SIGTERM');
      assert.equal((await connections[1]!.runStatus(run.runId)).kind, 'running');
      let output = '';
      await connections[0]!.followOutput(run.runId, 0, (chunk) => void (output += chunk.toString()), never);
      assert.match(output, isolation === 'namespaces' ? /^t1v-n-test-w-0 in \/.*ada\n/ : /^\S+ in \/.*ada\n/);
      assert.equal((await connections[1]!.stopRun(run.runId, 500, NOTICE)).kind, 'exited');
    });

    it('ends a follower with the run, not with the init of the VM', async () => {
      await connections[0]!.startRun({ ...run, script: 'echo one; sleep 0.1; exit 3' });
      let output = '';
      await connections[0]!.followOutput(run.runId, 0, (chunk) => void (output += chunk.toString()), never);
      assert.equal(output, 'one\n');
      const status = await connections[0]!.runStatus(run.runId);
      assert.equal(status.kind === 'exited' && status.code, 3);
    });

    it('is unreachable when it was preempted, and says lost after the boot that follows, with the output kept', async () => {
      const [connection] = connections;
      await connection!.startRun({ ...run, script: '(setsid sleep 301 &); echo before; exec sleep 300' });
      let output = '';
      const collect = (chunk: Buffer): void => void (output += chunk.toString());
      const killAtOutput = connection!.followOutput(run.runId, 0, () => void vms[0]!.kill(), never);
      await assert.rejects(killAtOutput, HostUnreachable);
      await vms[0]!.kill();
      await assert.rejects(connection!.runStatus(run.runId), HostUnreachable);
      vms[0] = await boot(0);
      // VMs of marks alone have the boot id of this computer.
      const lost = { kind: 'lost', outputBytes: 7, ...(isolation === 'namespaces' && { isRestarted: true }) };
      assert.deepEqual(await connection!.runStatus(run.runId), lost);
      await connection!.followOutput(run.runId, 0, collect, never);
      assert.equal(output, 'before\n');
      assert.equal((await connection!.startRun({ ...run, script: 'echo again' })).kind, 'lost');
      assert.equal((await connection!.stopRun(run.runId, 100, NOTICE)).kind, 'lost');
    });
  });
}
