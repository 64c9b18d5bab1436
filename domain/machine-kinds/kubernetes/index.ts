import { z } from 'zod';
import { given } from '../../job-file/fields.js';
import type { Report } from '../../job-file/report.js';
import type { MachineKind, UsualAccounts, AttemptSlices, RequestContext, ResolvedRequest } from '../kind.js';
import { distributedEnvironment } from '../distributed-environment.js';
import {
  podChoices,
  podsPlace,
  accountIn,
  podsPlan,
  accountText,
  kubectlHint,
  placeFacts,
  placeText,
  podFlags,
} from './plan.js';
import { ownershipForm, podFieldKeys, podSizeKeys, refKeys, kubernetesSection, type KubernetesForm } from './forms.js';
import {
  objectName,
  DEFAULT_CLUSTER,
  type KubernetesPlan,
  type KubernetesRef,
  type KubernetesRequest,
  type KubernetesSection,
} from './words.js';
import { sizeOf, slicePodsType, resolveGkeTpu, tpuTypeOf } from './size.js';
import { definedOnly, quantity, resolveGpus, resolvePodFields } from './pod-fields.js';

const refForm: z.ZodType<KubernetesRef> = z.object({ kind: z.literal('kubernetes'), ...refKeys() });

const planForm: z.ZodType<KubernetesPlan> = z.object({
  ref: refForm,
  ownership: ownershipForm(),
  pods: z.object({
    ...podFieldKeys(),
    ...podSizeKeys(),
    workers: z.int().min(1),
    tpu: z
      .object({ type: z.string(), accelerator: z.string(), topology: z.string(), chips: z.int().min(1) })
      .exactOptional(),
  }),
  agentHours: z.number().min(1),
});

/** Pods of a Kubernetes cluster: a slice is one Indexed Job whose pods run jobctl's agent (docs/kubernetes.md, docs/adr/0065). */
export const kubernetes: MachineKind<
  KubernetesRef,
  KubernetesPlan,
  KubernetesSection,
  ReturnType<typeof kubernetesSection>
> = {
  provider: 'Kubernetes',
  refForm: () => refForm,
  planForm: () => planForm,
  // A pod sees only its own processes, so only a process that an earlier command left can hold them.
  devices: {
    devices: ['/dev/accel[0-9]*', '/dev/vfio/[0-9]*', '/dev/nvidia[0-9]*'],
    lockFiles: ['/tmp/libtpu_lockfile'],
  },

  metricsName: 'kubernetes',
  launchWord: 'kubernetes',
  isRehearsed: () => true,
  zoneNames: undefined,
  reach: 'pod',
  areTakenBack: true,
  isBought: true,
  areTakenTogether: false,
  takesPublicKey: false,

  section: {
    name: 'kubernetes',
    least: 'image',
    form: kubernetesSection,
    required: ['image'],
    takesAtomic: false,
    allowForm: 'kubernetes/CONTEXT/NAMESPACE',
    flags: { tpu: { path: ['tpu', 'accelerator'] }, ...podFlags('kubernetes') },
    resolve: resolveKubernetes,
  },

  asked: (spec) => ({
    accelerator: slicePodsType(spec.kubernetes),
    zones: [spec.kubernetes.context ?? DEFAULT_CLUSTER],
    pricing: 'any',
  }),
  size: (spec) => sizeOf(spec.kubernetes, spec.slices),
  sizeKey: ({ kubernetes: { gpus, tpu, cpus } }) => {
    if (tpu !== undefined) return 'kubernetes.tpu.accelerator';
    if (gpus !== undefined) return 'kubernetes.gpus';
    return cpus === undefined ? 'kubernetes' : 'kubernetes.cpus';
  },
  plan: podsPlan,
  slices: (ref) => [ref],
  usdPerHour: () => undefined,
  environment,

  choices: (spec) => podChoices('kubernetes', spec.kubernetes),
  usualChoices: () => ({ machines: [podsPlace('kubernetes', { namespace: 'default' })] }),
  route: (spec) => accountIn(spec.kubernetes),
  accountsPrefix: 'system/kubernetes-namespaces/',
  account,
  accountKey: undefined,
  proxyVariables: () => ({}),
  compared: () => undefined,

  accountText,
  resourceText: ({ name }) => `Job ${objectName(name)}`,
  placeText,
  requestText: (spec) => `${podsText(spec.kubernetes)}, image ${spec.kubernetes.image}`,
  requestFacts: (spec) => requestFacts(spec.kubernetes),
  planText: ({ pods }) => podsText(pods),
  planDetails: ({ pods }) => `${podsText(pods)}, image ${pods.image}`,
  stateHint: (ref) => kubectlHint(ref, `get pods -l job-name=${objectName(ref.name)}`),
};

