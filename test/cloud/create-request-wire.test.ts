import assert from 'node:assert/strict';
import type { CloudTpuMachines } from '../../cloud/machines/cloud-tpu/google-tpu.js';
import { resolveJob } from '../../domain/job-file/resolve.js';
import { formatProblems } from '../../domain/problem.js';
import type { CloudTpuRef } from '../../domain/machine-kinds/cloud-tpu/words.js';
import { slicePlan } from '../../domain/machine-kinds/cloud-tpu/plan.js';
import type { TierPurchase } from '../../domain/slice.js';
import { startRehearsedCloud, type RehearsedCloud } from './rehearsed-cloud.js';
import { tpuJob } from '../tpu-job.js';

type Json = Readonly<Record<string, unknown>>;

const OURS = {
  'jobctl-owner': 'own-1',
  'jobctl-job': 'train-x1',
  'jobctl-run': 'run-1',
  'jobctl-generation': '1',
};
/** What a node of the least job file is asked for. The oracle is written by hand: no code of ours makes it. */
const LEAST = {
  description: 'jobctl job train-x1',
  acceleratorType: 'v5litepod-1',
  runtimeVersion: 'v2-alpha-tpuv5-lite',
  networkConfig: { enableExternalIps: true },
  labels: OURS,
  metadata: { 'ssh-keys': 'me:ssh-ed25519 AAAA test' },
};
const AUTH = 'https://www.googleapis.com/auth';
const VPC = {
  network: 'projects/host-project/global/networks/team',
  subnetwork: 'projects/host-project/regions/us-west4/subnetworks/team',
};
const DISKS = [
  { source: 'corpus', mode: 'read-only' },
  { source: 'projects/data-project/zones/us-west4-a/disks/scratch' },
];

/** Keys of `tpu`, and what they change in the node that is asked for, whichever way. */
const KEYS: Record<string, { tpu: Json; want: Json }> = {
  'nothing beside the accelerator': { tpu: {}, want: {} },
  'network and subnetwork by their names': {
    tpu: { network: 'team', subnetwork: 'team-sub' },
    want: { networkConfig: { network: 'team', subnetwork: 'team-sub', enableExternalIps: true } },
  },
  'network default': {
    tpu: { network: 'default' },
    want: { networkConfig: { network: 'default', enableExternalIps: true } },
  },
  "a Shared VPC's": { tpu: VPC, want: { networkConfig: { ...VPC, enableExternalIps: true } } },
  'external_ips: false': { tpu: { external_ips: false }, want: { networkConfig: {} } },
  'service_account and scopes': {
    tpu: { service_account: 't@p.iam.gserviceaccount.com', scopes: ['storage-ro', `${AUTH}/compute`] },
    want: {
      serviceAccount: {
        email: 't@p.iam.gserviceaccount.com',
        scope: [`${AUTH}/devstorage.read_only`, `${AUTH}/compute`],
      },
    },
  },
  'service_account: default': { tpu: { service_account: 'default' }, want: {} },
  'scopes of the default service account': {
    tpu: { scopes: ['cloud-platform'] },
    want: { serviceAccount: { scope: [`${AUTH}/cloud-platform`] } },
  },
  'a generation and its topology': {
    tpu: { accelerator: 'v4', topology: '2x2x2' },
    want: { acceleratorType: 'v4-16', runtimeVersion: 'tpu-ubuntu2204-base' },
  },
  data_disks: {
    tpu: { data_disks: DISKS },
    want: {
      dataDisks: [
        { sourceDisk: 'projects/tpu-project/zones/us-west4-a/disks/corpus', mode: 'READ_ONLY' },
        { sourceDisk: 'projects/data-project/zones/us-west4-a/disks/scratch', mode: 'READ_WRITE' },
      ],
    },
  },
  labels: { tpu: { labels: { team: 'vision', cost: 7 } }, want: { labels: { ...OURS, team: 'vision', cost: '7' } } },
  'tags, metadata, startup_script and version': {
    tpu: { tags: ['ssh', 'web'], metadata: { a: 1 }, startup_script: 'echo hi', version: 'v2-alpha-mine' },
    want: {
      tags: ['ssh', 'web'],
      metadata: { ...LEAST.metadata, a: '1', 'startup-script': 'echo hi' },
      runtimeVersion: 'v2-alpha-mine',
    },
  },
};

/** How each pricing is asked for: beside the node of a queued resource, and in a node without a queue. */
const PRICINGS: Record<string, { queued: Json; inNode: Json; node: Json }> = {
  spot: { queued: { spot: {} }, inNode: {}, node: { spot: true } },
  ondemand: { queued: {}, inNode: {}, node: {} },
  preemptible: { queued: {}, inNode: { schedulingConfig: { preemptible: true } }, node: { preemptible: true } },
  reserved: {
    queued: { reservationName: 'projects/tpu-project/locations/us-west4-a/reservations/-' },
    inNode: {},
    node: { reserved: true },
  },
};

