import assert from 'node:assert/strict';
import type { ApiClient } from './api-clients.js';
import { apiClients, refusedBy } from './api-clients.js';
import { CloudUnderTest, PARENT } from './cloud-under-test.js';

const cloud = new CloudUnderTest();
const EID = '[EID: 0x1bc8f9d790be9142]';
const ZONE = 'us-central1-a';

interface Case {
  readonly code: number;
  readonly text: string;
  readonly details?: Readonly<Record<string, unknown>>;
  /** @param id of its own for each client. */
  readonly call: (api: ApiClient, id: string) => Promise<unknown>;
}

/** The operation's own error, for what is refused only there. */
async function ended(started: Promise<readonly [{ promise(): Promise<unknown> }, ...unknown[]]>): Promise<unknown> {
  return (await started)[0].promise();
}

const createNode = ({ client }: ApiClient, nodeId: string, acceleratorType?: string, parent = PARENT) =>
  client.createNode({ parent, nodeId, node: cloud.nodeBody(acceleratorType) });
const queue = ({ client }: ApiClient, queuedResourceId: string, nodeId = queuedResourceId) => {
  const tpu = { nodeSpec: [{ parent: PARENT, nodeId, node: cloud.nodeBody() }] };
  return client.createQueuedResource({ parent: PARENT, queuedResourceId, queuedResource: { tpu, spot: {} } });
};
const taken = `${PARENT}/nodes/taken`;
const active = `${PARENT}/queuedResources/taken`;
const deletable = '(must be one of [ACCEPTED WAITING_FOR_RESOURCES SUSPENDED FAILED])';

const cases: Readonly<Record<string, Case>> = {
  'no capacity, in the operation': {
    code: 8,
    text: `There is no more capacity in the zone "${ZONE}"; you can try in another zone where Cloud TPU Nodes are offered (see https://cloud.google.com/tpu/docs/regions) ${EID}`,
    call: (api, id) => ended(createNode(api, id, 'v6e-8')),
  },
  'a type that the zone does not have': {
    code: 3,
    text: `Cloud TPU received a bad request. The requested accelerator configuration for accelerator type, "v6e-2", could not be found in the zonal accelerator configurations for "${ZONE}".; the accelerator v6e-2 was not found in zone ${ZONE} ${EID}`,
    call: (api, id) => createNode(api, id, 'v6e-2'),
  },
  'a zone without Cloud TPU': {
    code: 3,
    text: `Cloud TPU received a bad request. The requested zone "us-west2-a" is not supported. ${EID}`,
    call: (api, id) => createNode(api, id, 'v6e-8', 'projects/p/locations/us-west2-a'),
  },
  'a zone that is none': {
    code: 7,
    text: "Permission denied on 'locations/us-centra1-a' (or it may not exist).",
    details: {
      ErrorInfo: {
        reason: 'LOCATION_POLICY_VIOLATED',
        domain: 'googleapis.com',
        metadata: { consumer: 'projects/p', location: 'us-centra1-a', service: 'tpu.googleapis.com' },
      },
    },
    call: ({ client }) => client.listNodes({ parent: 'projects/p/locations/us-centra1-a' }),
  },
  'a runtime version that is none': {
    code: 3,
    text: `Cloud TPU received an invalid argument. The field "runtimeVersion" cannot be "ubuntu". ${EID}`,
    call: ({ client }, nodeId) =>
      client.createNode({ parent: PARENT, nodeId, node: cloud.nodeBody('v6e-8', { runtimeVersion: 'ubuntu' }) }),
  },
  'a node that is not there': {
    code: 5,
    text: `Resource '${PARENT}/nodes/none' was not found`,
    details: { ResourceInfo: { resourceName: `${PARENT}/nodes/none` } },
    call: ({ client }) => client.getNode({ name: `${PARENT}/nodes/none` }),
  },
  'an operation that is not there': {
    code: 5,
    text: `Resource '${PARENT}/operations/none' was not found`,
    details: { ResourceInfo: { resourceName: `${PARENT}/operations/none` } },
    call: ({ client }) => client.checkCreateNodeProgress(`${PARENT}/operations/none`),
  },
  'a node whose name is taken': {
    code: 6,
    text: `Resource '${taken}' already exists`,
    details: { ResourceInfo: { resourceName: taken } },
    call: (api) => createNode(api, 'taken'),
  },
  'a queued resource whose name is taken': {
    code: 6,
    text: `Resource '${active}' already exists`,
    details: { ResourceInfo: { resourceName: active } },
    call: (api, id) => queue(api, 'taken', id),
  },
  'the deletion of a queued resource that is ACTIVE, without force': {
    code: 9,
    text: `DeleteQueuedResource is not supported when state is ACTIVE ${deletable}`,
    call: ({ client }) => client.deleteQueuedResource({ name: active }),
  },
  'an id that is none': {
    code: 3,
    text: "node_id: 'a b' is not valid; wanted [A-Za-z0-9_.~+%-], 1 to 63 characters",
    call: (api) => createNode(api, 'a b'),
  },
  'a page token that nobody gave': {
    code: 3,
    text: "page_token 'x' is not valid",
    call: ({ client }) => client.listNodes({ parent: PARENT, pageToken: 'x' }, { autoPaginate: false }),
  },
  'an update of what cannot be updated': {
    code: 3,
    text: "update_mask: 'accelerator_type' cannot be updated; wanted some of description, tags, labels, metadata, network_config.enable_external_ips, data_disks",
    call: ({ client }) =>
      client.updateNode({
        node: { name: taken, acceleratorType: 'v6e-1' },
        updateMask: { paths: ['accelerator_type'] },
      }),
  },
  'a worker that the node does not have': {
    code: 3,
    text: `worker 7 is not one of ${taken}`,
    call: ({ client }) => client.getGuestAttributes({ name: taken, workerIds: ['7'] }),
  },
};

/** Over REST the client makes the code from the HTTP status, which several share (google-gax 4.6, fallbackError). */
const FROM_HTTP: Readonly<Record<number, number>> = { 6: 10, 9: 3 };

describe('errors of Cloud TPU, word for word', function () {
  let clients: readonly ApiClient[] = [];

  before(async () => {
    await cloud.start();
    clients = apiClients(cloud.endpoints);
    await cloud.admin('configure', { capacity: { [`${ZONE}/v6e`]: 0 } });
    await cloud.queue('taken');
    await cloud.becomes('taken', 'ACTIVE');
  });
  after(async () => {
    await Promise.all(clients.map(({ client }) => client.close()));
    await cloud.stop();
  });

  for (const [name, { code, text, details, call }] of Object.entries(cases)) {
    it(`${name}: ${code}, over both wires in both versions`, async () => {
      for (const [index, api] of clients.entries()) {
        const refused = await refusedBy(call(api, `e-${name.length}-${index}`));
        const want = {
          code: api.wire === 'REST' ? (FROM_HTTP[code] ?? code) : code,
          text,
          ...(details !== undefined && { details }),
        };
        const got = {
          code: refused.code,
          text: refused.text,
          ...(details !== undefined && { details: refused.details }),
        };
        assert.deepEqual(got, want, api.name);
      }
      assert.equal(clients.length, 4);
    });
  }
});
