import assert from 'node:assert/strict';
import type { ApiClient, Refused } from './api-clients.js';
import { apiClients, refusedBy } from './api-clients.js';
import { CloudUnderTest, PARENT } from './cloud-under-test.js';

const cloud = new CloudUnderTest();
const EID = '[EID: 0x1bc8f9d790be9142]';

/** Over REST the client makes the code from the HTTP status, which several share (google-gax 4.6, fallbackError). */
const FROM_HTTP: Readonly<Record<number, number>> = { 9: 3 };

/** Errors that depend on what there is, or on the state of a node: one after the other, over each wire in each version. */
describe('errors of Cloud TPU in certain states, word for word', function () {
  let clients: readonly ApiClient[] = [];

  before(async () => {
    await cloud.start();
    clients = apiClients(cloud.endpoints);
  });
  after(async () => {
    await Promise.all(clients.map(({ client }) => client.close()));
    await cloud.stop();
  });

  async function refusedEverywhere(
    want: Pick<Refused, 'code' | 'text'>,
    call: (api: ApiClient, id: string) => Promise<unknown>,
  ): Promise<void> {
    for (const [index, api] of clients.entries()) {
      const { code, text } = await refusedBy(call(api, `s-${want.code}-${index}`));
      const wanted = api.wire === 'REST' ? (FROM_HTTP[want.code] ?? want.code) : want.code;
      assert.deepEqual({ code, text }, { code: wanted, text: want.text }, api.name);
    }
    assert.equal(clients.length, 4);
  }

  const queue = ({ client }: ApiClient, queuedResourceId: string, type: string, tier: object) => {
    const node = cloud.nodeBody(type);
    const tpu = { nodeSpec: [{ parent: PARENT, nodeId: `${queuedResourceId}-node`, node }] };
    return client.createQueuedResource({ parent: PARENT, queuedResourceId, queuedResource: { tpu, ...tier } });
  };

  it('over quota: 8 at once, or a queued resource that FAILED for it', async () => {
    const text = "Quota 'TPUV4sPreemptiblePodPerProjectPerRegionForTPUAPI' exhausted. Limit 0 in region us-central1";
    await cloud.admin('configure', { quota: { '*/us-central1-a/v4/spot': 0 } });
    await refusedEverywhere({ code: 8, text }, (api, id) => queue(api, id, 'v4-8', { spot: {} }));
    await cloud.admin('configure', { quotaRefusal: 'failed' });
    for (const [index, api] of clients.entries()) {
      const name = `${PARENT}/queuedResources/failed-${index}`;
      await queue(api, `failed-${index}`, 'v4-8', { spot: {} });
      await cloud.becomes(`failed-${index}`, 'FAILED');
      const [{ state }] = await api.client.getQueuedResource({ name });
      assert.deepEqual([state?.failedData?.error?.code, state?.failedData?.error?.message], [8, text], api.name);
      await api.client.deleteQueuedResource({ name });
    }
    await cloud.admin('configure', { quota: {}, quotaRefusal: 'call' });
  });

  it('no reserved capacity: 8, in the operation', async () => {
    await cloud.admin('configure', { capacity: { 'us-central1-a/v5p/reserved': 0 } });
    const text = `Insufficient reserved capacity. Contact customer support to increase your reservation. ${EID}`;
    await refusedEverywhere({ code: 8, text }, async ({ client }, nodeId) => {
      const node = cloud.nodeBody('v5p-8', { schedulingConfig: { reserved: true } });
      return (await client.createNode({ parent: PARENT, nodeId, node }))[0].promise();
    });
  });

  it('a node that comes to nothing: 13, in the operation', async () => {
    await cloud.admin('configure', { bootFailures: [{ nameMatches: 's-13-' }] });
    await refusedEverywhere({ code: 13, text: 'an internal error has occurred' }, async ({ client }, nodeId) => {
      return (await client.createNode({ parent: PARENT, nodeId, node: cloud.nodeBody() }))[0].promise();
    });
    await cloud.admin('configure', { bootFailures: [] });
  });

  it('an update beside another: 10; of a node that was preempted: 3', async () => {
    const name = `${PARENT}/nodes/busy`;
    await clients[0]?.client.createNode({ parent: PARENT, nodeId: 'busy', node: cloud.nodeBody() });
    await cloud.nodeBecomes('busy', 'READY');
    await cloud.admin('configure', { updatingMs: 3_600_000 });
    const update = ({ client }: ApiClient) =>
      client.updateNode({ node: { name, description: 'new' }, updateMask: { paths: ['description'] } });
    for (const first of clients.slice(0, 1)) await update(first);
    await refusedEverywhere({ code: 10, text: 'unable to queue the operation' }, update);
    await cloud.admin('preempt', { name: 'busy' });
    await cloud.nodeBecomes('busy', 'PREEMPTED');
    const text = `Cloud TPU received a bad request. update is not supported while in state PREEMPTED ${EID}`;
    await refusedEverywhere({ code: 3, text }, update);
  });

  it('the deletion of a queued resource that is PROVISIONING, without force: 9', async () => {
    await cloud.admin('hold', { state: 'PROVISIONING' });
    await cloud.queue('provisioning');
    await cloud.becomes('provisioning', 'PROVISIONING');
    const text =
      'DeleteQueuedResource is not supported when state is PROVISIONING (must be one of [ACCEPTED WAITING_FOR_RESOURCES SUSPENDED FAILED])';
    await refusedEverywhere({ code: 9, text }, ({ client }) =>
      client.deleteQueuedResource({ name: `${PARENT}/queuedResources/provisioning` }),
    );
  });

  // Fields that the published protos lack can be sent over REST alone, as gcloud sends them.
  it('Flex-start where it is not sold: 3, in the operation', async () => {
    const node = { ...cloud.nodeBody('v6e-1'), schedulingConfig: { provisioningModel: 'FLEX_START' } };
    const url = `${cloud.endpoints.rest}/v2alpha1/${PARENT}/nodes?nodeId=flex`;
    const headers = { 'content-type': 'application/json' };
    const answer = await fetch(url, { method: 'POST', headers, body: JSON.stringify(node) });
    const { error } = (await answer.json()) as { readonly error: object };
    const message =
      'FLEX_START provisioning model is not supported for accelerator type "v6e-1" in location "us-central1-a"';
    assert.deepEqual(error, { code: 3, message });
    // Nor has a request that was told to fail anything left to fail.
    await cloud.admin('refuse', {
      method: 'CreateQueuedResource',
      code: 'INTERNAL',
      message: 'x',
      as: 'request',
      times: 1,
    });
    const queued = `${cloud.endpoints.rest}/v2alpha1/${PARENT}/queuedResources?queuedResourceId=flex`;
    const nodeSpec = [{ parent: PARENT, nodeId: 'flex', node: cloud.nodeBody('v6e-1') }];
    const body = JSON.stringify({ tpu: { nodeSpec }, provisioningModel: 'FLEX_START' });
    const { error: ofRequest } = (await (await fetch(queued, { method: 'POST', headers, body })).json()) as {
      readonly error: object;
    };
    assert.deepEqual(ofRequest, { code: 3, message });
  });

  it('lists lag behind what is there, where they were told to; a single look does not', async () => {
    await cloud.admin('list-lag', { lagMs: 3_600_000 });
    for (const [index, { client, name }] of clients.entries()) {
      await client.createNode({ parent: PARENT, nodeId: `new-${index}`, node: cloud.nodeBody() });
      const [listed] = await client.listNodes({ parent: PARENT });
      assert.ok(!listed.some((node) => node.name?.endsWith(`/new-${index}`)), name);
      assert.equal(
        (await client.getNode({ name: `${PARENT}/nodes/new-${index}` }))[0].name?.split('/').at(-1),
        `new-${index}`,
      );
    }
    await cloud.admin('list-lag', { lagMs: 0 });
    const [listed] = await cloud.client.listNodes({ parent: PARENT });
    assert.equal(listed.filter((node) => /new-\d$/.test(node.name ?? '')).length, 4);
  });
});
