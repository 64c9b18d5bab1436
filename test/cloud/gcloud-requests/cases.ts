/** One request of gcloud's, and the job file that asks for the same. */
export interface GcloudCase {
  readonly track: 'GA' | 'alpha';
  readonly command: 'queued-resources' | 'tpu-vm';
  /** Beside the name, the zone and the runtime. */
  readonly flags: readonly string[];
  /** Keys of `tpu` beside zone, version and allocation_mode. */
  readonly tpu: Readonly<Record<string, unknown>>;
  /** `atomic: true` with so many slices. */
  readonly slices?: number;
  /** Paths of fields that may differ in this request alone, each with the reason. */
  readonly differs?: Readonly<Record<string, string>>;
}

export const PROJECT = 'p';
export const ZONE = 'us-central1-a';
export const NAME = 'q1';
export const RUNTIME = 'v2-alpha-tpuv5-lite';
const V5E = '--accelerator-type=v5litepod-8';

const queued = (flags: readonly string[], tpu: GcloudCase['tpu'], more: Partial<GcloudCase> = {}): GcloudCase => ({
  track: 'GA',
  command: 'queued-resources',
  flags: [...(more.slices === undefined ? [`--node-id=${NAME}`] : []), V5E, ...flags],
  tpu: { accelerator: 'v5litepod-8', ...tpu },
  ...more,
});
const node = (flags: readonly string[], tpu: GcloudCase['tpu'], more: Partial<GcloudCase> = {}): GcloudCase => ({
  ...queued(flags, tpu, more),
  command: 'tpu-vm',
  flags: [V5E, ...flags],
});

const NETWORK = [
  ['--network=team', '--subnetwork=team-sub', '--internal-ips'],
  { network: 'team', subnetwork: 'team-sub', external_ips: false },
] as const;
const WORDS = [
  ['--tags=ssh,web', '--labels=team=vision', '--metadata=a=1,startup-script=echo hi', '--description=mine'],
  { tags: ['ssh', 'web'], labels: { team: 'vision' }, metadata: { a: '1' }, startup_script: 'echo hi' },
] as const;
const SCOPE = 'https://www.googleapis.com/auth/devstorage.read_only';
const ACCOUNT = [
  ['--service-account=t@p.iam.gserviceaccount.com', `--scopes=${SCOPE}`],
  { service_account: 't@p.iam.gserviceaccount.com', scopes: [SCOPE] },
] as const;
const DISK = `projects/${PROJECT}/zones/${ZONE}/disks/corpus`;
const DISKS = [
  [`--data-disk=source=${DISK},mode=read-only`],
  { data_disks: [{ source: 'corpus', mode: 'read-only' }] },
] as const;
const SHAPE = { flags: ['--type=v4', '--topology=2x2x2'], tpu: { accelerator: 'v4', topology: '2x2x2' } } as const;
const AS_TYPE = {
  'node.acceleratorType': 'the usual topology of a type is asked for by its name, which every generation has',
  'node.acceleratorConfig.type': 'as above',
  'node.acceleratorConfig.topology': 'as above',
};
const TWISTED = {
  flags: ['--type=v4', '--topology=4x4x8_twisted'],
  tpu: { accelerator: 'v4-256', topology: '4x4x8_twisted' },
} as const;
const alpha = { track: 'alpha' } as const;
const MODEL = { provisioningModel: 'v2, by which we ask, does not have it: the tier says the same' };
const STANDARD = { provisioningModel: 'v2, by which we ask, does not have it: STANDARD is what is meant without it' };
const REFUSED_MODEL = { provisioningModel: 'STANDARD beside spot, which Google refuses: a fault of gcloud 528' };
const TIER = {
  guaranteed: 'ondemand is what gcloud asks for without a flag; the tier is named by --guaranteed alone',
};

