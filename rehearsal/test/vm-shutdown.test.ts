import assert from 'node:assert/strict';
import { until } from '../../test/until.js';
import { firstOutput } from '../../test/first-output.js';
import { ssh, startSsh } from './ssh-client.js';
import { CloudUnderTest } from './cloud-under-test.js';

const CURL = 'curl -s -H Metadata-Flavor:Google http://$GCE_METADATA_HOST/computeMetadata/v1/instance/preempted';
/** Says what it finds at SIGTERM, and goes on. */
const TOLD = `trap 'systemctl is-system-running 2>/dev/null; ${CURL}; touch ~/told; echo' TERM; while :; do sleep 0.05; done`;

describe('a TPU VM that is preempted', () => {
  const cloud = new CloudUnderTest();
  before(() => cloud.start());
  after(() => cloud.stop());

  async function readySlice(id: string): Promise<void> {
    await cloud.queue(id, cloud.nodeBody('v5litepod-8'));
    await cloud.becomes(id, 'ACTIVE');
  }

  it('shuts down as a guest does: stopping, SIGTERM to all, TRUE in its metadata, then no power while the API says READY', async () => {
    await cloud.admin('configure', { guestNoticeMs: 600_000, preemptedLagMs: 600_000 });
    await readySlice('told');
    const place = await cloud.place('told');
    const shell = startSsh(place, `echo up; ${TOLD}`);
    let said = '';
    shell.stdout?.on('data', (chunk: Buffer) => (said += chunk.toString()));
    await until('the command to run', () => said.includes('up'));
    assert.equal((await ssh(place, 'systemctl is-system-running')).stdout, 'running\n');
    const ended = new Promise((resolve) => shell.once('close', resolve));
    await cloud.admin('preempt', { name: 'told', mode: 'signal' });
    await until('the command to be told', () => said.includes('TRUE\n'));
    assert.equal(said, 'up\nstopping\nTRUE\n');
    assert.deepEqual([(await cloud.node('told'))?.state, (await cloud.node('told'))?.health], ['READY', 'HEALTHY']);
    assert.equal((await ssh(place, 'test -f ~/told')).code, 0, 'it can be looked at until its power is cut');
    await cloud.admin('clock', { stepMs: 600_000 });
    await ended;
    assert.equal((await ssh(place, 'true')).code, 255);
    assert.equal((await cloud.node('told'))?.state, 'READY');
    await cloud.admin('clock', { stepMs: 600_000 });
    await cloud.nodeBecomes('told', 'PREEMPTED');
  });

  it('may fall silent without an end of its connections', async () => {
    await cloud.admin('configure', { sshAtShutdown: 'silent', preemptedLagMs: 600_000 });
    await readySlice('silent');
    const place = await cloud.place('silent');
    const shell = startSsh(place, 'echo up; sleep 600');
    let isOver = false;
    shell.once('close', () => (isOver = true));
    await firstOutput(shell);
    await cloud.admin('preempt', { name: 'silent' });
    await until('its power to be cut', async () =>
      (await cloud.journal()).some(({ kind, subject }) => kind === 'vm-power' && subject.endsWith('/silent')),
    );
    assert.equal(isOver, false);
    await cloud.admin('clock', { stepMs: 600_000 });
    await cloud.nodeBecomes('silent', 'PREEMPTED');
    await until('its VMs to be killed', async () =>
      (await cloud.journal()).some(({ kind, subject }) => kind === 'vm-kill' && subject.endsWith('/silent')),
    );
    // Its address answers nobody any more, and still nothing ends what was open: a client finds out by its own keepalive.
    assert.equal((await ssh(place, 'true')).code, 255);
    assert.equal(isOver, false);
    shell.kill('SIGKILL');
  });
});
