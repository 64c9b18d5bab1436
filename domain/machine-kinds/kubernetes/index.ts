import { z } from 'zod';
import type { MachineKind } from '../kind.js';
import { environment } from './environment.js';
import { objectName } from './names.js';
import { accountIn, placeOfAccount, podsPlan } from './plan.js';
import { resolveKubernetes } from './section.js';
import { kubernetesSection } from './section-form.js';
import { sizeOf, slicePodsType } from './size.js';
import {
  DEFAULT_CLUSTER,
  type KubernetesPlan,
  type KubernetesRef,
  type KubernetesRequest,
  type KubernetesSection,
  TOLERATION_EFFECTS,
} from './words.js';

const text = z.string();

const refForm: z.ZodType<KubernetesRef> = z.object({
  kind: z.literal('kubernetes'),
  context: text.min(1).exactOptional(),
  namespace: text.min(1),
  zone: text.min(1),
  name: text.min(1),
});

const volume = z.object({
  mountPath: text,
  claim: text.exactOptional(),
  emptyDir: z.object({ medium: z.enum(['disk', 'memory']), size: text.exactOptional() }).exactOptional(),
  hostPath: text.exactOptional(),
  readOnly: z.literal(true).exactOptional(),
});
const toleration = z.object({
  key: text.exactOptional(),
  operator: z.enum(['Equal', 'Exists']),
  value: text.exactOptional(),
  effect: z.enum(TOLERATION_EFFECTS).exactOptional(),
});

const planForm: z.ZodType<KubernetesPlan> = z.object({
  ref: refForm,
  ownership: z.object({ owner: text, job: text, run: text, generation: z.int().min(0), spec: text }),
  pods: z.object({
    image: text.min(1),
    workers: z.int().min(1),
    gpus: z.object({ count: z.int().min(1), type: text, resource: text }).exactOptional(),
    cpus: text.exactOptional(),
    memory: text.exactOptional(),
    tpu: z.object({ type: text, accelerator: text, topology: text, chips: z.int().min(1) }).exactOptional(),
    nodeSelector: z.record(text, text),
    tolerations: z.array(toleration),
    serviceAccount: text.exactOptional(),
    priorityClass: text.exactOptional(),
    secrets: z.array(z.object({ name: text, mountPath: text })),
    volumes: z.array(volume),
    labels: z.record(text, text),
    gangSeconds: z.number().min(1),
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
  // A pod sees its own processes alone, so only what an earlier command left behind can hold them.
  devices: {
    devices: ['/dev/accel[0-9]*', '/dev/vfio/[0-9]*', '/dev/nvidia[0-9]*'],
    lockFiles: ['/tmp/libtpu_lockfile'],
  },

  reach: 'pod',

  section: {
    name: 'kubernetes',
    least: 'image',
    form: kubernetesSection,
    required: ['image'],
    takesAtomic: false,
    resolve: resolveKubernetes,
  },

  asked: (spec) => ({
    accelerator: slicePodsType(spec.kubernetes),
    zones: [spec.kubernetes.context ?? DEFAULT_CLUSTER],
    pricing: 'any',
  }),
  size: (spec) => sizeOf(spec.kubernetes, spec.slices),
  plan: podsPlan,
  slices: (ref) => [ref],
  usdPerHour: () => undefined,
  environment,

  route: (spec) => accountIn(spec.kubernetes),
  accountsPrefix: 'system/kubernetes-namespaces/',
  account,

  accountText: (account) => accountText(account),
  resourceText: ({ name }) => `Job ${objectName(name)}`,
  placeText: ({ context, namespace }) => `namespace ${namespace}${ofCluster(context)}`,
  requestText: (spec) => `${podsText(spec.kubernetes)}, image ${spec.kubernetes.image}`,
  requestFacts: (spec) => requestFacts(spec.kubernetes),
  planText: ({ pods }) => podsText(pods),
  planDetails: ({ pods }) => `${podsText(pods)}, image ${pods.image}`,
  stateHint: ({ context, namespace, name }) =>
    `\`kubectl${context === undefined ? '' : ` --context ${context}`} -n ${namespace} get pods -l job-name=${objectName(name)}\` shows Kubernetes' own state`,
};

function account(settings: { readonly googleProject: string }, spec: KubernetesSection): string;
function account(settings: { readonly googleProject: string }, spec?: KubernetesSection): string | undefined;
/** Only a job names a namespace: without one there is nothing to list. */
function account(_: { readonly googleProject: string }, spec?: KubernetesSection): string | undefined {
  return spec && accountIn(spec.kubernetes);
}

const ofCluster = (context: string | undefined): string => (context === undefined ? '' : `, cluster ${context}`);

function accountText(account: string): string {
  const { context, namespace } = placeOfAccount(account);
  return `namespace ${namespace} of ${context === undefined ? "the worker's cluster" : `cluster ${context}`}`;
}

/** `4 pods of 8 h100`, `1 pod of 2 cpu` */
function podsText({ workers, gpus, tpu, cpus }: Omit<KubernetesRequest, 'context' | 'namespace'>): string {
  const each =
    tpu !== undefined ? `${tpu.chips} chips (${tpu.type})` : gpus ? `${gpus.count} ${gpus.type}` : `${cpus ?? '1'} cpu`;
  return `${workers} ${workers === 1 ? 'pod' : 'pods'} of ${each}`;
}

function requestFacts(request: KubernetesRequest): readonly (readonly [string, string])[] {
  const { context, namespace, image, gangSeconds } = request;
  return [
    ['pods', podsText(request)],
    ['image', image],
    ['namespace', `${namespace}${context === undefined ? " of the worker's cluster" : ofCluster(context)}`],
    ['gang timeout', `${gangSeconds} s`],
  ];
}
