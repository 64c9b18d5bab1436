import assert from 'node:assert/strict';
import { parseJobFile } from '../../domain/job-file/parse.js';
import type { PoolDefaults } from '../../domain/job-file/pool-defaults.js';
import { resolveJob } from '../../domain/job-file/resolve.js';
import type { ResolvedJob } from '../../domain/job-file/resolve.js';
import { jobFileJsonSchema } from '../../domain/job-file/sections.js';
import { specHash } from '../../domain/machine-kinds/cloud-tpu/plan.js';
import { formatProblems } from '../../domain/problem.js';
import { tpuJob, type TpuJob } from '../tpu-job.js';

type Tpu = Readonly<Record<string, unknown>>;

const resolved = (tpu: Tpu, pool?: PoolDefaults): ResolvedJob =>
  resolveJob({ tpu: { accelerator: 'v6e-1', ...tpu } }, pool && { pool });
const messagesOf = (job: ResolvedJob): string => (job.ok ? '' : formatProblems(job.problems));

function specOf(tpu: Tpu, pool?: PoolDefaults): TpuJob['tpu'] {
  const job = resolved(tpu, pool);
  assert.ok(job.ok, messagesOf(job));
  return tpuJob(job.spec).tpu;
}

describe('job file: the cloud keys', () => {
  it('short names of scopes are URLs, each once', () => {
    const read = 'https://www.googleapis.com/auth/devstorage.read_only';
    assert.deepEqual(specOf({ scopes: ['storage-ro', 'cloud-platform', read] }).scopes, [
      read,
      'https://www.googleapis.com/auth/cloud-platform',
    ]);
    assert.equal(specOf({ scopes: ['default'] }).scopes?.length, 7);
    assert.deepEqual(specOf({ scopes: [] }).scopes, []);
    assert.equal(specOf({}).scopes, undefined);
  });

  const accounts = ['default', 't@p.iam.gserviceaccount.com', '123-compute@developer.gserviceaccount.com'];
  for (const service_account of accounts) {
    it(`${service_account} is a service account`, () =>
      assert.equal(specOf({ service_account }).serviceAccount, service_account));
  }

  const networks: Record<string, Tpu> = {
    'short names': { network: 'team', subnetwork: 'team-sub', zones: ['us-central1-a', 'us-east5-a'] },
    'paths of a Shared VPC': {
      zone: 'us-east5-a',
      network: 'projects/host-project/global/networks/team',
      subnetwork: 'projects/host-project/regions/us-east5/subnetworks/team',
    },
    'a project by its number': { network: 'projects/123456/global/networks/team' },
  };
  for (const [name, tpu] of Object.entries(networks)) {
    it(`a network by ${name} is kept as it is written`, () => {
      const { network, subnetwork } = specOf(tpu);
      assert.deepEqual([network, subnetwork], [tpu['network'], tpu['subnetwork']]);
    });
  }

  it('a reservation that is named brings pricing and allocation mode, unless the file says them', () => {
    const { pricing, allocationMode } = specOf({ reservation: 'r1' });
    assert.deepEqual([pricing, allocationMode], ['reserved', 'queued-resources']);
  });
  it('reserved without a name is for either allocation mode', () => {
    assert.equal(specOf({ pricing: 'reserved', allocation_mode: 'tpu-vm' }).reservation, undefined);
  });

  it('a generation with a topology is the type of so many chips', () => {
    const typeOf = (accelerator: string, topology: string): unknown => specOf({ accelerator, topology }).accelerator;
    assert.equal(typeOf('v5e', '4x8'), 'v5litepod-32');
    assert.equal(typeOf('V4', '2x2x4'), 'v4-32');
    assert.equal(typeOf('v4', '4x4x16'), 'v4-512');
  });
  for (const topology of ['4x8x8', '4x4x16', '4x8x8_twisted', '4x8x8_untwisted']) {
    it(`${topology} is a topology of v4-512`, () =>
      assert.equal(specOf({ accelerator: 'v4-512', topology }).topology, topology));
  }
  for (const topology of ['4x4x8', '2x8x16', '8x4x8', '4x8x8_bent', '4x64', '4x8x8_']) {
    it(`${topology} is none`, () =>
      assert.match(messagesOf(resolved({ accelerator: 'v4-512', topology })), /is no topology of v4-512/));
  }

  it('one host may write to its disks, several may read them', () => {
    const disks = [{ source: 'a' }, { source: 'projects/p-of-mine/zones/us-east5-a/disks/b', mode: 'read-only' }];
    assert.deepEqual(specOf({ zone: 'us-east5-a', data_disks: disks }).dataDisks, [
      { source: 'a', mode: 'read-write' },
      { source: 'projects/p-of-mine/zones/us-east5-a/disks/b', mode: 'read-only' },
    ]);
    const shared = { accelerator: 'v6e-16', data_disks: [{ source: 'a', mode: 'read-only' }] };
    assert.deepEqual(specOf(shared).dataDisks, [{ source: 'a', mode: 'read-only' }]);
  });
  it('a host of v6e takes 31 disks beside its boot disk', () => {
    const disks = (count: number): Tpu => ({
      data_disks: Array.from({ length: count }, (_, index) => ({ source: `d${index}` })),
    });
    assert.equal(specOf(disks(31)).dataDisks?.length, 31);
    assert.match(messagesOf(resolved(disks(32))), /^tpu\.data_disks: has 32 disks\n {2}a host takes 31 at most/);
  });
  it('58 labels fit beside ours', () => {
    const labels = (count: number): Tpu => ({
      labels: Object.fromEntries(Array.from({ length: count }, (_, index) => [`l${index}`, 'x'])),
    });
    assert.equal(Object.keys(specOf(labels(58)).labels).length, 58);
    assert.match(messagesOf(resolved(labels(59))), /^tpu\.labels: has 59 labels\n {2}58 at most/);
  });

  it("gcloud's flags for disks and shapes are these keys", () => {
    const text =
      'tpu:\n  flags: [--type=v4, --topology=4x4x16, "--data-disk=source=a,mode=read-only", --data-disk source=b]\n';
    const disks = parseJobFile(`${text}  accelerator: v6e-1\n  topology: null\n`, { file: 'f', env: {} });
    assert.match(messagesOf(disks), /no topology of v6e-1/);
    const parsed = parseJobFile(text.replace(' source=b', '=mode=x'), { file: 'f', env: {} });
    assert.match(messagesOf(parsed), /flags\[3\]: '--data-disk=mode=x' is no disk\n {2}write --data-disk=source=DISK/);
    const flags = ['--data-disk=source=a,mode=read-only', '--data-disk source=b'];
    assert.deepEqual(specOf({ flags }).dataDisks, [
      { source: 'a', mode: 'read-only' },
      { source: 'b', mode: 'read-write' },
    ]);
  });

  const keys: Record<string, Tpu> = {
    project: { project: 'other-project' },
    network: { network: 'n' },
    subnetwork: { subnetwork: 's' },
    external_ips: { external_ips: false },
    service_account: { service_account: 'default' },
    scopes: { scopes: ['cloud-platform'] },
    reservation: { pricing: 'reserved', allocation_mode: 'queued-resources', reservation: 'r' },
    topology: { accelerator: 'v4-512', topology: '4x4x16' },
    data_disks: { data_disks: [{ source: 'd' }] },
    labels: { labels: { a: 'b' } },
  };
  for (const [key, tpu] of Object.entries(keys)) {
    it(`${key} is part of what a resource must have been asked for to be adopted`, () => {
      const { [key]: _, ...without } = tpu;
      assert.notEqual(specHash(specOf(tpu)), specHash(specOf(without)));
    });
  }

  it('the JSON Schema says of every key of tpu what it is', () => {
    type Form = { readonly properties?: Readonly<Record<string, { readonly description?: string }>> };
    const { properties } = jobFileJsonSchema() as { properties: { tpu: { anyOf: readonly Form[] } } };
    const tpu = properties.tpu.anyOf.find((form) => form.properties)?.properties ?? {};
    assert.equal(Object.keys(tpu).length, 27);
    assert.deepEqual(
      Object.entries(tpu).filter(([, { description }]) => !description),
      [],
    );
  });
});

