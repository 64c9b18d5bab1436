import { z } from 'zod';
import type { MachineKind, UsualAccounts } from '../kind.js';
import { ownershipForm, podFieldKeys, podSizeKeys, refKeys } from '../kubernetes/forms.js';
import { objectName } from '../kubernetes/names.js';
import { accountIn, agentHours, ownershipOf, refIn } from '../kubernetes/plan.js';
import { podChoices, podsPlace } from '../kubernetes/choices.js';
import { accountText, kubectlHint, placeFacts, placeText, podFlags } from '../kubernetes/texts.js';
import { DEFAULT_CLUSTER } from '../kubernetes/words.js';
import { resolveRayCluster } from './section.js';
import { rayClusterSection } from './section-form.js';
import { clusterType, sizeOf } from './size.js';
import type { RayClusterPlan, RayClusterRef, RayClusterRequest, RayClusterSection } from './words.js';

const refForm: z.ZodType<RayClusterRef> = z.object({ kind: z.literal('ray-cluster'), ...refKeys() });

const planForm: z.ZodType<RayClusterPlan> = z.object({
  ref: refForm,
  ownership: ownershipForm(),
  pods: z.object({
    ...podFieldKeys(),
    rayVersion: z.string().min(1),
    dashboard: z.literal(false).exactOptional(),
    head: z.object(podSizeKeys()).omit({ gpus: true }),
    workers: z.object({
      ...podSizeKeys(),
      min: z.int().min(0),
      max: z.int().min(1),
      idleSeconds: z.int().min(1),
    }),
  }),
  agentHours: z.number().min(1),
});

/** KubeRay accepts 53, and cuts the front of the names of its objects to leave 50. */
const MOST_CHARACTERS = 50;

/** The name of a slice's RayCluster and of its ConfigMap. */
export const rayClusterName = (name: string): string => objectName(name, MOST_CHARACTERS);

/**
 * A RayCluster of KubeRay. A slice is a head, which is its one host and runs the command, and between `min` and `max` workers
 * (docs/kubernetes.md, docs/adr/0069).
 */
export const rayCluster: MachineKind<
  RayClusterRef,
  RayClusterPlan,
  RayClusterSection,
  ReturnType<typeof rayClusterSection>
> = {
  provider: 'KubeRay',
  refForm: () => refForm,
  planForm: () => planForm,
  // The head has no accelerator.
  devices: { devices: [], lockFiles: [] },

  metricsName: 'kubernetes',
  launchWord: 'ray',
  isRehearsed: true,
  zoneNames: undefined,
  reach: 'pod',
  areTakenBack: true,
  areTakenTogether: false,
  takesPublicKey: false,

  section: {
    name: 'ray_cluster',
    least: 'image, ray_version and workers',
    form: rayClusterSection,
    required: ['image', 'ray_version', 'workers'],
    takesAtomic: false,
    allowForm: 'ray_cluster/CONTEXT/NAMESPACE',
    flags: {
      tpu: { why: 'its workers have CPUs or GPUs', instead: 'such as --set ray_cluster.workers.gpus=8' },
      ...podFlags('ray_cluster'),
    },
    resolve: resolveRayCluster,
  },

  asked: (spec) => ({
    accelerator: clusterType(spec.ray_cluster),
    zones: [spec.ray_cluster.context ?? DEFAULT_CLUSTER],
    pricing: 'any',
  }),
  size: (spec) => sizeOf(spec.ray_cluster, spec.slices),
  plan: (spec, place) => {
    const { context, namespace, ...pods } = spec.ray_cluster;
    return {
      ref: refIn('ray-cluster', { ...(context === undefined ? {} : { context }), namespace }, place.name),
      ownership: ownershipOf(place, pods),
      pods,
      agentHours: agentHours(spec),
    };
  },
  slices: (ref) => [ref],
  usdPerHour: () => undefined,
  // KubeRay itself puts RAY_ADDRESS and the token into the container.
  environment: () => ({}),

  choices: (spec) => podChoices('ray_cluster', spec.ray_cluster),
  usualChoices: () => ({ machines: [podsPlace('ray_cluster', { namespace: 'default' })] }),
  route: (spec) => accountIn(spec.ray_cluster),
  accountsPrefix: 'system/ray-cluster-namespaces/',
  account,
  accountKey: undefined,
  proxyVariables: () => ({}),
  compared: () => undefined,

  accountText: (account) => `RayClusters in ${accountText(account)}`,
  resourceText: ({ name }) => `RayCluster ${rayClusterName(name)}`,
  placeText,
  requestText: (spec) => `${clusterText(spec.ray_cluster)}, image ${spec.ray_cluster.image}`,
  requestFacts: ({ ray_cluster: request }) => [
    ['workers', clusterText(request)],
    ['Ray', `${request.rayVersion}, in image ${request.image}`],
    ...placeFacts(request),
  ],
  planText: ({ pods }) => clusterText(pods),
  planDetails: ({ pods }) => `${clusterText(pods)}, Ray ${pods.rayVersion}, image ${pods.image}`,
  stateHint: (ref) => kubectlHint(ref, `get pods -l ray.io/cluster=${rayClusterName(ref.name)}`),
};

function account(accounts: UsualAccounts, spec: RayClusterSection): string;
function account(accounts: UsualAccounts, spec?: RayClusterSection): string | undefined;
/** Only a job names a namespace: without one there is nothing to list. */
function account(_: UsualAccounts, spec?: RayClusterSection): string | undefined {
  return spec && accountIn(spec.ray_cluster);
}

/** `a head and 1 to 8 workers of 1 h100` */
function clusterText({ workers }: Pick<RayClusterRequest, 'workers'>): string {
  const { min, max, gpus, cpus } = workers;
  const count = min === max ? String(max) : `${min} to ${max}`;
  const each = gpus === undefined ? `${cpus ?? '1'} cpu` : `${gpus.count} ${gpus.type}`;
  return `a head and ${count} ${max === 1 ? 'worker' : 'workers'} of ${each}`;
}
