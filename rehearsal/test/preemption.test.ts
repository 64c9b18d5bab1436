import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { CloudUnderTest, failure, PARENT } from './cloud-under-test.js';
import { until } from '../../test/until.js';
import { ssh, startSsh } from './ssh-client.js';

const cloud = new CloudUnderTest();

async function readySlice(id: string, accelerator = 'v5litepod-8'): Promise<void> {
  await cloud.queue(id, cloud.nodeBody(accelerator));
  await cloud.becomes(id, 'ACTIVE');
}

describe('a preemption in the rehearsal cloud', () => {
  before(() => cloud.start());
  after(() => cloud.stop());

  it('kills a daemon that left its session, at once, on every host', async () => {
    await readySlice('daemons', 'v5litepod-16');
    const places = await Promise.all([0, 1, 2, 3].map((host) => cloud.place('daemons', host)));
    const mark = `${7000 + (process.pid % 1000)}.5`;
    for (const place of places) {
      const { code } = await ssh(place, `setsid -f sleep ${mark} </dev/null >/dev/null 2>&1`);
      assert.equal(code, 0);
    }
    assert.equal(running(mark).length, 4);
    const watcher = startSsh(await cloud.place('daemons'), 'while :; do sleep 0.05; done');
    const cut = new Promise<number | null>((resolve) => watcher.once('close', resolve));
    await cloud.admin('preempt', { name: 'daemons' });
    await cloud.nodeBecomes('daemons', 'PREEMPTED');
    assert.equal(await cut, 255);
    await until('all daemons to be gone', () => running(mark).length === 0);
    const [first] = places;
    assert.equal(first === undefined ? 0 : (await ssh(first, 'true')).code, 255);
  });

  it('leaves the node PREEMPTED and the request SUSPENDED by the service; both block their names until they are deleted', async () => {
    await readySlice('husk');
    await cloud.admin('preempt', { name: 'husk' });
    await cloud.becomes('husk', 'SUSPENDED');
    const [resource] = await cloud.client.getQueuedResource({ name: `${PARENT}/queuedResources/husk` });
    assert.equal(resource.state?.stateInitiator, 'SERVICE');
    const [listed] = await cloud.client.listNodes({ parent: 'projects/p/locations/-' });
    assert.equal(listed.find((node) => node.name?.endsWith('/husk'))?.state, 'PREEMPTED');
    await cloud.deleteQueued('husk', false);
    await cloud.becomes('husk', 'gone');
    const taken = await failure(cloud.queue('husk'));
    assert.deepEqual(taken, { code: 6, text: `Resource '${PARENT}/nodes/husk' already exists` });
    await cloud.deleteNode('husk');
    await cloud.nodeBecomes('husk', 'gone');
    await readySlice('husk');
  });

  it('with notice is seen in the node’s health first, while its hosts still work', async () => {
    await cloud.admin('configure', { noticeMs: 600 });
    await readySlice('warned');
    // A VM boots at its first login, which may take longer than the notice.
    assert.equal((await ssh(await cloud.place('warned'), 'true')).code, 0);
    // The notice lasts for as long as this test looks: it ends when the clock goes on.
    await cloud.admin('clock', { frozen: true });
    await cloud.admin('preempt', { name: 'warned', notice: true });
    const node = await cloud.node('warned');
    assert.deepEqual([node?.state, node?.health], ['READY', 'UNHEALTHY_MAINTENANCE']);
    assert.equal((await ssh(await cloud.place('warned'), 'true')).code, 0);
    await cloud.admin('clock', { frozen: false });
    await cloud.nodeBecomes('warned', 'PREEMPTED');
  });

  it('may make the node vanish without a trace', async () => {
    await readySlice('vanished');
    await cloud.admin('preempt', { name: 'vanished', mode: 'vanish' });
    assert.equal(await cloud.node('vanished'), undefined);
    await cloud.becomes('vanished', 'SUSPENDED');
  });
});

/** Pids of `sleep <mark>` on this computer, in whatever namespace. */
function running(mark: string): readonly string[] {
  const all = execFileSync('ps', ['-eo', 'pid=,args='], { encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 }).split('\n');
  return all.filter((line) => line.trim().endsWith(` sleep ${mark}`));
}