const RESERVATIONS: Record<string, string> = {
  r1: 'projects/tpu-project/locations/us-west4-a/reservations/r1',
  'projects/owner-project/reservations/r2': 'projects/owner-project/locations/us-west4-a/reservations/r2',
  'projects/owner-project/locations/us-west4-a/reservations/r3':
    'projects/owner-project/locations/us-west4-a/reservations/r3',
};

/** What a job file says of its pricing, what its lease's tier is bought as, and what is asked for then. */
const TIERS: Record<string, { tpu: Json; bought: TierPurchase; want: Json }> = {
  'pricing: spot beside a quota file of one plain table': { tpu: { pricing: 'spot' }, bought: {}, want: { spot: {} } },
  'pricing: ondemand beside one': { tpu: { pricing: 'ondemand' }, bought: {}, want: {} },
  'no pricing in a tier of ondemand': { tpu: {}, bought: { pricing: 'ondemand' }, want: {} },
  'pricing: any in a tier of a reservation': {
    tpu: { pricing: 'any' },
    bought: { pricing: 'reserved', reservation: 'r1' },
    want: { reservationName: RESERVATIONS['r1'] },
  },
  'a reservation of its own in a tier of another': {
    tpu: { reservation: 'r1' },
    bought: { pricing: 'reserved', reservation: 'r9' },
    want: { reservationName: RESERVATIONS['r1'] },
  },
};

