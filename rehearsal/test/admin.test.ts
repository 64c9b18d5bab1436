import assert from 'node:assert/strict';
import { apiClients } from './api-clients.js';
import { CloudUnderTest, failure, PARENT } from './cloud-under-test.js';
import { ssh } from './ssh-client.js';

const cloud = new CloudUnderTest();

describe('the rehearsal’s admin interface', () => {
  before(() => cloud.start());
  after(() => cloud.stop());
  afterEach(async () => {
    await cloud.admin('refuse', {}, 'DELETE');
    await cloud.admin('release', {});
  });

  it('refuses as many calls of one method as it was told to, on names that match', async () => {
    await cloud.admin('refuse', {
      method: 'CreateQueuedResource',
      code: 8,
      message: 'no more capacity',
      times: 2,
      nameMatches: 'refused$',
    });
    for (const attempt of [1, 2]) {
      assert.deepEqual(
        await failure(cloud.queue('refused')),
        { code: 8, text: 'no more capacity' },
        `attempt ${attempt}`,
      );
    }
    await cloud.queue('refused');
    await cloud.queue('another');
    await cloud.deleteQueued('refused', true);
    await cloud.deleteQueued('another', true);
  });

  it('lets a refused call have its effect: the answer alone is lost', async () => {
    await cloud.admin('refuse', { method: 'CreateQueuedResource', code: 'UNAVAILABLE', times: 1, afterEffect: true });
    assert.equal((await failure(cloud.queue('lost'))).code, 14);
    assert.equal((await failure(cloud.queue('lost'))).code, 6);
    await cloud.becomes('lost', 'ACTIVE');
    await cloud.deleteQueued('lost', true);
  });

  it('has zones that listings do not reach: they name them, leave out what is there, and single resources are read', async () => {
    await cloud.queue('far');
    await cloud.becomes('far', 'ACTIVE');
    await cloud.admin('configure', { unreachableZones: [PARENT.split('/').at(-1)] });
    const everywhere = { parent: 'projects/p/locations/-', pageSize: 1 };
    const manual = { autoPaginate: false };
    const [nodes, , ofNodes] = await cloud.client.listNodes(everywhere, manual);
    const [requests, , ofRequests] = await cloud.client.listQueuedResources({ parent: PARENT }, manual);
    assert.deepEqual([nodes, ofNodes?.unreachable, requests, ofRequests?.unreachable], [[], [PARENT], [], [PARENT]]);
    assert.equal((await cloud.node('far'))?.state, 'READY');
    await cloud.admin('configure', { unreachableZones: [] });
    const [found, , after] = await cloud.client.listNodes({ parent: 'projects/p/locations/-' }, manual);
    assert.deepEqual([found.length, after?.unreachable], [1, []]);
    await cloud.deleteQueued('far', true);
    await cloud.becomes('far', 'gone');
  });

  it('lets an accepted create come to nothing, by its operation or as a FAILED request, in one zone', async () => {
    const message = 'There is no more capacity in the zone "us-west4-a"';
    const refusal = {
      method: 'CreateQueuedResource',
      code: 'RESOURCE_EXHAUSTED',
      message,
      zone: PARENT.split('/').at(-1),
      times: 1,
    };
    await cloud.admin('refuse', { ...refusal, as: 'operation' });
    const operation = await cloud.client.checkCreateQueuedResourceProgress(await cloud.queue('not-made'));
    assert.deepEqual([operation.done, operation.error?.code, operation.error?.message], [true, 8, message]);
    assert.equal(
      (await failure(cloud.client.getQueuedResource({ name: `${PARENT}/queuedResources/not-made` }))).code,
      5,
    );
    await cloud.admin('refuse', { ...refusal, as: 'request' });
    await cloud.queue('failed');
    await cloud.becomes('failed', 'FAILED');
    const [{ state }] = await cloud.client.getQueuedResource({ name: `${PARENT}/queuedResources/failed` });
    assert.deepEqual([state?.failedData?.error?.code, state?.failedData?.error?.message], [8, message]);
    await cloud.deleteQueued('failed', true);
  });

  it("gives a refusal ErrorInfo's reason", async () => {
    const reason = 'LOCATION_POLICY_VIOLATED';
    await cloud.admin('refuse', { method: 'GetNode', code: 'PERMISSION_DENIED', reason, times: 1 });
    await assert.rejects(cloud.client.getNode({ name: `${PARENT}/nodes/x` }), { code: 7, reason });
  });

  it('takes refusals back', async () => {
    await cloud.admin('refuse', { method: 'GetNode', code: 'PERMISSION_DENIED' });
    assert.equal((await failure(cloud.client.getNode({ name: `${PARENT}/nodes/x` }))).code, 7);
    await cloud.admin('refuse', {}, 'DELETE');
    assert.equal((await failure(cloud.client.getNode({ name: `${PARENT}/nodes/x` }))).code, 5);
  });

  for (const state of ['CREATING', 'WAITING_FOR_RESOURCES', 'PROVISIONING']) {
    it(`holds a request in ${state} until it is released, others go on`, async () => {
      await cloud.admin('hold', { state, nameMatches: 'held$' });
      await cloud.queue('held');
      await cloud.queue('free');
      await cloud.becomes('free', 'ACTIVE');
      assert.equal(await cloud.queuedState('held'), state);
      await cloud.admin('release', { state });
      await cloud.becomes('held', 'ACTIVE');
      for (const id of ['held', 'free']) await cloud.deleteQueued(id, true);
      for (const id of ['held', 'free']) await cloud.becomes(id, 'gone');
    });
  }

  it('deletes a request that is held, and its half-made node', async () => {
    await cloud.admin('hold', { state: 'PROVISIONING' });
    await cloud.queue('half-made');
    await cloud.nodeBecomes('half-made', 'CREATING');
    await cloud.deleteQueued('half-made', true);
    await cloud.becomes('half-made', 'gone');
    assert.equal(await cloud.node('half-made'), undefined);
  });

  it('cuts one host off, and not its neighbours', async () => {
    await cloud.queue('hosts', cloud.nodeBody('v5litepod-16'));
    await cloud.becomes('hosts', 'ACTIVE');
    assert.equal((await cloud.admin('hosts', { name: 'hosts', host: 1, action: 'unreachable' })).status, 200);
    const quick = ['-o', 'ConnectTimeout=1'];
    assert.equal((await ssh(await cloud.place('hosts', 1), 'true', quick)).code, 255);
    assert.equal((await ssh(await cloud.place('hosts', 2), 'true', quick)).code, 0);
    await cloud.admin('hosts', { name: 'hosts', host: 1, action: 'reachable' });
    assert.equal((await ssh(await cloud.place('hosts', 1), 'true', quick)).code, 0);
    await cloud.deleteQueued('hosts', true);
  });

  it('journals calls, state changes with chips, VMs and its own verbs, numbered without a gap', async () => {
    const { seq: before } = (await cloud.journal()).at(-1) ?? { seq: 0 };
    await cloud.queue('journalled', cloud.nodeBody('v4-16'));
    await cloud.becomes('journalled', 'ACTIVE');
    await cloud.admin('preempt', { name: 'journalled' });
    await cloud.becomes('journalled', 'SUSPENDED');
    const events = await cloud.journal(before);
    assert.deepEqual(
      events.map((event) => event.seq),
      events.map((_, index) => before + 1 + index),
    );
    const told = events
      .filter(({ kind, subject }) => kind === 'admin' || subject.endsWith('/journalled'))
      .filter((event) => event.details['method'] !== 'GetQueuedResource')
      .map(({ kind, details }) => [kind, details['method'] ?? details['to'] ?? details['host'] ?? ''].join(' ').trim());
    const vms = told.filter((line) => line.startsWith('vm-start')).toSorted();
    assert.deepEqual(vms, ['vm-start 0', 'vm-start 1']);
    assert.deepEqual(
      told.filter((line) => !line.startsWith('vm-start')),
      [
        'queued-resource-state CREATING',
        'api-call CreateQueuedResource',
        'queued-resource-state WAITING_FOR_RESOURCES',
        'queued-resource-state PROVISIONING',
        'node-state CREATING',
        'node-state READY',
        'queued-resource-state ACTIVE',
        'node-state PREEMPTED',
        'queued-resource-state SUSPENDING',
        'admin',
        'vm-kill',
        'queued-resource-state SUSPENDED',
      ],
    );
    const states = events.filter(({ kind, subject }) => kind.endsWith('-state') && subject.endsWith('/journalled'));
    assert.deepEqual([...new Set(states.map((event) => event.details['chips']))], [8]);
  });

  it('keeps by which name a caller dialled, so that callers can be told apart', async () => {
    const { tpu, rest } = cloud.endpoints;
    for (const place of [tpu, tpu.replace('127.0.0.1', 'localhost')]) {
      const [caller] = apiClients({ tpu: place, rest });
      await caller?.client.listNodes({ parent: `projects/${place.split(':')[0]}/locations/us-central1-a` });
      await caller?.client.close();
    }
    const hosts = (await cloud.journal())
      .filter(({ kind }) => kind === 'api-call')
      .slice(-2)
      .map(({ details }) => details['host']);
    assert.deepEqual(hosts, [undefined, tpu.replace('127.0.0.1', 'localhost')]);
  });

  it('shows everything that there is', async () => {
    const response = await fetch(`${cloud.endpoints.admin}/admin/status`);
    const status = (await response.json()) as Record<string, unknown>;
    for (const key of [
      'isolation',
      'subnetOctet',
      'sshPort',
      'settings',
      'refusals',
      'holds',
      'queuedResources',
      'nodes',
    ]) {
      assert.ok(key in status, key);
    }
  });

  const wrong: Record<
    string,
    { readonly verb: string; readonly body: object; readonly status: number; readonly text: RegExp }
  > = {
    'an unknown field': {
      verb: 'hold',
      body: { state: 'DELETING', name: 'x' },
      status: 400,
      text: /Unrecognized key: "name"/,
    },
    'an unknown state': {
      verb: 'hold',
      body: { state: 'ASLEEP' },
      status: 400,
      text: /state: .*WAITING_FOR_RESOURCES/,
    },
    'an unknown method': {
      verb: 'refuse',
      body: { method: 'CreateTpu', code: 8 },
      status: 400,
      text: /method: must be one of .*CreateQueuedResource/,
    },
    'an unknown code': {
      verb: 'refuse',
      body: { method: 'GetNode', code: 'TIRED' },
      status: 400,
      text: /code: .*google\.rpc\.Code/,
    },
    'a broken pattern': {
      verb: 'hold',
      body: { state: 'DELETING', nameMatches: '(' },
      status: 400,
      text: /nameMatches: '\(' is not a regular expression/,
    },
    'a negative delay': { verb: 'configure', body: { queueMs: -1 }, status: 400, text: /queueMs/ },
    'capacity of nowhere': {
      verb: 'configure',
      body: { capacity: { v4: 8 } },
      status: 400,
      text: /<zone>\/<generation>/,
    },
    'a node that is not there': {
      verb: 'preempt',
      body: { name: 'nobody' },
      status: 404,
      text: /no node 'nobody'; there are: .*nodes\/journalled/,
    },
    'a node that is dead already': { verb: 'preempt', body: { name: 'journalled' }, status: 409, text: /is PREEMPTED/ },
    'a host that is not there': {
      verb: 'hosts',
      body: { name: 'journalled', host: 9, action: 'freeze' },
      status: 404,
      text: /no host 9/,
    },
  };
  for (const [name, { verb, body, status, text }] of Object.entries(wrong)) {
    it(`answers ${name} with ${status} and what is allowed`, async () => {
      const answer = await cloud.admin(verb, body);
      assert.equal(answer.status, status);
      assert.match(String(answer.body['error']), text);
    });
  }
});
