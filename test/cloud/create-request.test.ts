import assert from 'node:assert/strict';
import {
  createNodeRequest,
  createQueuedResourceRequest,
  nodePath,
  queuedResourcePath,
} from '../../cloud/machines/cloud-tpu/create-request.js';
import { ownershipFrom } from '../../domain/identity.js';
import { nodeRefs } from '../../domain/machine-kinds/cloud-tpu/plan.js';
import { ownership, slicePlan } from './cloud-tpu-plan.js';

const PARENT = 'projects/tpu-project/locations/us-west4-a';
const queued = (over: Parameters<typeof slicePlan>[2]) =>
  createQueuedResourceRequest(slicePlan('s', 'queued-resources', over)).queuedResource;
const node = (over: Parameters<typeof slicePlan>[2]) => createNodeRequest(slicePlan('s', 'tpu-vm', over)).node;

describe('the request for a queued resource', () => {
  it('asks for one node of its own name in its own zone', () => {
    const request = createQueuedResourceRequest(slicePlan('s', 'queued-resources'));
    assert.equal(request.parent, PARENT);
    assert.equal(request.queuedResourceId, 's');
    const specs = request.queuedResource?.tpu?.nodeSpec;
    assert.deepEqual(
      specs?.map(({ parent, nodeId }) => ({ parent, nodeId })),
      [{ parent: PARENT, nodeId: 's' }],
    );
    assert.equal(specs?.[0]?.node?.acceleratorType, 'v5litepod-16');
  });

  it('for several slices asks once for nodes of its own name and their number', () => {
    const usual = slicePlan('s', 'queued-resources');
    const wanted = { ...usual, ref: { ...usual.ref, slices: 3 } };
    const specs = createQueuedResourceRequest(wanted).queuedResource?.tpu?.nodeSpec;
    assert.deepEqual(
      specs?.map(({ parent, nodeId, multisliceParams }) => ({ parent, nodeId, multisliceParams })),
      [{ parent: PARENT, nodeId: undefined, multisliceParams: { nodeCount: 3, nodeIdPrefix: 's' } }],
    );
    assert.deepEqual(
      nodeRefs(wanted.ref).map(({ name, request }) => [name, request]),
      [0, 1, 2].map((index) => [`s-${index}`, 's']),
    );
    assert.deepEqual(nodeRefs(usual.ref), [usual.ref]);
  });

  const tiers: Record<string, { over: Parameters<typeof slicePlan>[2]; want: object }> = {
    'spot is the spot tier': { over: { pricing: 'spot' }, want: { spot: {} } },
    'ondemand is no tier': { over: { pricing: 'ondemand' }, want: {} },
    'reserved without a name is any reservation of the project': {
      over: { pricing: 'reserved' },
      want: { reservationName: `${PARENT}/reservations/-` },
    },
    'reserved by a short name is of the own zone': {
      over: { pricing: 'reserved', reservation: 'r1' },
      want: { reservationName: `${PARENT}/reservations/r1` },
    },
    'reserved by a full name is that one': {
      over: { pricing: 'reserved', reservation: 'projects/q/locations/z/reservations/r' },
      want: { reservationName: 'projects/q/locations/z/reservations/r' },
    },
    'reserved by a name and its project is of that project, in the own zone': {
      over: { pricing: 'reserved', reservation: 'projects/q/reservations/r' },
      want: { reservationName: 'projects/q/locations/us-west4-a/reservations/r' },
    },
    'any of a folder is of the own zone': {
      over: { pricing: 'reserved', reservation: 'folders/7/reservations/-' },
      want: { reservationName: 'folders/7/locations/us-west4-a/reservations/-' },
    },
    'preemptible has no tier': { over: { pricing: 'preemptible' }, want: {} },
  };
  for (const [name, { over, want }] of Object.entries(tiers)) {
    it(name, () => {
      const { tpu, ...tier } = queued(over) ?? {};
      assert.deepEqual(tier, want);
      const isPreemptible = tpu?.nodeSpec?.[0]?.node?.schedulingConfig?.preemptible ?? false;
      assert.equal(isPreemptible, over?.pricing === 'preemptible');
    });
  }
});

