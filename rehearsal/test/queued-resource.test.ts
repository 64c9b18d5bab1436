import assert from 'node:assert/strict';
import { CloudUnderTest, failure, PARENT } from './cloud-under-test.js';

const cloud = new CloudUnderTest();

/** The states that a subject went through, from the journal. */
async function statesOf(subject: string): Promise<readonly unknown[]> {
  const events = (await cloud.journal()).filter((event) => event.subject === subject && event.kind.endsWith('-state'));
  return events.map((event) => event.details['to']);
}

describe('a queued resource of the rehearsal cloud', () => {
  before(() => cloud.start());
  after(() => cloud.stop());

  it('goes from CREATING to ACTIVE with its node, and leaves nothing when it is deleted by force', async () => {
    await cloud.queue('whole-life');
    await cloud.becomes('whole-life', 'ACTIVE');
    assert.equal((await cloud.node('whole-life'))?.state, 'READY');
    await cloud.deleteQueued('whole-life', true);
    await cloud.becomes('whole-life', 'gone');
    assert.equal(await cloud.node('whole-life'), undefined);
    assert.deepEqual(await statesOf(`${PARENT}/queuedResources/whole-life`), [
      ...['CREATING', 'WAITING_FOR_RESOURCES', 'PROVISIONING', 'ACTIVE', 'DELETING', 'gone'],
    ]);
    assert.deepEqual(await statesOf(`${PARENT}/nodes/whole-life`), ['CREATING', 'READY', 'DELETING', 'gone']);
  });

  it('ends its create operation when it is queued, while its node is not there yet', async () => {
    await cloud.admin('hold', { state: 'WAITING_FOR_RESOURCES', nameMatches: 'pending' });
    const operation = await cloud.client.checkCreateQueuedResourceProgress(await cloud.queue('pending'));
    await operation.promise();
    assert.equal(await cloud.queuedState('pending'), 'WAITING_FOR_RESOURCES');
    assert.equal(await cloud.node('pending'), undefined);
    await cloud.deleteQueued('pending', false);
    await cloud.becomes('pending', 'gone');
    await cloud.admin('release', {});
  });

  it('gives its node what was asked for, one endpoint a host, and an id like Google’s', async () => {
    await cloud.queue(
      'asked',
      cloud.nodeBody('v5litepod-16', { labels: { a: 'b' }, networkConfig: { enableExternalIps: true } }),
    );
    await cloud.becomes('asked', 'ACTIVE');
    const node = await cloud.node('asked');
    assert.deepEqual(node?.labels, { a: 'b' });
    assert.equal(node?.queuedResource, `${PARENT}/queuedResources/asked`);
    assert.equal(node?.acceleratorType, 'v5litepod-16');
    assert.equal(node?.apiVersion, 'V2');
    assert.equal(node?.health, 'HEALTHY');
    assert.equal(node?.schedulingConfig?.spot, true);
    assert.match(String(node?.id), /^[1-9]\d{9,18}$/);
    const addresses = node?.networkEndpoints?.map((endpoint) => endpoint.ipAddress) ?? [];
    assert.equal(new Set(addresses).size, 4);
    assert.deepEqual(
      addresses,
      node?.networkEndpoints?.map((endpoint) => endpoint.accessConfig?.externalIp),
    );
    await cloud.deleteQueued('asked', true);
  });

  it('is refused by name while another has it, a husk too', async () => {
    await cloud.queue('taken');
    await cloud.becomes('taken', 'ACTIVE');
    assert.equal((await failure(cloud.queue('taken'))).code, 6);
    await cloud.deleteNode('taken');
    await cloud.becomes('taken', 'SUSPENDED');
    assert.equal((await failure(cloud.queue('taken'))).code, 6);
    await cloud.deleteQueued('taken', false);
    await cloud.becomes('taken', 'gone');
    await cloud.queue('taken');
    await cloud.deleteQueued('taken', true);
  });

  it('is not deleted without force while it is ACTIVE, and says where it would be', async () => {
    await cloud.queue('active');
    await cloud.becomes('active', 'ACTIVE');
    const refused = await failure(cloud.deleteQueued('active', false));
    assert.deepEqual(refused, {
      code: 9,
      text: 'DeleteQueuedResource is not supported when state is ACTIVE (must be one of [ACCEPTED WAITING_FOR_RESOURCES SUSPENDED FAILED])',
    });
    assert.equal((await cloud.node('active'))?.state, 'READY');
    await cloud.deleteQueued('active', true);
  });

  it('is SUSPENDED when its node is deleted, by the user', async () => {
    await cloud.queue('bereft');
    await cloud.becomes('bereft', 'ACTIVE');
    await cloud.deleteNode('bereft');
    await cloud.becomes('bereft', 'SUSPENDED');
    const [resource] = await cloud.client.getQueuedResource({ name: `${PARENT}/queuedResources/bereft` });
    assert.equal(resource.state?.stateInitiator, 'USER');
    await cloud.deleteQueued('bereft', false);
  });

  it('waits while its zone is full, and starts when chips come free', async () => {
    await cloud.admin('configure', { capacity: { 'us-central1-a/v6e': 8 } });
    await cloud.queue('first', cloud.nodeBody('v6e-8'));
    await cloud.becomes('first', 'ACTIVE');
    await cloud.queue('second', cloud.nodeBody('v6e-8'));
    await cloud.becomes('second', 'WAITING_FOR_RESOURCES');
    const operation = await cloud.client.createNode({ parent: PARENT, nodeId: 'third', node: cloud.nodeBody('v6e-4') });
    await assert.rejects(operation[0].promise(), /no more capacity in the zone "us-central1-a"/);
    assert.equal(await cloud.queuedState('second'), 'WAITING_FOR_RESOURCES');
    await cloud.deleteQueued('first', true);
    await cloud.becomes('second', 'ACTIVE');
    await cloud.deleteQueued('second', true);
    await cloud.admin('configure', { capacity: {} });
  });

  const refusals: Record<
    string,
    { readonly code: number; readonly text: RegExp; readonly body: () => Promise<unknown> }
  > = {
    'a type that is not there': {
      code: 3,
      text: /the accelerator v5e-16 was not found in zone us-central1-a/,
      body: () => cloud.queue('bad', cloud.nodeBody('v5e-16')),
    },
    'no runtime version': {
      code: 3,
      text: /runtime_version is required/,
      body: () => cloud.queue('bad', cloud.nodeBody('v6e-8', { runtimeVersion: '' })),
    },
    'an id with a space': {
      code: 3,
      text: /node_id: 'so bad' is not valid|queued_resource_id: 'so bad' is not valid/,
      body: () => cloud.queue('so bad'),
    },
    'a zone that is no zone': {
      code: 7,
      text: /^Permission denied on 'locations\/here' \(or it may not exist\)\.$/,
      body: () =>
        cloud.client.createNode({ parent: 'projects/p/locations/here', nodeId: 'bad', node: cloud.nodeBody() }),
    },
    'a multislice of one': {
      code: 3,
      text: /multislice_params.node_count must be greater than 1, got 1/,
      body: () => {
        const multisliceParams = { nodeCount: 1, nodeIdPrefix: 'bad' };
        const tpu = { nodeSpec: [{ parent: PARENT, multisliceParams, node: cloud.nodeBody() }] };
        return cloud.client.createQueuedResource({ parent: PARENT, queuedResourceId: 'bad', queuedResource: { tpu } });
      },
    },
    'a reset of nothing': {
      code: 5,
      text: /queuedResources\/x' was not found$/,
      body: () => cloud.client.resetQueuedResource({ name: `${PARENT}/queuedResources/x` }),
    },
    'a look at nothing': {
      code: 5,
      text: /^Resource 'projects\/p\/locations\/us-central1-a\/queuedResources\/nothing' was not found$/,
      body: () => cloud.client.getQueuedResource({ name: `${PARENT}/queuedResources/nothing` }),
    },
  };
  for (const [name, { code, text, body }] of Object.entries(refusals)) {
    it(`refuses ${name} with code ${code}`, async () => {
      const refused = await failure(body());
      assert.equal(refused.code, code);
      assert.match(refused.text, text);
    });
  }
});

