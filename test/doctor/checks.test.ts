import assert from 'node:assert/strict';
import type { FirewallRule, QuotaLimit } from '../../cloud/google-project/port.js';
import { ACT_AS, BUCKET_PERMISSIONS, PROJECT_PERMISSIONS } from '../../cloud/google-project/roles.js';
import { checks } from '../../cli/doctor/checks.js';
import {
  type GoogleFacts,
  type ProjectAnswers,
  type ZoneAnswers,
  SERVICES,
  type Wanted,
} from '../../cli/doctor/facts.js';
import type { Finding, Looked, NotLooked } from '../../cli/doctor/finding.js';
import { openingRules } from '../../cli/doctor/network-checks.js';
import { quotaOf, metricsOf } from '../../cli/doctor/place-checks.js';
import { findAccelerator } from '../../domain/accelerators.js';
import type { AcceleratorType } from '../../domain/accelerators.js';

const known = <T>(value: T): Looked<T> => ({ known: true, value });
const unknown: NotLooked = { known: false, why: 'no answer' };

const type = (name: string): AcceleratorType => findAccelerator(name) as AcceleratorType;

const wanted = (more: Partial<Wanted> = {}): Wanted => ({
  zones: ['us-east1-d'],
  accelerator: type('v6e-16'),
  runtimeVersion: 'v2-alpha-tpuv6e',
  ...{ slices: 1, pricing: 'spot', tags: [], externalIps: true, bucket: 'b' },
  ...more,
});

const rule = (more: Partial<FirewallRule> = {}): FirewallRule => ({
  ...{ name: 'ssh', network: 'default', isIngress: true, isDisabled: false, priority: 1000 },
  ...{ sourceRanges: ['0.0.0.0/0'], targetTags: [], denies: [] },
  allows: [{ protocol: 'tcp', ports: ['22'] }],
  ...more,
});

const limit = (metric: string, per: 'zone' | 'region', ...buckets: QuotaLimit['buckets'][number][]): QuotaLimit => ({
  metric: `tpu.googleapis.com/${metric}`,
  unit: `1/{project}/{${per}}`,
  buckets,
});
const general = (effectiveLimit: number) => ({ dimensions: {}, effectiveLimit });

const zone = (more: Partial<ZoneAnswers> = {}): ZoneAnswers => ({
  zone: 'us-east1-d',
  acceleratorTypes: known(['v6e-8', 'v6e-16']),
  runtimeVersions: known(['v2-alpha-tpuv6e']),
  subnetwork: known({ network: 'default', hasPrivateGoogleAccess: false }),
  regionQuotas: known([{ metric: 'IN_USE_ADDRESSES', limit: 8, usage: 2 }]),
  ...more,
});

const answers = (more: Partial<ProjectAnswers> = {}): ProjectAnswers => ({
  project: known({ id: 'p', number: '123', state: 'ACTIVE' }),
  services: new Map(SERVICES.map((service) => [service, known(true)])),
  granted: known([...PROJECT_PERMISSIONS, ACT_AS].map(({ permission }) => permission)),
  grantedOnAccount: known([]),
  serviceAccount: '123-compute@developer.gserviceaccount.com',
  quotaLimits: known([limit('tpu-v6e-preemptible', 'zone', general(64))]),
  hasNetwork: known(true),
  firewallRules: known([rule()]),
  externalIpPolicy: known({ isEnforced: false, isAllDenied: false }),
  osLoginPolicy: known({ isEnforced: false, isAllDenied: false }),
  zones: [zone()],
  bucket: {
    name: 'b',
    facts: known({ location: 'us-east1', locationType: 'region' }),
    granted: known(BUCKET_PERMISSIONS.map(({ permission }) => permission)),
  },
  ...more,
});

const identity = known({ kind: 'service-account', email: 'w@p.iam.gserviceaccount.com' } as const);
const judged = (more: Partial<ProjectAnswers>, want: Partial<Wanted> = {}): readonly Finding[] =>
  checks({ googleProject: 'p', identity, rest: answers(more) }, wanted(want));

/** `failed quota: what it says`, of all that is not ok. */
const wrong = (findings: readonly Finding[]): readonly string[] =>
  findings.filter(({ state }) => state !== 'ok').map(({ check, state, what }) => `${state} ${check}: ${what}`);

const withoutPermission = (permission: string): Looked<readonly string[]> =>
  known([...PROJECT_PERMISSIONS, ACT_AS].map((needed) => needed.permission).filter((name) => name !== permission));

