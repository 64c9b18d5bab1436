import { z } from 'zod';
import { PRICINGS } from '../../slice.js';
import { choiceIf } from '../../choices.js';
import {
  googleChoices,
  usualGoogleChoices,
  GOOGLE_ACCOUNT_KEY,
  GOOGLE_FLAGS,
  GOOGLE_ZONES,
} from '../cloud-tpu/google-keys.js';
import { DISK_MODES } from '../cloud-tpu/words.js';
import { distributedEnvironment } from '../distributed-environment.js';
import type { MachineKind, UsualAccounts } from '../kind.js';
import { ownershipForm } from '../kubernetes/forms.js';
import {
  vmsPlan,
  type ComputeEnginePlan,
  type ComputeEngineRef,
  type ComputeEngineRequest,
  type ComputeEngineSection,
  gpusOf,
  sizeOf,
  sliceType,
} from './words.js';
import { DEFAULT_IMAGE, resolveComputeEngine, computeEngineSection, MOST_VMS } from './section.js';

const text = z.string();

const refForm: z.ZodType<ComputeEngineRef> = z.object({
  kind: z.literal('compute-engine'),
  googleProject: text,
  zone: text,
  name: text.min(1),
  vms: z.int().min(1).max(MOST_VMS),
});

const planForm: z.ZodType<ComputeEnginePlan> = z.object({
  ref: refForm,
  ownership: ownershipForm(),
  machineType: text.min(1),
  accelerator: z.object({ type: text, count: z.int().min(1) }).exactOptional(),
  image: text.min(1),
  diskGb: z.int().min(1).exactOptional(),
  diskType: text.exactOptional(),
  dataDisks: z.array(z.object({ source: text, mode: z.enum(DISK_MODES) })).exactOptional(),
  pricing: z.enum(PRICINGS),
  reservation: text.exactOptional(),
  network: text.exactOptional(),
  subnetwork: text.exactOptional(),
  externalIps: z.boolean(),
  serviceAccount: text.exactOptional(),
  scopes: z.array(text).exactOptional(),
  tags: z.array(text),
  labels: z.record(text, text),
  metadata: z.record(text, text),
});

/** VMs of Compute Engine: a slice is a gang of VMs in one zone, one host each (docs/compute-engine.md, docs/adr/0071). */
export const computeEngine: MachineKind<
  ComputeEngineRef,
  ComputeEnginePlan,
  ComputeEngineSection,
  ReturnType<typeof computeEngineSection>
> = {
  provider: 'Compute Engine',
  refForm: () => refForm,
  planForm: () => planForm,
  devices: { devices: ['/dev/nvidia[0-9]*'], lockFiles: [] },

  metricsName: 'compute',
  launchWord: undefined,
  isRehearsed: () => true,
  zoneNames: GOOGLE_ZONES,
  reach: 'ssh',
  areTakenBack: true,
  isBought: true,
  areTakenTogether: false,
  takesPublicKey: true,

  section: {
    name: 'compute_engine',
    least: 'machine_type and zone',
    form: computeEngineSection,
    required: ['machine_type'],
    takesAtomic: false,
    allowForm: 'compute_engine',
    flags: {
      tpu: {
        why: 'VMs with TPUs are of the section tpu',
        instead: 'such as --set compute_engine.machine_type=g2-standard-8',
      },
      adopt: {
        why: 'only a node of Cloud TPU is adopted',
        instead: 'own VMs that stay can serve a pool as [[machines]]: docs/own-machines.md',
      },
      ...GOOGLE_FLAGS,
    },
    resolve: resolveComputeEngine,
  },

  asked: ({ compute_engine: request }) => ({
    accelerator: sliceType(request),
    zones: request.zones,
    pricing: request.pricing,
    ...(request.name === undefined ? {} : { name: request.name }),
  }),
  size: (spec) => sizeOf(spec.compute_engine, spec.slices),
  sizeKey: ({ compute_engine: { accelerator } }) =>
    accelerator === undefined ? 'compute_engine.machine_type' : 'compute_engine.accelerator',
  plan: vmsPlan,
  slices: (ref) => [ref],
  usdPerHour: () => undefined,
  environment: (spec, attempt) => distributedEnvironment(attempt, gpusOf(spec.compute_engine) !== undefined),

  choices: ({ compute_engine: request }) => [
    { key: 'machines', path: ['compute_engine'], value: 'compute_engine' },
    ...googleChoices('compute_engine', request),
    ...choiceIf('images', ['compute_engine', 'image'], request.image === DEFAULT_IMAGE ? undefined : request.image),
  ],
  usualChoices: (accounts) => usualGoogleChoices('compute_engine', accounts),
  route: ({ compute_engine: { network, subnetwork, tags, externalIps } }) =>
    JSON.stringify([network ?? '', subnetwork ?? '', tags, externalIps]),
  accountsPrefix: 'system/compute-engine-projects/',
  account,
  accountKey: GOOGLE_ACCOUNT_KEY,
  proxyVariables: ({ googleProject }) => ({ JOBCTL_GOOGLE_PROJECT: googleProject }),
  compared: () => undefined,

  accountText: (googleProject) => `Compute Engine of project ${googleProject}`,
  resourceText: ({ name, vms }) => (vms === 1 ? `VM ${name}` : `${vms} VMs ${name}-*`),
  placeText: ({ zone, googleProject }) => `${zone}, Google project ${googleProject}`,
  requestText: (spec) => `${spec.compute_engine.pricing}, ${vmsText(spec.compute_engine)}`,
  requestFacts: ({ compute_engine: request }, orPools) => [
    ['VMs', vmsText(request)],
    ['pricing', `${request.pricing}${orPools('pricing')}`],
    [
      'zones',
      request.zones.length === 0 ? "the pool's: the file names none (--pool-file checks it)" : request.zones.join(', '),
    ],
    ['project', request.project ?? "the pool's, else the worker's"],
    ['image', request.image],
  ],
  planText: (plan) => `${vmsText({ ...plan, count: plan.ref.vms })}, ${plan.pricing}`,
  planDetails: (plan) => `${vmsText({ ...plan, count: plan.ref.vms })}, ${plan.pricing}, image ${plan.image}`,
  stateHint: ({ name, zone, googleProject }) =>
    `\`gcloud compute instances list --project ${googleProject} --zones ${zone} --filter 'labels.jobctl-slice=${name}'\` shows Google's own state`,
};

function account(accounts: UsualAccounts, spec: ComputeEngineSection): string;
function account(accounts: UsualAccounts, spec?: ComputeEngineSection): string | undefined;
/** Nothing is listed without a job: an installation for TPUs alone needs no rights on Compute Engine. */
function account({ googleProject }: UsualAccounts, spec?: ComputeEngineSection): string | undefined {
  return spec && (spec.compute_engine.project ?? googleProject);
}

/** `2 VMs g2-standard-8 with 1 l4 each`, `1 VM n2-standard-8` */
function vmsText(request: Pick<ComputeEngineRequest, 'machineType' | 'accelerator' | 'count'>): string {
  const gpus = gpusOf(request);
  const vms = `${request.count} ${request.count === 1 ? 'VM' : 'VMs'} ${request.machineType}`;
  return gpus === undefined ? vms : `${vms} with ${gpus.count} ${gpus.type}${request.count === 1 ? '' : ' each'}`;
}