function account(accounts: UsualAccounts, spec: KubernetesSection): string;
function account(accounts: UsualAccounts, spec?: KubernetesSection): string | undefined;
/** Only a job names a namespace: without one there is nothing to list. */
function account(_: UsualAccounts, spec?: KubernetesSection): string | undefined {
  return spec && accountIn(spec.kubernetes);
}

/** `4 pods of 8 h100`, `1 pod of 2 cpu` */
function podsText({ workers, gpus, tpu, cpus }: Omit<KubernetesRequest, 'context' | 'namespace'>): string {
  const each =
    tpu !== undefined ? `${tpu.chips} chips (${tpu.type})` : gpus ? `${gpus.count} ${gpus.type}` : `${cpus ?? '1'} cpu`;
  return `${workers} ${workers === 1 ? 'pod' : 'pods'} of ${each}`;
}

function requestFacts(request: KubernetesRequest): readonly (readonly [string, string])[] {
  return [['pods', podsText(request)], ['image', request.image], ...placeFacts(request)];
}

const MEGASCALE_PORT = 8080;

/** Variables by which a pod's programs find each other. MEGASCALE_* is only for several TPU slices (ray-project/ray#62893). */
function environment({ kubernetes }: KubernetesSection, slices: AttemptSlices): Record<string, string> {
  const { own, all, coordinator, rank } = slices;
  if (rank === undefined) return {};
  return {
    ...distributedEnvironment(slices, kubernetes.gpus !== undefined),
    ...(kubernetes.tpu === undefined || all.length === 1
      ? {}
      : {
          MEGASCALE_COORDINATOR_ADDRESS: `${coordinator}:${MEGASCALE_PORT}`,
          MEGASCALE_NUM_SLICES: String(all.length),
          MEGASCALE_SLICE_ID: String(own.index),
        }),
  };
}

/** The `kubernetes` section with its defaults, or undefined if its image or machines are not known, which is reported. */
function resolveKubernetes(
  form: KubernetesForm,
  _context: RequestContext,
  report: Report,
): ResolvedRequest<KubernetesSection> | undefined {
  const place = { section: 'kubernetes', report };
  const fields = resolvePodFields(form, place);
  const tpu = given(form.tpu) === undefined ? undefined : resolveGkeTpu(form.tpu, report);
  const gpus = resolveGpus(form, place);
  if (gpus !== undefined && tpu !== undefined)
    report.problem(['kubernetes', 'gpus'], form.gpus, 'gpus and tpu are both given', 'a pod has one or the other');
  const request: KubernetesRequest = {
    ...fields,
    ...definedOnly({
      gpus,
      cpus: quantity(form.cpus, ['cpus'], place),
      memory: quantity(form.memory, ['memory'], place),
      tpu,
    }),
    workers: resolveWorkers(form, tpu, report),
  };
  if (fields.image === '' || (given(form.tpu) !== undefined && tpu === undefined)) return undefined;
  return {
    request: { kubernetes: request },
    slice: { type: slicePodsType(request), hosts: request.workers },
    leftToPool: [],
  };
}

function resolveWorkers({ workers }: KubernetesForm, tpu: KubernetesRequest['tpu'], report: Report): number {
  if (tpu === undefined) return given(workers) ?? 1;
  const { hosts } = tpuTypeOf(tpu);
  if (given(workers) !== undefined && workers !== hosts) {
    const hint = `write workers: ${hosts}, or leave it out; several slices are slices: n`;
    report.problem(
      ['kubernetes', 'workers'],
      workers,
      `${workers} is not the ${hosts} hosts of ${tpu.type}, one pod each`,
      hint,
    );
  }
  return hosts;
}
