import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { memoryHostKeyPins } from '../../../cloud/hosts/host-key-record.js';
import type { HostConnection, HostsPort, RunRequest } from '../../../cloud/hosts/port.js';
import { createSshHosts } from '../../../cloud/hosts/ssh-fleet.js';
import { CloudUnderTest } from '../../../rehearsal/test/cloud-under-test.js';
import { needsConfinement } from '../../../rehearsal/test/needs-confinement.js';
import { ended, request } from '../../hosts/run.js';
import { never } from '../../hosts/session.js';
import { until } from '../../until.js';

const ID = 'train-x1-a1';
/** Says what its notice says, and that it ended well. */
const SAVES = `trap 'echo told; cat "$JOBCTL_NOTICE_FILE" 2>/dev/null; exit 0' TERM; echo up; while :; do sleep 0.05; done`;

describe('the on-host runner on a TPU VM: the exit record of a code 0', function () {
  this.timeout(60_000);
  const cloud = new CloudUnderTest();
  let fleet: HostsPort;
  before(async function () {
    needsConfinement(this);
    await cloud.start();
    fleet = createSshHosts({ port: 2222, hostKeys: memoryHostKeyPins() });
  });
  after(async () => {
    fleet?.release();
    await cloud.stop();
  });

  interface Run {
    readonly connection: HostConnection;
    readonly output: () => string;
    readonly warning: () => Promise<string>;
  }

  async function runOn(node: string, script: string, more: Partial<RunRequest> = {}): Promise<Run> {
    await cloud.queue(node, cloud.nodeBody('v5litepod-8'));
    await cloud.becomes(node, 'ACTIVE');
    const { address, key, user = 'alice' } = await cloud.place(node);
    const privateKey = readFileSync(key.privateFile, 'utf8');
    const connection = await fleet.connect(
      { reach: 'ssh', uid: node, slice: 0, index: 0, address, user },
      { privateKey },
      never,
    );
    await connection.startRun(request(script, more));
    let output = '';
    void connection.followOutput(ID, 0, (chunk) => void (output += chunk.toString()), never).catch(() => undefined);
    const said = async (command: string): Promise<string> => {
      let text = '';
      const onStdout = (chunk: Buffer): void => void (text += chunk.toString());
      await connection.exec(command, { onStdout, onStderr: () => undefined, signal: never });
      return text;
    };
    await until('the command runs', () => output.includes('up'));
    return { connection, output: () => output, warning: () => said(`cat ~/.jobctl/runs/${ID}/warning 2>/dev/null`) };
  }
  const exec = (connection: HostConnection, command: string) =>
    connection.exec(command, { onStdout: () => undefined, onStderr: () => undefined, signal: never });

  it('says up where the command ended by itself, or of a SIGTERM to it alone', async () => {
    const { connection } = await runOn('alone', SAVES);
    await exec(connection, `read -r _ pid _ < ~/.jobctl/runs/${ID}/begun; kill -TERM "$pid"`);
    const { code, host, isStopped } = await ended(connection);
    assert.deepEqual([code, host, isStopped], [0, 'up', false]);
    const runId = 'train-x1-a2';
    await connection.startRun(request('exit 0', { runId, epoch: 2 }));
    assert.equal((await ended(connection, runId)).host, 'up', 'also of a command that ends at once');
  });

  it('says stopping where every process got SIGTERM, as its supervisor did', async () => {
    const { connection, output } = await runOn('all', SAVES);
    await exec(connection, 'kill -TERM -1').catch(() => undefined);
    const status = await until('the end', () => ended(connection).catch(() => undefined));
    assert.deepEqual([status.code, status.host], [0, 'stopping'], output());
  });

  it('keeps the exit of a command that ends on its notice a moment before every process gets SIGTERM', async () => {
    const storm = `(trap '' TERM; for i in $(seq 200); do kill -TERM -1; sleep 0.01; done) &`;
    const { connection, output } = await runOn('early', `echo up; sleep 1; ${storm} exit 0`);
    const status = await until('the end', () => ended(connection).catch(() => undefined));
    assert.equal(status.code, 0, output());
  });

  it('says preempted where its VM is, and the command finds that in its notice', async () => {
    const { connection, output } = await runOn('taken', SAVES);
    await cloud.admin('preempt', { name: 'taken', mode: 'signal' });
    const status = await until('the end', () => ended(connection).catch(() => undefined));
    assert.deepEqual([status.code, status.host], [0, 'preempted'], output());
    let log = '';
    await connection.followOutput(ID, 0, (chunk) => void (log += chunk.toString()), never);
    assert.match(log, /told\n\{"v":1,"cause":"preemption",.*"graceSeconds":30\}\n$/);
  });

  it('runs the hook preemption on a VM that is taken, also of a command that ends at once, and ends after it', async () => {
    const script = 'echo "saving for $JOBCTL_HOOK_CAUSE"; sleep 2; echo saved';
    const preemptionHook = { script, timeoutMs: 15_000 };
    for (const [node, command] of [
      ['saves', SAVES],
      ['dies', 'echo up; exec sleep 1000'],
    ] as const) {
      const { connection } = await runOn(node, command, { preemptionHook });
      await cloud.admin('preempt', { name: node, mode: 'signal' });
      const status = await until('the end', () => ended(connection).catch(() => undefined));
      assert.equal(status.host, 'preempted', node);
      let log = '';
      await connection.followOutput(ID, 0, (chunk) => void (log += chunk.toString()), never);
      assert.equal(log.match(/^saving for preemption$/gm)?.length, 1, log);
      assert.match(log, /^saved\njobctl: hook preemption ended with code 0 after \d+ ms$/m);
    }
  });

  it('says up after a warning that has cleared, which came and went in its own file without a signal or a notice', async () => {
    const { connection, output, warning } = await runOn('warned', SAVES);
    await cloud.admin('maintenance', { name: 'warned', kind: 'announce' });
    await until('the warning', async () => (await warning()).includes('"cause":"maintenance"'));
    await cloud.admin('warn', { name: 'warned', clear: true });
    await until('it to be taken back', async () => (await warning()) === '');
    await connection.warnRun(ID, 'says the API');
    assert.match(await warning(), /says the API/);
    await connection.warnRun(ID, undefined);
    assert.equal(await warning(), '');
    assert.equal(output(), 'up\n');
    await exec(connection, `read -r _ pid _ < ~/.jobctl/runs/${ID}/begun; kill -TERM "$pid"`);
    assert.equal((await ended(connection)).host, 'up');
    await until('its last words', () => output().endsWith('told\n'));
  });
});
