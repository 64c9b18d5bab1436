import { z } from 'zod';
import { quotaUnitsOf } from '../../accelerators.js';
import { MOST_SLICES, PRICINGS } from '../../slice.js';
import { durationValue, textValues } from '../../job-file/fields.js';
import type { ChoiceLists } from '../../choices.js';
import { poolTpuSection } from '../../job-file/pool-defaults.js';
import { Report } from '../../job-file/report.js';
import type { Path } from '../../problem.js';
import type { AttemptSlices, MachineKind, PoolTable } from '../kind.js';
import { googleChoices, usualGoogleChoices, GOOGLE_ACCOUNT_KEY, GOOGLE_FLAGS, GOOGLE_ZONES } from './google-keys.js';
import { nodeRefs, slicePlan } from './plan.js';
import {
  tpuSection,
  DISK_MODES,
  type CloudTpuPlan,
  type CloudTpuRef,
  type CloudTpuSection,
  MOST_RUN_SECONDS,
  usualRequests,
} from './words.js';
import { resolveTpu, checkPoolDefaults } from './section.js';
import { acceleratorOf, usdPerChipHour } from './type-zones.js';
import { scopeUrls } from './google-resources.js';

const text = z.string();

const refForm: z.ZodType<CloudTpuRef> = z.object({
  kind: z.literal('cloud-tpu'),
  googleProject: text,
  zone: text,
  name: text.min(1),
  mode: z.enum(['queued-resources', 'tpu-vm']),
  slices: z.int().min(1).max(MOST_SLICES).exactOptional(),
  request: text.min(1).exactOptional(),
  adopts: text.min(1).exactOptional(),
});

const planForm: z.ZodType<CloudTpuPlan> = z.object({
  ref: refForm,
  ownership: z.object({ owner: text, job: text, run: text, generation: z.int().min(0), spec: text }),
  accelerator: text.min(1),
  topology: text.exactOptional(),
  runtimeVersion: text,
  pricing: z.enum(PRICINGS),
  reservation: text.exactOptional(),
  reservationBound: z.literal(true).exactOptional(),
  runSeconds: z.int().min(1).exactOptional(),
  validUntilSeconds: z.int().min(1).exactOptional(),
  network: text.exactOptional(),
  subnetwork: text.exactOptional(),
  externalIps: z.boolean(),
  serviceAccount: text.exactOptional(),
  scopes: z.array(text).exactOptional(),
  dataDisks: z.array(z.object({ source: text, mode: z.enum(DISK_MODES) })).exactOptional(),
  tags: z.array(text),
  labels: z.record(text, text),
  metadata: z.record(text, text),
});