describe('the checks of a Google project', () => {
  it('find nothing wrong where everything is there, and say what each saw', () => {
    const findings = judged({});
    assert.deepEqual(wrong(findings), []);
    assert.ok(findings.length >= 15, `${findings.length}`);
    assert.ok(findings.every(({ what }) => what !== ''));
  });

  const cases: Record<string, { facts?: Partial<ProjectAnswers>; want?: Partial<Wanted>; says: string[] }> = {
    'a project that is being deleted': {
      facts: { project: known({ id: 'p', number: '123', state: 'DELETE_REQUESTED' }) },
      says: ['failed project: p is being deleted (DELETE_REQUESTED)'],
    },
    'a project that is hidden or missing': {
      facts: {
        granted: known([]),
        project: { known: false, why: 'The caller does not have permission', httpStatus: 403 },
      },
      says: ['failed project: project p does not exist, or this login has no right to see it'],
    },
    'a project that the login has rights on and cannot see': {
      facts: { project: { known: false, why: 'not allowed', httpStatus: 403, kind: 'no-permission' } },
      says: ['warning project: could not look: not allowed'],
    },
    'an API that is off': {
      facts: { services: new Map([['tpu.googleapis.com', known(false)]]) },
      says: ['failed API tpu: the Cloud TPU API (tpu.googleapis.com) is not enabled in project p'],
    },
    'one permission that is missing': {
      facts: { granted: withoutPermission('tpu.nodes.delete') },
      says: ['failed permissions: no tpu.nodes.delete on projects/p, needed to delete slices; roles/tpu.admin has it'],
    },
    'no right to run as the service account': {
      facts: { granted: withoutPermission(ACT_AS.permission) },
      says: [
        'failed service account: no iam.serviceAccounts.actAs on 123-compute@developer.gserviceaccount.com, needed to create slices whose hosts run as it; roles/iam.serviceAccountUser has it',
      ],
    },
    'a service account that is not there': {
      facts: {
        granted: withoutPermission(ACT_AS.permission),
        grantedOnAccount: known(undefined),
        serviceAccount: 'x@p',
      },
      says: ['failed service account: x@p does not exist'],
    },
    'a bucket that is not there': {
      facts: { bucket: { name: 'b', facts: known(undefined), granted: known(undefined) } },
      says: ['failed bucket: gs://b does not exist'],
    },
    'a bucket that can only be read': {
      facts: {
        bucket: {
          name: 'b',
          facts: unknown,
          granted: known(['storage.objects.get', 'storage.objects.list', 'storage.objects.delete']),
        },
      },
      says: [
        'failed bucket: no storage.objects.create on gs://b, needed to write logs and outcomes; roles/storage.objectAdmin has it',
        'warning bucket region: could not look: no answer',
      ],
    },
    'a bucket on another continent': {
      facts: {
        bucket: {
          name: 'b',
          facts: known({ location: 'eu', locationType: 'multi-region' }),
          granted: known(BUCKET_PERMISSIONS.map(({ permission }) => permission)),
        },
      },
      says: [
        'warning bucket region: gs://b is in eu, and the slices in us-east1: reading checkpoints there is slow, and is billed',
      ],
    },
    'a type that the zone has not': {
      facts: { zones: [zone({ acceleratorTypes: known(['v6e-8']) })] },
      says: ['failed us-east1-d type: us-east1-d does not offer v6e-16; the nearest is v6e-8'],
    },
    'a quota below what two slices want': {
      facts: { quotaLimits: known([limit('tpu-v6e-preemptible', 'zone', general(16))]) },
      want: { slices: 2 },
      says: [
        'failed us-east1-d quota: tpu-v6e-preemptible: 16 in us-east1-d, and 32 are wanted',
        'failed us-east1 addresses: IN_USE_ADDRESSES: 6 of 8 are free in us-east1, and 8 hosts need one each',
      ],
    },
    'a quota that Google does not list': {
      facts: { quotaLimits: known([]) },
      says: ['warning us-east1-d quota: could not look: Google lists no quota of v6e spot for us-east1-d'],
    },
    'no zone': {
      want: { zones: [] },
      facts: { zones: [] },
      says: ['warning zone: none is named: types, quota, subnetwork and addresses were not looked at'],
    },
    'a network that is not there': {
      facts: { hasNetwork: known(false) },
      says: ['failed network: network default does not exist in project p'],
    },
    'a subnetwork of another network': {
      want: { network: 'mine', subnetwork: 's' },
      facts: { firewallRules: known([rule({ network: 'mine' })]) },
      says: ['failed us-east1 subnetwork: s is of network default, not of mine'],
    },
    'no external addresses and no private Google access': {
      want: { externalIps: false },
      says: [
        'failed us-east1 subnetwork: default has no private Google access, and hosts without external addresses cannot reach Cloud Storage then',
      ],
    },
    'no rule that lets SSH in': {
      facts: { firewallRules: known([rule({ allows: [{ protocol: 'icmp', ports: [] }] })]) },
      says: ['failed firewall: no rule of network default lets tcp:22 in (firewall policies are not looked at)'],
    },
    'SSH from one range alone': {
      facts: { firewallRules: known([rule({ sourceRanges: ['10.0.0.0/8'] })]) },
      says: [
        'warning firewall: ssh lets tcp:22 in from 10.0.0.0/8 alone; the worker reaches hosts by their external addresses',
      ],
    },
    'a policy against external addresses': {
      facts: { externalIpPolicy: known({ isEnforced: false, isAllDenied: true }) },
      says: ['failed external addresses: the organization forbids external addresses (compute.vmExternalIpAccess)'],
    },
    'OS Login by policy': {
      facts: { osLoginPolicy: known({ isEnforced: true, isAllDenied: false }) },
      says: [
        'warning OS Login: the organization requires OS Login (compute.requireOsLogin): hosts ignore the SSH key that jobctl gives them',
      ],
    },
  };
  for (const [name, { facts = {}, want = {}, says }] of Object.entries(cases)) {
    it(`tell of ${name}, and of nothing else`, () => assert.deepEqual(wrong(judged(facts, want)), says));
  }

  it('call nothing ok that could not be looked at', () => {
    const nothing = answers({
      ...{ project: unknown, granted: unknown, grantedOnAccount: unknown, quotaLimits: unknown, hasNetwork: unknown },
      ...{ firewallRules: unknown, externalIpPolicy: unknown, osLoginPolicy: unknown },
      services: new Map(SERVICES.map((service) => [service, unknown])),
      zones: [
        zone({ acceleratorTypes: unknown, runtimeVersions: unknown, subnetwork: unknown, regionQuotas: unknown }),
      ],
      bucket: { name: 'b', facts: unknown, granted: unknown },
      systemBucket: {
        ...{ name: 's', facts: unknown, granted: unknown, bindings: known([]), projectBindings: unknown },
      },
    });
    const findings = checks({ googleProject: 'p', identity, rest: nothing }, wanted());
    assert.deepEqual(
      findings.filter(({ state }) => state === 'ok').map(({ check }) => check),
      ['credentials'],
    );
    assert.deepEqual(
      findings.filter(({ state }) => state === 'failed'),
      [],
    );
    assert.equal(findings.filter(({ what }) => what === 'could not look: no answer').length, findings.length - 1);
  });

  it('stop at a login that is none', () => {
    const facts: GoogleFacts = { googleProject: 'p', identity: { known: false, why: 'no login', remedy: 'log in' } };
    assert.deepEqual(checks(facts, wanted()), [
      { check: 'credentials', state: 'failed', what: 'no login', remedy: 'log in' },
    ]);
  });

  it('put the address of the login into the commands that they name', () => {
    const [finding] = judged({ granted: withoutPermission('tpu.nodes.create') }).filter(
      ({ state }) => state === 'failed',
    );
    assert.equal(
      finding?.remedy,
      "an owner runs 'gcloud projects add-iam-policy-binding p --member=serviceAccount:w@p.iam.gserviceaccount.com --role=roles/tpu.admin'",
    );
  });
});

