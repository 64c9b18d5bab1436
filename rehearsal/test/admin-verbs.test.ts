import assert from 'node:assert/strict';
import { until } from '../../test/until.js';
import { CloudUnderTest, failure, PARENT } from './cloud-under-test.js';
import { ssh } from './ssh-client.js';

const ZONE = 'us-central1-a';

describe('the admin interface: time, limits, scripts', function () {
  this.timeout(60_000);
  const cloud = new CloudUnderTest();
  before(() => cloud.start());
  after(() => cloud.stop());

  const get = async (path: string): Promise<Response> => fetch(`${cloud.endpoints.admin}/admin/${path}`);
  const getJson = async (path: string): Promise<Record<string, unknown>> =>
    (await (await get(path)).json()) as Record<string, unknown>;
  const lines = async (path: string): Promise<readonly Record<string, unknown>[]> =>
    (await (await get(path)).text())
      .split('\n')
      .flatMap((line) => (line === '' ? [] : [JSON.parse(line) as Record<string, unknown>]));

  it('stops the clock, moves it on and sets its pace', async () => {
    await cloud.admin('clock', { frozen: true });
    const { body: before } = await cloud.admin('clock', {});
    const { body: stepped } = await cloud.admin('clock', { stepMs: 3_600_000 });
    assert.equal(Number(stepped['now']) - Number(before['now']), 3_600_000);
    assert.deepEqual((await getJson('clock'))['now'], stepped['now']);
    const { body: running } = await cloud.admin('clock', { frozen: false, scale: 2 });
    assert.deepEqual([running['scale'], running['frozen']], [2, false]);
    await cloud.admin('clock', { scale: 1 });
    const wrong = await cloud.admin('clock', { scale: 0 });
    assert.deepEqual(
      [wrong.status, /scale 0 is not from 0\.001 to 10000000/.test(String(wrong.body['error']))],
      [400, true],
    );
  });

  it('lays one limit of capacity and of quota beside the others, and takes it away', async () => {
    await cloud.admin('capacity', { zone: ZONE, generation: 'v5litepod', chips: 24 });
    await cloud.admin('capacity', { zone: ZONE, generation: 'v5litepod', tier: 'spot', chips: 8 });
    const { body } = await cloud.admin('capacity', { zone: ZONE, generation: 'v5litepod', chips: null });
    assert.deepEqual(body, { capacity: { [`${ZONE}/v5litepod/spot`]: 8 } });
    const { body: quota } = await cloud.admin('quota', {
      project: 'p',
      zone: ZONE,
      generation: 'v4',
      tier: 'spot',
      chips: 4,
    });
    assert.deepEqual(quota, { quota: { [`p/${ZONE}/v4/spot`]: 4 } });
    const refused = await failure(cloud.queue('too-much', cloud.nodeBody('v4-16')));
    assert.deepEqual([refused.code, /^Quota '.*' exhausted/.test(refused.text)], [8, true]);
    await cloud.admin('configure', { capacity: {}, quota: {} });
  });

  it('refuses for a while, in one zone, by a method’s beginning', async () => {
    await cloud.admin('clock', { frozen: true });
    await cloud.admin('fail', { method: 'Get*', code: 'UNAVAILABLE', zone: ZONE, forMs: 60_000 });
    assert.equal((await failure(cloud.client.getNode({ name: `${PARENT}/nodes/x` }))).code, 14);
    assert.equal((await failure(cloud.client.getNode({ name: 'projects/p/locations/us-east5-a/nodes/x' }))).code, 5);
    await cloud.admin('clock', { stepMs: 60_000, frozen: false });
    assert.equal((await failure(cloud.client.getNode({ name: `${PARENT}/nodes/x` }))).code, 5);
  });

  it('warns of what does not come, and clears it', async () => {
    await cloud.queue('warned');
    await cloud.becomes('warned', 'ACTIVE');
    await cloud.admin('warn', { name: 'warned' });
    assert.equal(String((await cloud.node('warned'))?.health), 'UNHEALTHY_MAINTENANCE');
    await cloud.admin('warn', { name: 'warned', clear: true });
    assert.equal(String((await cloud.node('warned'))?.health), 'HEALTHY');
  });

  it('pages the journal, and waits for what comes', async () => {
    const { journalSeq } = await getJson('status');
    const first = await lines('journal?after=2&limit=3');
    assert.deepEqual(
      first.map(({ seq }) => seq),
      [3, 4, 5],
    );
    const waiting = lines(`journal?after=${String(journalSeq)}&wait=20`);
    await cloud.admin('configure', { queueMs: 0 });
    assert.deepEqual((await waiting)[0]?.['seq'], Number(journalSeq) + 1);
    for (const query of ['after=x', 'limit=0', 'wait=61', 'afer=1']) {
      assert.equal((await get(`journal?${query}`)).status, 400, query);
    }
  });

  it('dumps a line for each thing', async () => {
    const dump = await lines('dump');
    const kinds = new Set(dump.map(({ kind }) => kind));
    for (const kind of ['clock', 'setting', 'queued-resource', 'node', 'operation']) assert.ok(kinds.has(kind), kind);
    const node = dump.find(({ kind, name }) => kind === 'node' && name === `${PARENT}/nodes/warned`);
    assert.deepEqual((node?.['resource'] as { readonly state: string } | undefined)?.state, 'READY');
  });

  it('runs a script, whose events reach the VMs, over a restart', async () => {
    const text = `version: 1
events:
  - {at: 0s, ssh: {node: warned, is: reset, for: 30m}}
  - {at: 1h, preempt: {node: warned}}
`;
    await cloud.admin('clock', { frozen: true });
    const { status, body } = await cloud.admin('script', { text });
    assert.deepEqual([status, body['state']], [200, 'running']);
    assert.equal((await ssh(await cloud.place('warned'), 'true')).code, 255);
    await cloud.halt();
    await cloud.start();
    assert.deepEqual(
      ((await getJson('script'))['done'] as readonly { readonly result: string }[]).map(({ result }) => result),
      ['done'],
    );
    await cloud.admin('clock', { stepMs: 1_800_000 });
    assert.equal((await ssh(await cloud.place('warned'), 'true')).code, 0);
    await cloud.admin('clock', { stepMs: 1_800_000 });
    assert.equal(String((await cloud.node('warned'))?.state), 'PREEMPTED');
    assert.equal((await getJson('script'))['state'], 'finished');
    await cloud.admin('clock', { frozen: false });
  });

  it('refuses a broken script with its place, and goes on with the one that runs', async () => {
    const before = await getJson('script');
    const { status, body } = await cloud.admin('script', {
      text: 'version: 1\nevents:\n  - at: 5x\n    recycledIp: true',
    });
    assert.deepEqual(
      [status, body['error']],
      [400, "3:9: events[0].at: '5x' is not a duration, such as 30s, 5m or 1h30m"],
    );
    assert.deepEqual(await getJson('script'), before);
    assert.equal((await cloud.admin('script', {}, 'DELETE')).body['state'], 'none');
  });

  it('says what is there where something is not', async () => {
    const { status, body } = await cloud.admin('premept', { name: 'x' });
    assert.equal(status, 404);
    assert.match(String(body['error']), /^POST \/admin\/premept is not there; verbs: preempt, warn, /);
    const unknown = await cloud.admin('fail-request', { name: 'nobody' });
    assert.match(String(unknown.body['error']), /^no queued resource 'nobody'; there are: .*queuedResources\/warned/);
  });

  it('slows, resets and fills one host of a slice', async () => {
    await cloud.queue('hosts', cloud.nodeBody('v5litepod-16'));
    await cloud.becomes('hosts', 'ACTIVE');
    const place = await cloud.place('hosts', 1);
    await cloud.admin('hosts', { name: 'hosts', host: 1, action: 'slow-ssh', delayMs: 3000 });
    const quick = ['-o', 'ConnectTimeout=1'];
    assert.equal((await ssh(place, 'true', quick)).code, 255);
    const neighbour = await cloud.place('hosts', 2);
    await until('another host is as quick as ever', async () => (await ssh(neighbour, 'true', quick)).code === 0);
    await cloud.admin('hosts', { name: 'hosts', host: 1, action: 'slow-ssh', delayMs: 0 });
    assert.equal((await ssh(place, 'true')).code, 0);
    const { status } = await cloud.admin('hosts', { name: 'hosts', host: 1, action: 'fill-disk' });
    if (status === 200) {
      assert.notEqual((await ssh(place, 'echo text > ~/file && sync ~/file && test -s ~/file')).code, 0);
      await cloud.admin('hosts', { name: 'hosts', host: 1, action: 'free-disk' });
      await until(
        'the disk to be free',
        async () => (await ssh(place, 'echo text > ~/file && test -s ~/file')).code === 0,
      );
    }
    await cloud.deleteQueued('hosts', true);
  });
});