/** Cloud TPU: TPU VMs, requested as a queued resource or as a node. */
export const cloudTpu: MachineKind<CloudTpuRef, CloudTpuPlan, CloudTpuSection, ReturnType<typeof tpuSection>> = {
  provider: 'Cloud TPU',
  refForm: () => refForm,
  planForm: () => planForm,
  // `devices`: files that libtpu opens on a TPU VM (v2 to v4; v5 and later), and the file by which it locks out a second process.
  metricsName: 'tpu',
  launchWord: 'tpu',
  isRehearsed: () => true,
  zoneNames: GOOGLE_ZONES,
  reach: 'ssh',
  areTakenBack: true,
  isBought: true,
  areTakenTogether: true,
  takesPublicKey: true,
  devices: { devices: ['/dev/accel[0-9]*', '/dev/vfio/[0-9]*'], lockFiles: ['/tmp/libtpu_lockfile'] },

  section: {
    name: 'tpu',
    least: 'accelerator and zone',
    form: tpuSection,
    required: ['accelerator'],
    takesAtomic: true,
    allowForm: 'tpu',
    flags: { tpu: { path: ['accelerator'] }, adopt: { path: ['adopt'] }, ...GOOGLE_FLAGS },
    resolve: resolveTpu,
  },

  asked: ({ tpu: { accelerator, zones, anyZone, name, pricing, adopt, hedge = usualRequests(pricing) } }) => ({
    accelerator,
    zones,
    pricing,
    hedge,
    ...(anyZone && { isAnyZone: true }),
    ...(adopt && { adopts: adopt.node }),
    ...(name === undefined ? {} : { name }),
  }),
  size: ({ tpu, slices }) => {
    const type = acceleratorOf(tpu);
    return {
      units: { [type.generation]: quotaUnitsOf(type) * slices },
      chips: type.chips * slices,
      hosts: type.hosts * slices,
    };
  },
  sizeKey: () => 'tpu.accelerator',
  plan: slicePlan,
  slices: nodeRefs,
  usdPerHour: ({ tpu, slices }, zone, pricing) => {
    const type = acceleratorOf(tpu);
    const chipHour = usdPerChipHour(type, zone, pricing);
    return chipHour === undefined ? undefined : chipHour * (type.chips * slices);
  },
  environment,

  choices: ({ tpu }) => [
    { key: 'machines', path: ['tpu'], value: 'tpu' },
    // The maker of the node chose its service account and network, and who else may enter.
    ...(tpu.adopt ? [{ key: 'machines', path: ['tpu', 'adopt'], value: 'tpu/adopted' } as const] : []),
    ...googleChoices('tpu', tpu),
  ],
  usualChoices: (accounts) => usualGoogleChoices('tpu', accounts),
  route: ({ tpu: { network, subnetwork, tags, externalIps } }) =>
    JSON.stringify([network ?? '', subnetwork ?? '', tags, externalIps]),
  accountsPrefix: 'system/google-projects/',
  account: ({ googleProject }, spec) => spec?.tpu.project ?? googleProject,
  accountKey: GOOGLE_ACCOUNT_KEY,
  proxyVariables: ({ googleProject }) => ({ JOBCTL_GOOGLE_PROJECT: googleProject }),
  // An adopted node says nothing of what its zone has.
  compared: ({ accelerator, pricing, ref }) => (ref.adopts === undefined ? { accelerator, pricing } : undefined),

  accountText: (account) => `Cloud TPU of project ${account}`,
  resourceText: ({ mode, name, adopts }) =>
    adopts === undefined
      ? `${mode === 'queued-resources' ? 'queued resource' : 'slice'} ${name}`
      : `adopted node ${adopts}`,
  placeText: ({ zone, googleProject }) => `${zone}, Google project ${googleProject}`,
  requestText: ({ tpu, atomic }) =>
    `${tpu.adopt ? `adopts node ${tpu.adopt.node}, later ` : ''}${tpu.pricing}, by ${tpu.allocationMode}${inOne(atomic)}, runtime ${tpu.runtimeVersion}`,
  requestFacts: ({ tpu, atomic }, orPools) => [
    [
      'pricing',
      `${tpu.pricing}${orPools('pricing')}, by ${tpu.allocationMode}${orPools('allocation_mode')}${inOne(atomic)}`,
    ],
    ...(tpu.adopt ? [['adopts', `node ${tpu.adopt.node}, for the first slice; later ones are created`] as const] : []),
    ['zones', zonesText(tpu)],
    ['project', tpu.project ?? "the pool's, else the worker's"],
    ['runtime', `${tpu.runtimeVersion}${orPools('version')}`],
  ],
  endsText,
  waitText,
  planText: (plan) => `${typeText(plan)}, ${plan.pricing}${runText(plan)}`,
  planDetails: (plan) => `${typeText(plan)}, ${plan.pricing}${runText(plan)}, runtime ${plan.runtimeVersion}`,
  stateHint: ({ mode, name, zone, adopts = name }) =>
    `\`gcloud compute tpus ${mode} describe ${adopts} --zone ${zone}\` shows Google's own state`,
};

/**
 * Variables that AXLearn's Bastion and JobMan set, and libtpu's own names for a job of several slices. MEGASCALE_* is set only
 * if there is more than one slice: stale or needless values make `jax.distributed` hang (ray-project/ray#62893).
 */
function environment({ tpu }: CloudTpuSection, { own, all, coordinator }: AttemptSlices): Record<string, string> {
  const one = {
    TPU_TYPE: tpu.accelerator,
    NUM_TPU_SLICES: String(all.length),
    GCS_RESOLVE_REFRESH_SECS: '600',
    JOBMAN_TPU_NAME: own.name,
    JOBMAN_TPU_ZONE: own.zone,
    JOBMAN_TPU_NUM_WORKERS: String(own.hosts.length),
  };
  if (all.length === 1) return one;
  return {
    ...one,
    MEGASCALE_COORDINATOR_ADDRESS: `${coordinator}:${MEGASCALE_PORT}`,
    MEGASCALE_NUM_SLICES: String(all.length),
    MEGASCALE_SLICE_ID: String(own.index),
  };
}

function zonesText({ zones, anyZone, accelerator }: CloudTpuSection['tpu']): string {
  const listed = zones.join(', ');
  if (anyZone)
    return `any of the pool's that has ${accelerator}${listed === '' ? ' (--pool-file names them)' : `: ${listed}`}`;
  return listed === '' ? "the pool's: the file names none (--pool-file checks it)" : listed;
}

