import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { memoryHostKeyPins } from '../../cloud/hosts/host-key-record.js';
import type { HostConnection, HostsPort, RunRequest } from '../../cloud/hosts/port.js';
import { createSshHosts } from '../../cloud/hosts/ssh-fleet.js';
import { takeStacks } from '../../cloud/hosts/stacks/take-stacks.js';
import { needsConfinement } from '../../rehearsal/test/needs-confinement.js';
import { VmWithTools } from '../../rehearsal/test/vm-tools.js';
import { ended, NOTICE, outputOf, request } from './run.js';
import { never } from './session.js';
import { until } from '../until.js';

/** The rehearsal's docker is a stand-in: a container there is a process of the VM, without PIDs of its own. */
describe('a container on a rehearsed TPU VM', function () {
  this.timeout(60_000);
  const vm = new VmWithTools();
  let fleet: HostsPort;
  let connection: HostConnection;
  before(async function () {
    needsConfinement(this);
    await vm.start();
    const { address, port, key, user = 'alice' } = await vm.cloud.place('tools');
    fleet = createSshHosts({ port, hostKeys: memoryHostKeyPins() });
    const privateKey = readFileSync(key.privateFile, 'utf8');
    connection = await fleet.connect(
      { reach: 'ssh', uid: 'tools', slice: 0, index: 0, address, user },
      { privateKey },
      never,
    );
  });
  after(async () => {
    fleet?.release();
    await vm.stop();
  });

  const inside = (script: string, more: Partial<RunRequest> = {}): RunRequest =>
    request(script, {
      ...more,
      container: { image: 'some/image:1', flags: ['--privileged'], mounts: ['/dev'], env: { ODD: `it's "$HOME" #1` } },
    });

  it('has its environment, prints to the run’s output, and its code is the run’s', async () => {
    const output = await outputOf(
      connection,
      '',
      inside('printf "%s\\n" "$ODD" "$MORE"; exit 7', { env: { MORE: ' m' } }),
    );
    assert.match(output, /^it's "\$HOME" #1\n m\n$/m);
    assert.equal((await ended(connection)).code, 7);
  });

  it('tells metrics in a file that its host gives', async () => {
    const runId = 'train-x1-a8';
    await connection.startRun(inside('echo \'{"loss":1}\' >> "$JOBCTL_METRICS_FILE"; echo up', { runId, epoch: 1 }));
    let [output, metrics] = ['', ''];
    await connection.followOutput(runId, 0, (chunk) => void (output += chunk.toString()), never, {
      offset: 0,
      onChunk: (chunk) => void (metrics += chunk.toString()),
    });
    assert.match(output, /^up$/m);
    assert.equal(metrics, '{"loss":1}\n');
  });

  it('says what its processes do', async () => {
    const runId = 'train-x1-a9';
    await connection.startRun(inside('echo up; exec sleep 600', { runId, epoch: 1 }));
    let output = '';
    const followed = connection.followOutput(runId, 0, (chunk) => void (output += chunk.toString()), never);
    await until('up', () => output.includes('up'));
    const options = { runId, host: 0, answerMs: 30_000, installMs: 1, signal: never };
    const { processes, problem } = await takeStacks(connection, options);
    assert.equal(problem, undefined);
    assert.ok(processes.some(({ name, state }) => name === 'sleep' && state === 'S'));
    await connection.stopRun(runId, 0, NOTICE);
    await followed;
  });

  it('is stopped with notice and grace, and is gone', async () => {
    const runId = 'train-x1-a2';
    const script = `trap 'cat "$JOBCTL_NOTICE_FILE"; exit 9' TERM; echo up; while :; do sleep 0.1; done`;
    await connection.startRun(inside(script, { runId, epoch: 2 }));
    let output = '';
    const followed = connection.followOutput(runId, 0, (chunk) => void (output += chunk.toString()), never);
    await until('up', () => output.includes('up'));
    const status = await connection.stopRun(runId, 8000, NOTICE);
    await followed;
    assert.equal(status.kind === 'exited' && status.code, 9);
    assert.match(output, /"cause":"cancel"/);
    let left = '';
    const options = {
      onStdout: (chunk: Buffer) => void (left += chunk.toString()),
      onStderr: () => undefined,
      signal: never,
    };
    await connection.exec('docker ps -aq', options);
    assert.equal(left, '');
  });
});