/** What gcloud sells, by kind of request. `gcloud alpha` has flags that Google's documentation uses and GA lacks. */
export const CASES: Readonly<Record<string, GcloudCase>> = {
  'queued: spot': queued(['--spot'], { pricing: 'spot' }),
  'queued: on demand': queued([], { pricing: 'ondemand' }),
  'queued: guaranteed': queued(['--guaranteed'], { pricing: 'ondemand' }, { differs: TIER }),
  'queued: reserved, any': queued(['--reserved'], { pricing: 'reserved' }),
  'queued: reserved, any of another project': queued(['--reservation-host-project=owner-project'], {
    reservation: 'projects/owner-project/reservations/-',
  }),
  'queued: reserved, any of a folder': queued(['--reservation-host-folder=7'], {
    reservation: 'folders/7/reservations/-',
  }),
  'queued: reserved, any of an organization': queued(['--reservation-host-organization=8'], {
    reservation: 'organizations/8/reservations/-',
  }),
  'queued: reserved, by name': queued(['--reservation=r1'], { reservation: 'r1' }, { ...alpha, differs: STANDARD }),
  'queued: reserved, by the path that gcloud names': queued(
    ['--reservation=projects/owner-project/reservations/r2'],
    { reservation: 'projects/owner-project/reservations/r2' },
    {
      ...alpha,
      differs: { ...STANDARD, reservationName: "gcloud passes the path on; the API's own form of it has the zone" },
    },
  ),
  "queued: reserved, by the API's path": queued(
    [`--reservation=projects/owner-project/locations/${ZONE}/reservations/r3`],
    { reservation: `projects/owner-project/locations/${ZONE}/reservations/r3` },
    { ...alpha, differs: STANDARD },
  ),
  'queued: reserved, in calendar mode': queued(
    ['--reservation=r4', '--provisioning-model=reservation-bound'],
    { reservation: 'r4', reservation_bound: true },
    alpha,
  ),
  'queued: several nodes in one': queued(
    ['--node-count=3', `--node-prefix=${NAME}`, '--spot'],
    { pricing: 'spot' },
    { slices: 3 },
  ),
  'queued: flex-start': queued(
    ['--provisioning-model=flex-start', '--max-run-duration=2h'],
    { pricing: 'flex-start', run_duration: '2h' },
    alpha,
  ),
  'queued: flex-start, several nodes, a deadline': queued(
    [
      ...['--node-count=2', `--node-prefix=${NAME}`],
      ...['--provisioning-model=flex-start', '--max-run-duration=168h', '--valid-until-duration=90m'],
    ],
    { pricing: 'flex-start', valid_until: '90m' },
    { ...alpha, slices: 2 },
  ),
  'queued: a deadline': queued(['--spot', '--valid-until-duration=2h'], { pricing: 'spot', valid_until: '2h' }),
  'queued: alpha, spot by its provisioning model': queued(
    ['--provisioning-model=spot'],
    { pricing: 'spot' },
    { ...alpha, differs: { ...MODEL, spot: 'gcloud 528 compares a word with an enum here, and leaves the tier out' } },
  ),
  'queued: alpha, spot by its flag': queued(['--spot'], { pricing: 'spot' }, { ...alpha, differs: REFUSED_MODEL }),
  'queued: type and topology': {
    ...queued(['--spot'], {}),
    ...SHAPE,
    flags: [`--node-id=${NAME}`, '--spot', ...SHAPE.flags],
    differs: AS_TYPE,
  },
  'queued: another topology': {
    ...queued([], {}),
    ...TWISTED,
    flags: [`--node-id=${NAME}`, '--spot', ...TWISTED.flags],
  },
  'queued: network': queued(['--spot', ...NETWORK[0]], NETWORK[1]),
  'queued: tags, labels, metadata': queued(['--spot', ...WORDS[0]], WORDS[1]),
  'queued: service account': queued(['--spot', ...ACCOUNT[0]], ACCOUNT[1]),
  'queued: data disk': queued(['--spot', ...DISKS[0]], DISKS[1]),

  'node: spot': node(['--spot'], { pricing: 'spot' }),
  'node: on demand': node([], { pricing: 'ondemand' }),
  'node: preemptible': node(['--preemptible'], { pricing: 'preemptible' }),
  'node: reserved': node(['--reserved'], { pricing: 'reserved' }),
  'node: type and topology': { ...node([], {}), ...SHAPE, flags: ['--spot', ...SHAPE.flags], differs: AS_TYPE },
  'node: another topology': { ...node([], {}), ...TWISTED, flags: ['--spot', ...TWISTED.flags] },
  'node: network': node(['--spot', ...NETWORK[0]], NETWORK[1]),
  'node: tags, labels, metadata': node(['--spot', ...WORDS[0]], WORDS[1]),
  'node: service account': node(['--spot', ...ACCOUNT[0]], ACCOUNT[1]),
  'node: data disk': node(['--spot', ...DISKS[0]], DISKS[1]),
};

const EMPTY = 'an empty message says what its absence says';
/** Fields that may differ in every request, each with the reason. `*` stands for the rest of a path. */
export const DIFFERS: Readonly<Record<string, string>> = {
  'node.description': 'ours names the job, and no job file has one',
  'node.labels.jobctl-*': 'whose the slice is: nothing else is ever adopted or deleted',
  'node.metadata.ssh-keys': "the job's login key, which gcloud patches in at its first ssh",
  'node.metadata': `${EMPTY}; ours has the login key`,
  'node.serviceAccount': EMPTY,
  'node.shieldedInstanceConfig': `${EMPTY}: no secure boot`,
  'node.networkConfig.network': "gcloud names network default, which is Google's where none is named",
};

/** Arguments of the command. */
export function argumentsOf({ track, command, flags }: GcloudCase): readonly string[] {
  const version = command === 'tpu-vm' ? `--version=${RUNTIME}` : `--runtime-version=${RUNTIME}`;
  const start = [...(track === 'alpha' ? ['alpha'] : []), 'compute', 'tpus', command, 'create', NAME];
  return [...start, `--zone=${ZONE}`, version, '--async', '--log-http', ...flags];
}

/** The body of the POST that gcloud's `--log-http` shows. */
export function bodyIn(log: string): unknown {
  const posted = /^method: POST\n[^]*?^== body start ==\n(.*)\n== body end ==$/m.exec(log)?.[1];
  if (posted === undefined) throw new Error(`no POST in:\n${log}`);
  return JSON.parse(posted);
}

/** Flags that no key of a job file stands for, and why. */
export const WITHOUT_KEY: Readonly<Record<string, string>> = {
  '--autocheckpoint-enabled': 'v2alpha1 alone; jobs store what they want kept by themselves',
  '--best-effort': "v2alpha1's older word for preemptible",
  '--boot-disk': 'v2alpha1 alone: confidential boot disks',
  '--metadata-from-file': 'as --metadata: startup_script is the one file that jobs bring',
  '--network-config': 'v2alpha1 alone: several networks',
  '--queue-count': 'queues of the network card: of no use without a driver that is set up for it',
  '--range': 'of TPU nodes, which are no VMs',
  '--shielded-secure-boot': 'secure boot, which nobody has asked for',
  '--valid-after-duration': 'a job is submitted when it may start',
  '--valid-after-time': 'as above',
  '--valid-until-time': 'as --valid-until-duration: a job asks again, for which a time by the clock would be over',
  '--workload-type': 'v2alpha1 alone: slices for serving',
};