describe('the quota of a type in a zone', () => {
  const of = (limits: readonly QuotaLimit[], name = 'v6e-16', isPreemptible = true) =>
    quotaOf(limits, type(name), isPreemptible, 'us-east1-d')?.limit;

  it("is the zone's own before the general one; a limit that Google leaves out is 0", () => {
    const own = { dimensions: { zone: 'us-east1-d' }, effectiveLimit: 0 };
    assert.equal(of([limit('tpu-v6e-preemptible', 'zone', general(64), own)]), 0);
    assert.equal(of([limit('tpu-v6e-preemptible', 'zone', general(64))]), 64);
  });
  it("is the smaller of the zone's and the region's; -1 limits nothing", () => {
    const region = (effectiveLimit: number) =>
      limit('tpu-v6e-preemptible', 'region', { dimensions: { region: 'us-east1' }, effectiveLimit });
    const inZone = limit('tpu-v6e-preemptible', 'zone', general(64));
    assert.equal(of([inZone, region(32)]), 32);
    assert.equal(of([inZone, region(-1)]), 64);
    assert.equal(of([region(-1)]), 'unlimited');
  });
  it('is of the pricing, the generation and the use that are asked for', () => {
    const all = [
      limit('tpu-v6e', 'zone', general(1)),
      limit('tpu-v6e-preemptible', 'zone', general(2)),
      limit('tpu-v5s-litepod-preemptible', 'zone', general(3)),
      limit('tpu-v5s-litepod-serving-preemptible', 'zone', general(4)),
      limit('tpu-v5p-preemptible', 'zone', general(5)),
    ];
    assert.equal(of(all, 'v6e-16', false), 1);
    assert.equal(of(all, 'v6e-16'), 2);
    assert.equal(of(all, 'v5litepod-16'), 3);
    assert.equal(of(all, 'v5litepod-8'), 4);
    assert.equal(of(all, 'v5p-16'), 5);
    assert.equal(of(all, 'v4-8'), undefined);
  });
});