const POOL: PoolDefaults = {
  pool: 'research',
  file: 'pool.toml',
  googleProject: 'pool-project',
  zones: ['us-east5-a', 'us-east5-b'],
  tpu: {
    network: 'pool-net',
    subnetwork: 'pool-sub',
    external_ips: false,
    service_account: 'pool@p.iam.gserviceaccount.com',
    scopes: ['cloud-platform'],
    labels: { team: 'pool', cost: '1' },
    metadata: { a: 'pool', b: 2 },
    tags: ['pool-tag', 'both'],
    pricing: 'ondemand',
    allocation_mode: 'queued-resources',
    version: { v6e: 'pool-runtime' },
    reservation: 'r0',
    startup_script: 'echo pool',
    data_disks: [{ source: 'pool-disk', mode: 'read-only' }],
  },
};

describe("job file: its pool's defaults", () => {
  it('fill in what the file leaves out, and nothing else', () => {
    assert.deepEqual(specOf({}, POOL), {
      accelerator: 'v6e-1',
      zones: ['us-east5-a', 'us-east5-b'],
      project: 'pool-project',
      network: 'pool-net',
      subnetwork: 'pool-sub',
      externalIps: false,
      serviceAccount: 'pool@p.iam.gserviceaccount.com',
      scopes: ['https://www.googleapis.com/auth/cloud-platform'],
      labels: { team: 'pool', cost: '1' },
      metadata: { a: 'pool', b: '2' },
      tags: ['pool-tag', 'both'],
      pricing: 'ondemand',
      allocationMode: 'queued-resources',
      runtimeVersion: 'pool-runtime',
      startupScript: 'echo pool',
      dataDisks: [{ source: 'pool-disk', mode: 'read-only' }],
    });
  });
  it("the job's own value wins; labels and metadata are joined by key, tags are those of both", () => {
    const own = {
      zone: 'us-east1-d',
      project: 'own-project',
      network: 'own-net',
      external_ips: true,
      service_account: 'default',
      scopes: [],
      pricing: 'spot',
      allocation_mode: 'tpu-vm',
      version: 'own-runtime',
      startup_script: 'echo own',
      data_disks: [],
      labels: { team: 'own', more: 'x' },
      metadata: { a: 'own' },
      tags: ['both', 'own-tag'],
    };
    assert.deepEqual(specOf(own, POOL), {
      accelerator: 'v6e-1',
      zones: ['us-east1-d'],
      project: 'own-project',
      network: 'own-net',
      externalIps: true,
      serviceAccount: 'default',
      scopes: [],
      labels: { team: 'own', cost: '1', more: 'x' },
      metadata: { a: 'own', b: '2' },
      tags: ['pool-tag', 'both', 'own-tag'],
      pricing: 'spot',
      allocationMode: 'tpu-vm',
      runtimeVersion: 'own-runtime',
      startupScript: 'echo own',
    });
  });
  it('null is as good as absent', () => {
    assert.deepEqual(specOf({ zone: null, network: null, labels: null }, POOL), specOf({}, POOL));
  });
  it('a runtime by generation is for that generation alone', () => {
    assert.equal(specOf({ accelerator: 'v5e-4' }, POOL).runtimeVersion, 'v2-alpha-tpuv5-lite');
    const v5e = { ...POOL, tpu: { version: { v5e: 'pool-v5e' } } };
    assert.equal(specOf({ accelerator: 'v5litepod-4' }, v5e).runtimeVersion, 'pool-v5e');
  });
  it("the pool's reservation is for jobs of pricing reserved", () => {
    assert.equal(specOf({ pricing: 'reserved' }, POOL).reservation, 'r0');
    const reservedPool = { ...POOL, tpu: { reservation: 'r0' } };
    assert.deepEqual([specOf({}, reservedPool).pricing, specOf({}, reservedPool).reservation], ['reserved', 'r0']);
    assert.equal(specOf({ pricing: 'spot' }, reservedPool).reservation, undefined);
  });
  it("the pool's run duration is for jobs of pricing flex-start, its deadline for queued resources", () => {
    const flex = {
      ...POOL,
      tpu: { pricing: 'flex-start', run_duration: '2h', valid_until: '3h' },
    } as const;
    const job = specOf({}, flex);
    assert.deepEqual([job.pricing, job.runSeconds, job.allocationMode], ['flex-start', 7200, 'queued-resources']);
    assert.equal(specOf({ run_duration: '1h' }, flex).runSeconds, 3600);
    assert.equal(specOf({ pricing: 'spot' }, flex).runSeconds, undefined);
    assert.equal(specOf({ pricing: 'spot', allocation_mode: 'queued-resources' }, flex).validUntilSeconds, 10_800);
    assert.equal(specOf({ pricing: 'spot', allocation_mode: 'tpu-vm' }, flex).validUntilSeconds, undefined);
    const spot = { ...POOL, tpu: { pricing: 'spot' } } as const;
    assert.deepEqual(
      [specOf({ run_duration: 90 }, spot).pricing, specOf({ run_duration: 90 }, spot).runSeconds],
      ['flex-start', 90],
    );
  });
  it("a job that names a reservation leaves the pool's pricing and allocation mode aside", () => {
    const { pricing, allocationMode, reservation } = specOf(
      { reservation: 'mine' },
      { ...POOL, tpu: { pricing: 'spot', allocation_mode: 'tpu-vm' } },
    );
    assert.deepEqual([pricing, allocationMode, reservation], ['reserved', 'queued-resources', 'mine']);
  });

  const named: Record<string, { tpu: Tpu; pool?: PoolDefaults; want: readonly [string | undefined, string] }> = {
    'a file that names none leaves it to its tier': { tpu: {}, want: [undefined, 'spot'] },
    'any is none, and beats the default of the pool': {
      tpu: { pricing: 'Any' },
      pool: { ...POOL, tpu: { pricing: 'reserved' } },
      want: [undefined, 'any'],
    },
    'the default of the pool binds no job to a tier': {
      tpu: {},
      pool: { ...POOL, tpu: { pricing: 'ondemand' } },
      want: [undefined, 'ondemand'],
    },
    'a file that says spot is for tiers of spot': { tpu: { pricing: 'SPOT' }, want: ['spot', 'spot'] },
    'a reservation that is named is one of pricing reserved': {
      tpu: { reservation: 'mine' },
      want: ['reserved', 'reserved'],
    },
  };
  for (const [name, { tpu, pool, want }] of Object.entries(named)) {
    it(name, () => {
      const job = resolved(tpu, pool);
      assert.ok(job.ok, messagesOf(job));
      assert.deepEqual([job.spec.namedPricing, tpuJob(job.spec).tpu.pricing], want);
    });
  }

  const wrong: Record<string, { tpu: Tpu; pool: PoolDefaults; want: string }> = {
    "the pool's reservation with the job's allocation mode": {
      tpu: { pricing: 'reserved', allocation_mode: 'tpu-vm' },
      pool: POOL,
      want: 'pool.toml: tpu.reservation: a reservation is named through queued resources only, and allocation_mode is tpu-vm',
    },
    "the pool's subnetwork with the job's zone": {
      tpu: { zone: 'us-east1-d' },
      pool: { pool: 'p', file: 'pool.toml', tpu: { subnetwork: 'projects/host-p/regions/us-east5/subnetworks/s' } },
      want: 'pool.toml: tpu.subnetwork: lies in region us-east5, and the job may run in zone us-east1-d',
    },
    "the job's subnetwork with the pool's zones": {
      tpu: { subnetwork: 'projects/host-p/regions/us-east1/subnetworks/s' },
      pool: POOL,
      want: 'tpu.subnetwork: lies in region us-east1, and the job may run in zone us-east5-a',
    },
    "the pool's disk with the job's hosts": {
      tpu: { accelerator: 'v6e-16' },
      pool: { pool: 'p', file: 'pool.toml', zones: ['us-east5-a'], tpu: { data_disks: [{ source: 'd' }] } },
      want: 'pool.toml: tpu.data_disks[0].mode: only one host can write to a disk, and the job has 4 hosts (read-write where no mode is given)',
    },
    'no zone anywhere, and no pool file': {
      tpu: {},
      pool: { pool: 'research' },
      want: "tpu.zone: no zone in the job file, and pool 'research' has no pool file",
    },
    'no zone anywhere': {
      tpu: {},
      pool: { pool: 'research', file: '/etc/pool.toml' },
      want: "tpu.zone: no zone in the job file, and none in /etc/pool.toml, the file of pool 'research'",
    },
  };
  for (const [name, { tpu, pool, want }] of Object.entries(wrong)) {
    it(`${name} is refused, and it is said whose file is meant`, () => {
      assert.equal(messagesOf(resolved(tpu, pool)).split('\n')[0], want);
    });
  }

  it('without the pool a zone may be missing, and it is said what is left to the pool', () => {
    const job = resolved({ zone: null, pricing: 'spot', network: 'n' });
    assert.ok(job.ok);
    assert.deepEqual(tpuJob(job.spec).tpu.zones, []);
    assert.ok(job.leftToPool.includes('zone') && job.leftToPool.includes('project'));
    assert.ok(!job.leftToPool.includes('pricing') && !job.leftToPool.includes('network'));
    const complete = resolved({}, POOL);
    assert.deepEqual(complete.ok && complete.leftToPool, []);
  });
});
