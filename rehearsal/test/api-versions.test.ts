import assert from 'node:assert/strict';
import type { v2alpha1 } from '@google-cloud/tpu';
import { until } from '../../test/until.js';
import type { ApiClient } from './api-clients.js';
import { apiClients } from './api-clients.js';
import { CloudUnderTest, PARENT } from './cloud-under-test.js';

const cloud = new CloudUnderTest();

/** Results of operations are decoded messages: enums are numbers there. */
const READY = 2;

describe('Google’s Node client on the rehearsal, in both versions on both wires', function () {
  let clients: readonly ApiClient[] = [];
  const names = ['v2 over gRPC', 'v2 over REST', 'v2alpha1 over gRPC', 'v2alpha1 over REST'];
  const called = (name: string): ApiClient => {
    const found = clients.find((api) => api.name === name);
    if (found === undefined) throw new TypeError(`no client ${name}`);
    return found;
  };
  const idOf = (name: string): string => name.replaceAll(' ', '-').toLowerCase();

  before(async () => {
    await cloud.start();
    clients = apiClients(cloud.endpoints);
  });
  after(async () => {
    await Promise.all(clients.map(({ client }) => client.close()));
    await cloud.stop();
  });

  for (const name of names) {
    it(`${name}: creates a node, waits, lists, changes and deletes it`, async () => {
      const { client, version } = called(name);
      const [creating] = await client.createNode({ parent: PARENT, nodeId: idOf(name), node: cloud.nodeBody() });
      const [made] = (await creating.promise()) as unknown as [{ readonly name: string; readonly state: number }];
      assert.deepEqual([made.name, made.state], [`${PARENT}/nodes/${idOf(name)}`, READY]);
      const [node] = await client.getNode({ name: made.name });
      assert.deepEqual(
        [node.state, node.health, node.apiVersion],
        ['READY', 'HEALTHY', { v2: 'V2', v2alpha1: 'V2_ALPHA1' }[version]],
      );
      const [listed] = await client.listNodes({ parent: 'projects/p/locations/-' });
      assert.deepEqual(
        listed.map((found) => found.name),
        [made.name],
      );
      const changed = { name: made.name, labels: { team: 'speech' }, description: 'changed' };
      const [updating] = await client.updateNode({ node: changed, updateMask: { paths: ['labels'] } });
      await updating.promise();
      const [after] = await client.getNode({ name: made.name });
      assert.deepEqual([after.labels, after.description ?? ''], [{ team: 'speech' }, '']);
      const [stopping] = await client.stopNode({ name: made.name });
      await stopping.promise();
      assert.equal((await client.getNode({ name: made.name }))[0].state, 'STOPPED');
      const [deleting] = await client.deleteNode({ name: made.name });
      await deleting.promise();
      assert.deepEqual((await client.listNodes({ parent: PARENT }))[0], []);
    });

    it(`${name}: queues two slices in the words of its version, and reads their nodes’ names`, async () => {
      const { client, version } = called(name);
      const id = idOf(name);
      const params = { v2: 'multisliceParams', v2alpha1: 'multiNodeParams' }[version];
      const spec = { parent: PARENT, [params]: { nodeCount: 2, nodeIdPrefix: `${id}-n` }, node: cloud.nodeBody() };
      const queuedResource = { tpu: { nodeSpec: [spec] }, spot: {} };
      const [queueing] = await client.createQueuedResource({ parent: PARENT, queuedResourceId: id, queuedResource });
      await queueing.promise();
      await cloud.becomes(id, 'ACTIVE');
      const [request] = await client.getQueuedResource({ name: `${PARENT}/queuedResources/${id}` });
      assert.deepEqual(
        request.tpu?.nodeSpec?.map((node) => node.nodeId),
        [`${id}-n-0`, `${id}-n-1`],
      );
      assert.equal(request.state?.state, 'ACTIVE');
      assert.equal((await client.getNode({ name: `${PARENT}/nodes/${id}-n-1` }))[0].multisliceNode, true);
      await client.deleteQueuedResource({ name: `${PARENT}/queuedResources/${id}`, force: true });
      await cloud.becomes(id, 'gone');
    });
  }

  it('v2alpha1: an operation is read from another client as its own, and v2’s as v2’s', async () => {
    const [alpha, plain] = [called('v2alpha1 over gRPC').client, called('v2 over gRPC').client];
    const [creating] = await alpha.createNode({ parent: PARENT, nodeId: 'both', node: cloud.nodeBody() });
    await creating.promise();
    const types = async (client: typeof alpha): Promise<unknown> =>
      (await client.checkCreateNodeProgress(creating.name ?? '')).metadata;
    assert.equal(((await types(alpha)) as { readonly apiVersion: string }).apiVersion, 'v2alpha1');
    const rest = (path: string) => fetch(`${cloud.endpoints.rest}/v2/${path}`).then((answer) => answer.json());
    const seen = (await rest(creating.name ?? '')) as { readonly response: { readonly '@type': string } };
    assert.equal(seen.response['@type'], 'type.googleapis.com/google.cloud.tpu.v2alpha1.Node');
    const [deleting] = await plain.deleteNode({ name: `${PARENT}/nodes/both` });
    await fetch(`${cloud.endpoints.rest}/v2alpha1/${deleting.name}`);
    await deleting.promise();
    assert.equal((deleting.metadata as { readonly apiVersion?: string } | null)?.apiVersion, 'v2');
  });

  it('v2alpha1: maintenance is simulated and reservations are listed', async () => {
    const { client } = called('v2alpha1 over gRPC');
    const alpha = client as unknown as InstanceType<typeof v2alpha1.TpuClient>;
    await cloud.admin('configure', { capacity: { 'us-central1-a/v5p/reserved': 32 } });
    const [reservations] = await alpha.listReservations({ parent: PARENT });
    assert.deepEqual(
      reservations.map(({ standard }) => standard?.size),
      [32],
    );
    await client.createNode({ parent: PARENT, nodeId: 'tended', node: cloud.nodeBody() });
    await cloud.nodeBecomes('tended', 'READY');
    const [simulating] = await alpha.simulateMaintenanceEvent({ name: `${PARENT}/nodes/tended`, workerIds: ['0'] });
    await until('the simulation to be done', async () => {
      return (await alpha.checkSimulateMaintenanceEventProgress(simulating.name ?? '')).done === true;
    });
    await cloud.deleteNode('tended');
  });
});