describe('the request for a node', () => {
  for (const pricing of ['spot', 'preemptible', 'reserved', 'ondemand'] as const) {
    it(`${pricing} is its scheduling`, () => {
      const want = {
        spot: pricing === 'spot',
        preemptible: pricing === 'preemptible',
        reserved: pricing === 'reserved',
      };
      assert.deepEqual(node({ pricing })?.schedulingConfig, want);
    });
  }

  it("carries the user's labels, but never instead of the owner's", () => {
    const labels = node({ labels: { team: 'a', 'jobctl-owner': 'thief' } })?.labels;
    assert.equal(labels?.['team'], 'a');
    assert.deepEqual(ownershipFrom(labels), ownership());
  });

  it('names another topology with the generation, never with the type', () => {
    const asked = node({ accelerator: 'v4-16', topology: '1x2x4' });
    assert.deepEqual(asked?.acceleratorConfig, { type: 'V4', topology: '1x2x4' });
    assert.equal(asked?.acceleratorType, undefined);
  });

  it("leaves out the type's own topology", () => {
    assert.equal(node({ accelerator: 'v4-16', topology: '2x2x2' })?.acceleratorType, 'v4-16');
  });

  it('names network, addresses and service account as the plan does', () => {
    const asked = node({
      network: 'n',
      subnetwork: 's',
      externalIps: true,
      serviceAccount: 'a@b',
      scopes: ['c'],
      tags: ['t'],
    });
    assert.deepEqual(asked?.networkConfig, { network: 'n', subnetwork: 's', enableExternalIps: true });
    assert.deepEqual(asked?.serviceAccount, { email: 'a@b', scope: ['c'] });
    assert.deepEqual(asked?.tags, ['t']);
  });

  it('names nothing that the plan does not: the default network, no disks, the default service account', () => {
    const asked = node({ serviceAccount: 'default' });
    assert.deepEqual(asked?.networkConfig, { enableExternalIps: false });
    assert.deepEqual([asked?.serviceAccount, asked?.dataDisks], [undefined, undefined]);
    assert.deepEqual(node({})?.serviceAccount, undefined);
  });

  it('has a service account without scopes, and scopes of the default service account', () => {
    assert.deepEqual(node({ serviceAccount: 'a@b' })?.serviceAccount, { email: 'a@b' });
    assert.deepEqual(node({ serviceAccount: 'default', scopes: ['c'] })?.serviceAccount, { scope: ['c'] });
  });

  it('attaches disks by their full path: one without a project is of the own zone', () => {
    const disks = node({
      dataDisks: [
        { source: 'd', mode: 'read-only' },
        { source: 'projects/q/zones/z/disks/e', mode: 'read-write' },
      ],
    })?.dataDisks;
    assert.deepEqual(disks, [
      { sourceDisk: 'projects/tpu-project/zones/us-west4-a/disks/d', mode: 'READ_ONLY' },
      { sourceDisk: 'projects/q/zones/z/disks/e', mode: 'READ_WRITE' },
    ]);
  });

  it('tells Google whose it is, and its VMs what the plan says', () => {
    const asked = node({ metadata: { a: 'b' } });
    assert.deepEqual([asked?.description, asked?.metadata], ['jobctl job train-x1', { a: 'b' }]);
  });

  it('names a type that is not in our table as it is, whatever its topology', () => {
    assert.equal(node({ accelerator: 'v99-8', topology: '9x9' })?.acceleratorType, 'v99-8');
  });

  it('is not made with ownership that no label can hold', () => {
    assert.throws(() => node({ ownership: ownership({ job: 'Not A Label' }) }), RangeError);
  });
});

describe('the path of a resource', () => {
  it('has its project, its zone, and the request that a node belongs to', () => {
    const { ref } = slicePlan('s', 'queued-resources');
    assert.equal(nodePath(ref), `${PARENT}/nodes/s`);
    assert.equal(queuedResourcePath(ref), `${PARENT}/queuedResources/s`);
    const [, second] = nodeRefs({ ...ref, slices: 2 });
    assert.ok(second);
    assert.equal(nodePath(second), `${PARENT}/nodes/s-1`);
    assert.equal(queuedResourcePath(second), `${PARENT}/queuedResources/s`);
  });
});