describe('a node of the rehearsal cloud', () => {
  before(() => cloud.start());
  after(() => cloud.stop());

  it('is made, READY at the end of its operation, and gone at the end of its deletion’s', async () => {
    await cloud.admin('clock', { frozen: true });
    const [create] = await cloud.client.createNode({ parent: PARENT, nodeId: 'direct', node: cloud.nodeBody() });
    assert.equal((await cloud.node('direct'))?.state, 'CREATING');
    await cloud.admin('clock', { frozen: false });
    const [made] = (await create.promise()) as unknown as [{ readonly name: string }];
    assert.equal(made.name, `${PARENT}/nodes/direct`);
    assert.equal((await cloud.node('direct'))?.state, 'READY');
    const [remove] = await cloud.client.deleteNode({ name: `${PARENT}/nodes/direct` });
    await remove.promise();
    assert.equal(await cloud.node('direct'), undefined);
  });

  it('is listed in its zone and in all zones, page by page, the same over REST', async () => {
    const ids = ['page-1', 'page-2', 'page-3'];
    for (const id of ids) await cloud.client.createNode({ parent: PARENT, nodeId: id, node: cloud.nodeBody() });
    const all = { parent: 'projects/p/locations/-', pageSize: 2 };
    const [listed] = await cloud.client.listNodes(all);
    assert.deepEqual(
      listed.map((node) => node.name),
      ids.map((id) => `${PARENT}/nodes/${id}`),
    );
    const first = await rest(`projects/p/locations/-/nodes?pageSize=2`);
    assert.equal(first.nodes.length, 2);
    const second = await rest(`projects/p/locations/-/nodes?pageSize=2&pageToken=${first.nextPageToken}`);
    assert.deepEqual(
      [...first.nodes, ...second.nodes].map((node) => node.name),
      listed.map((node) => node.name),
    );
    assert.equal(second.nextPageToken, undefined);
    assert.deepEqual((await cloud.client.listNodes({ parent: 'projects/p/locations/us-east1-d' }))[0], []);
    for (const id of ids) await cloud.deleteNode(id);
  });

  it('blocks its name while it is being deleted, and the held deletion ends when it is released', async () => {
    await cloud.client.createNode({ parent: PARENT, nodeId: 'slow', node: cloud.nodeBody() });
    await cloud.nodeBecomes('slow', 'READY');
    await cloud.admin('hold', { state: 'DELETING' });
    await cloud.deleteNode('slow');
    await cloud.admin('configure', { deletingMs: 0 });
    assert.equal((await cloud.node('slow'))?.state, 'DELETING');
    const again = { parent: PARENT, nodeId: 'slow', node: cloud.nodeBody() };
    assert.equal((await failure(cloud.client.createNode(again))).code, 6);
    await cloud.admin('release', { state: 'DELETING' });
    await cloud.nodeBecomes('slow', 'gone');
  });

  async function rest(
    path: string,
  ): Promise<{ readonly nodes: { readonly name: string }[]; readonly nextPageToken?: string }> {
    const response = await fetch(`${cloud.endpoints.rest}/v2/${path}`);
    return (await response.json()) as { readonly nodes: { readonly name: string }[]; readonly nextPageToken?: string };
  }
});