describe('what a job file asks Cloud TPU for, as the service got it', function () {
  this.timeout(30_000);
  let cloud: RehearsedCloud;
  let port: CloudTpuMachines;
  let count = 0;

  before(async () => {
    cloud = await startRehearsedCloud();
    // Requests wait, so that no VM has to boot.
    await cloud.admin('hold', { state: 'WAITING_FOR_RESOURCES' });
    port = cloud.tpuPort();
  });
  after(() => cloud.stop());

  /** Asks by way of the job file, the plan and Google's own client. */
  async function ask(mode: string, keys: Json, bought: TierPurchase = {}): Promise<CloudTpuRef> {
    const job = resolveJob({
      tpu: { accelerator: 'v5litepod-1', zone: 'us-west4-a', allocation_mode: mode, ...keys },
    });
    assert.ok(job.ok, job.ok ? '' : formatProblems(job.problems));
    const plan = slicePlan(tpuJob(job.spec), {
      ...{ owner: 'own-1', job: 'train-x1', run: 'run-1', generation: 1, loginUser: 'me' },
      ...{
        googleProject: 'tpu-project',
        zone: 'us-west4-a',
        name: `s${(count += 1)}`,
        publicKey: 'ssh-ed25519 AAAA test',
      },
      bought,
    });
    assert.equal((await port.create(plan)).kind, 'accepted');
    return plan.ref;
  }

  async function get(path: string): Promise<Json> {
    return (await (await fetch(`${cloud.restEndpoint}/v2/${path}`)).json()) as Json;
  }

  /** The queued resource without what the service itself adds. */
  async function queued(keys: Json, googleProject = 'tpu-project', bought: TierPurchase = {}): Promise<Json> {
    const { name } = await ask('queued-resources', keys, bought);
    const parent = `projects/${googleProject}/locations/us-west4-a`;
    const { name: full, createTime, state, tpu, ...tier } = await get(`${parent}/queuedResources/${name}`);
    assert.deepEqual(
      [full, typeof createTime, typeof state],
      [`${parent}/queuedResources/${name}`, 'string', 'object'],
    );
    const { nodeSpec, ...others } = tpu as { nodeSpec: readonly { parent: string; nodeId: string; node: Json }[] };
    assert.deepEqual([nodeSpec.length, others], [1, {}]);
    const [{ parent: nodeParent, nodeId, node }] = nodeSpec as [{ parent: string; nodeId: string; node: Json }];
    assert.deepEqual([nodeParent, nodeId], [parent, name]);
    return { ...tier, node: withoutSpecHash(node) };
  }

  /** The node without what the service itself adds. */
  async function unqueued(keys: Json, googleProject = 'tpu-project'): Promise<Json> {
    const { name } = await ask('tpu-vm', keys);
    const seen = await get(`projects/${googleProject}/locations/us-west4-a/nodes/${name}`);
    assert.equal(seen['name'], `projects/${googleProject}/locations/us-west4-a/nodes/${name}`);
    const added = [
      'name',
      'state',
      'id',
      'createTime',
      'networkEndpoints',
      'health',
      'apiVersion',
      'acceleratorConfig',
    ];
    return withoutSpecHash(Object.fromEntries(Object.entries(seen).filter(([key]) => !added.includes(key))));
  }

  /** Its value is another for each case; that it is one is all that is asked here. */
  function withoutSpecHash(node: Json): Json {
    const { 'jobctl-spec': hash, ...labels } = node['labels'] as Record<string, string>;
    assert.match(hash ?? '', /^[0-9a-f]{16}$/);
    return { ...node, labels };
  }

  /** The service fills in the network of a node. */
  const onDefaultNetwork = ({ networkConfig, ...node }: Json): Json => ({
    ...node,
    networkConfig: { network: 'default', subnetwork: 'default', ...(networkConfig as object) },
  });

  for (const [name, { tpu, want }] of Object.entries(KEYS)) {
    it(`${name}: the whole request for a queued resource`, async () => {
      assert.deepEqual(await queued(tpu), { spot: {}, node: { ...LEAST, ...want } });
    });
    it(`${name}: the whole request for a node`, async () => {
      const node = { ...LEAST, schedulingConfig: { spot: true }, ...want };
      assert.deepEqual(await unqueued(tpu), onDefaultNetwork(node));
    });
  }

  for (const [pricing, want] of Object.entries(PRICINGS)) {
    it(`${pricing}: the whole request for a queued resource`, async () => {
      assert.deepEqual(await queued({ pricing }), { ...want.queued, node: { ...LEAST, ...want.inNode } });
    });
    it(`${pricing}: the whole request for a node`, async () => {
      const node = { ...LEAST, schedulingConfig: want.node };
      assert.deepEqual(await unqueued({ pricing }), onDefaultNetwork(node));
    });
  }

  for (const [reservation, reservationName] of Object.entries(RESERVATIONS)) {
    it(`reservation ${reservation}: the whole request`, async () => {
      assert.deepEqual(await queued({ reservation }), { reservationName, node: LEAST });
    });
  }

  for (const [name, { tpu, bought, want }] of Object.entries(TIERS)) {
    it(`${name}: the whole request`, async () => {
      assert.deepEqual(await queued(tpu, 'tpu-project', bought), { ...want, node: LEAST });
    });
  }

  it("a tier's flex-start is asked for through a queued resource, also for a job that asks for a node, for as long as Google sells", async () => {
    const { name, mode } = await ask('tpu-vm', {}, { pricing: 'flex-start' });
    assert.equal(mode, 'queued-resources');
    const seen = await get(`projects/tpu-project/locations/us-west4-a/queuedResources/${name}`);
    const { provisioningModel, runDuration } = seen;
    assert.deepEqual([provisioningModel, runDuration], ['FLEX_START', { maxRunDuration: '604800s' }]);
    const ordinary = await ask('queued-resources', { run_duration: '2h' }, { pricing: 'spot' });
    const spot = await get(`projects/tpu-project/locations/us-west4-a/queuedResources/${ordinary.name}`);
    assert.deepEqual([spot['provisioningModel'], spot['spot']], [undefined, {}]);
  });

  it("a tier's reservation is named through a queued resource, also for a job that asks for a node", async () => {
    const { name, mode } = await ask('tpu-vm', {}, { pricing: 'reserved', reservation: 'r1' });
    assert.equal(mode, 'queued-resources');
    const seen = await get(`projects/tpu-project/locations/us-west4-a/queuedResources/${name}`);
    assert.equal(seen['reservationName'], RESERVATIONS['r1']);
  });

  it('project: the request goes to that one, and so do short names', async () => {
    const keys = { project: 'other-project', data_disks: [{ source: 'd' }] };
    const disk = { sourceDisk: 'projects/other-project/zones/us-west4-a/disks/d', mode: 'READ_WRITE' };
    const node = { ...LEAST, dataDisks: [disk] };
    assert.deepEqual(await queued(keys, 'other-project'), { spot: {}, node });
    const scheduled = { ...node, schedulingConfig: { spot: true } };
    assert.deepEqual(await unqueued(keys, 'other-project'), onDefaultNetwork(scheduled));
    const { reservationName } = await queued({ project: 'other-project', reservation: 'r1' }, 'other-project');
    assert.equal(reservationName, 'projects/other-project/locations/us-west4-a/reservations/r1');
  });

  it('topology: another shape is asked for with its generation', async () => {
    const keys = { accelerator: 'v4-256', topology: '4x4x8_twisted' };
    const { node } = (await queued(keys)) as { node: Json };
    assert.deepEqual(node['acceleratorConfig'], { type: 'V4', topology: '4x4x8_twisted' });
    const { name, zone, googleProject } = await ask('tpu-vm', keys);
    const seen = await get(`projects/${googleProject}/locations/${zone}/nodes/${name}`);
    assert.deepEqual(seen['acceleratorConfig'], { type: 'V4', topology: '4x4x8_twisted' });
    assert.equal((seen['networkEndpoints'] as unknown[]).length, 32);
  });
});