describe('the rules that let SSH in', () => {
  const names = (rules: readonly FirewallRule[], tags: readonly string[] = []) =>
    openingRules(rules, 'default', tags).map(({ name }) => name);
  const cases: Record<string, { more: Partial<FirewallRule>; is: boolean }> = {
    'a range of ports around 22': { more: { allows: [{ protocol: 'tcp', ports: ['20-25'] }] }, is: true },
    'every port of tcp': { more: { allows: [{ protocol: 'tcp', ports: [] }] }, is: true },
    'all protocols': { more: { allows: [{ protocol: 'all', ports: [] }] }, is: true },
    'another port': { more: { allows: [{ protocol: 'tcp', ports: ['80', '443'] }] }, is: false },
    udp: { more: { allows: [{ protocol: 'udp', ports: ['22'] }] }, is: false },
    'a rule that is off': { more: { isDisabled: true }, is: false },
    'a rule for what goes out': { more: { isIngress: false }, is: false },
    'a rule of another network': { more: { network: 'other' }, is: false },
    'a rule for other tags': { more: { targetTags: ['web'] }, is: false },
  };
  for (const [name, { more, is }] of Object.entries(cases)) {
    it(`${name}: ${is ? 'yes' : 'no'}`, () => assert.equal(names([rule(more)]).length, is ? 1 : 0));
  }
  it('count for tags that the hosts carry', () =>
    assert.deepEqual(names([rule({ targetTags: ['web'] })], ['web']), ['ssh']));
  it('are overruled by a refusal that comes before them, or with them', () => {
    const deny = (priority: number) =>
      rule({ name: 'no', allows: [], denies: [{ protocol: 'all', ports: [] }], priority });
    assert.deepEqual(names([rule(), deny(900)]), []);
    assert.deepEqual(names([rule(), deny(1000)]), []);
    assert.deepEqual(names([rule(), deny(1100)]), ['ssh']);
  });
});

describe('the quota that VMs of Compute Engine count for', () => {
  const CASES: Readonly<
    Record<string, readonly [vms: Parameters<typeof metricsOf>[0], spot: string[], ondemand: string[]]>
  > = {
    'L4 of a G2': [
      { machineType: 'g2-standard-8', count: 1, gpus: { type: 'l4', count: 1 } },
      ['PREEMPTIBLE_NVIDIA_L4_GPUS', 'NVIDIA_L4_GPUS'],
      ['NVIDIA_L4_GPUS'],
    ],
    'A100 of 80 GB': [
      { machineType: 'a2-ultragpu-1g', count: 1, gpus: { type: 'a100-80gb', count: 1 } },
      ['PREEMPTIBLE_NVIDIA_A100_80GB_GPUS', 'NVIDIA_A100_80GB_GPUS'],
      ['NVIDIA_A100_80GB_GPUS'],
    ],
    'vCPUs of an N2': [
      { machineType: 'n2-standard-8', count: 1, cpus: 8 },
      ['PREEMPTIBLE_CPUS', 'N2_CPUS'],
      ['N2_CPUS'],
    ],
    'vCPUs of an E2': [{ machineType: 'e2-medium', count: 1, cpus: 2 }, ['PREEMPTIBLE_CPUS', 'CPUS'], ['CPUS']],
  };
  for (const [what, [vms, spot, ondemand]] of Object.entries(CASES))
    it(`is that of ${what}`, () => {
      assert.deepEqual([metricsOf(vms, true), metricsOf(vms, false)], [spot, ondemand]);
    });
});