/** The effects of `run_duration` and `valid_until` on a job. A job of pricing any may get a flex-start tier. */
function endsText({ tpu }: CloudTpuSection, orPools = (_key: string): string => ''): string | undefined {
  const { pricing, runSeconds, validUntilSeconds } = tpu;
  const lives =
    pricing === 'flex-start' ? (runSeconds ?? MOST_RUN_SECONDS) : pricing === 'any' ? runSeconds : undefined;
  const ofTier = pricing === 'any' ? ' of a flex-start tier' : '';
  const parts = [
    lives && `a slice${ofTier} ${durationValue(lives)}${orPools('run_duration')} after its start`,
    validUntilSeconds && `a request that has had no chips for ${durationValue(validUntilSeconds)}, which is made anew`,
  ].filter((part) => part !== undefined);
  return parts.length === 0 ? undefined : `Google ends ${parts.join(', and ')}`;
}

/** Sentences on the wait for chips, by pricing (docs/job-file.md, "flex-start and deadlines", and Google on queued resources). */
function waitText({ tpu }: CloudTpuSection): readonly string[] {
  const { pricing, allocationMode, zones, validUntilSeconds } = tpu;
  const inLine = allocationMode === 'queued-resources';
  const others = zones.length > 1 || tpu.anyZone === true ? '' : 'another zone in tpu.zones, ';
  const can = (...ways: readonly string[]): string =>
    `For chips elsewhere: ${others}${ways.join(', ')}; that takes another job.`;
  const queue = `Google keeps the request in line until the zone has ${CHIPS[pricing] ?? CHIPS.ondemand}, and names neither its place nor a time`;
  const bound = validUntilSeconds === undefined ? '' : `, for ${durationValue(validUntilSeconds)} at most`;
  const refused = `The zone refuses the request while it has no ${CHIPS[pricing] ?? CHIPS.ondemand}, and keeps no place in a line: the job asks again`;
  const wait = inLine ? `${queue}${bound}.` : `${refused}.`;
  switch (pricing) {
    case 'flex-start':
      return [`Flex-start: ${queue}${bound}; what starts then is not preempted.`, can('pricing spot or ondemand')];
    case 'reserved':
      return [wait, 'They come free when what holds them ends: ask who else uses the reservation.'];
    case 'ondemand':
      return [wait, can('pricing flex-start, which waits in line for chips of its own, or spot')];
    case 'spot':
    case 'preemptible':
      return [wait, can('pricing ondemand or flex-start')];
    case 'any':
      return [wait];
  }
}

const CHIPS: Readonly<Record<'ondemand', string>> & Readonly<Partial<Record<string, string>>> = {
  'flex-start': 'chips for flex-start',
  ondemand: 'unused chips on demand',
  preemptible: 'unused preemptible chips',
  reserved: 'free chips of the reservation',
  spot: 'unused spot chips',
};

const inOne = (atomic?: true): string => (atomic ? ', all slices in one request' : '');

const runText = ({ runSeconds }: CloudTpuPlan): string =>
  runSeconds === undefined ? '' : ` for ${durationValue(runSeconds)}`;

const typeText = ({ accelerator, ref: { slices } }: CloudTpuPlan): string =>
  slices === undefined ? accelerator : `${slices} x ${accelerator}`;

/** The port that AXLearn's Bastion set (docs/facts.md, "Predecessors"). */
const MEGASCALE_PORT = 8080;

type Table = z.output<ReturnType<typeof poolTpuSection>>;

/** `[tpu]` of a pool file. The file's zones and Google project are checked with it, as a job's own would be. */
export const tpuPoolTable: PoolTable<ReturnType<typeof poolTpuSection>> = {
  form: poolTpuSection,
  check: ({ google_project: project, zones, table = {} }, report) => {
    // The form of `version` is checked already, and each version is right for some type.
    const { version: _, ...rest } = table;
    const inJob = new Report([]);
    checkPoolDefaults({ ...rest, ...(project !== undefined && { project }), ...(zones && { zones }) }, inJob);
    for (const { path, value, message, hint } of inJob.problems) report.problem(inPoolFile(path), value, message, hint);
  },
  gives,
};

/** Path in a pool file of a value that a job file has in `tpu`. */
function inPoolFile(path: Path): Path {
  if (path[1] === 'zones') return path.slice(1);
  return path[1] === 'project' ? ['google_project'] : path;
}

function gives(table: Table): ChoiceLists {
  const { service_account, scopes, network, subnetwork, external_ips, tags, metadata, reservation, data_disks } = table;
  return {
    service_accounts: texts(service_account),
    scopes: (scopes ?? []).flatMap(scopeUrls),
    networks: texts(network, subnetwork),
    external_ips: external_ips === false ? ['false'] : [],
    tags: tags ?? [],
    metadata: Object.entries(textValues(metadata)).map(([key, value]) => `${key}=${value}`),
    reservations: texts(reservation),
    data_disks: (data_disks ?? []).map(({ source }) => source),
  };
}

const texts = (...values: readonly (string | null | undefined)[]): readonly string[] =>
  values.filter((value) => typeof value === 'string');
