import { z } from 'zod';
import {
  given,
  secondsOf,
  duration,
  flag,
  scalarText,
  section,
  text,
  textMap,
  wholeNumber,
} from '../../job-file/fields.js';
import type { Report } from '../../job-file/report.js';
import type { MachineKind, UsualAccounts, RequestContext, ResolvedRequest } from '../kind.js';
import {
  ownershipForm,
  podFieldKeys,
  podSizeKeys,
  refKeys,
  podKeys,
  sizeKeys,
  MOST_WORKERS,
} from '../kubernetes/forms.js';
import { objectName, DEFAULT_CLUSTER } from '../kubernetes/words.js';
import {
  accountIn,
  agentHours,
  ownershipOf,
  refIn,
  podChoices,
  podsPlace,
  accountText,
  kubectlHint,
  placeFacts,
  placeText,
  podFlags,
} from '../kubernetes/plan.js';
import { type Place, definedOnly, quantity, resolveGpus, resolvePodFields } from '../kubernetes/pod-fields.js';
import {
  clusterType,
  isTooOld,
  OLDEST_RAY,
  sizeOf,
  type RayClusterPlan,
  type RayClusterRef,
  type RayClusterRequest,
  type RayClusterSection,
  type WorkerGroup,
} from './words.js';

const pods = podKeys();
const size = sizeKeys();

const head = section({ cpus: size.cpus, memory: size.memory });

const workers = section({
  min: wholeNumber(0, MOST_WORKERS).nullish().describe('Workers that run from the start to the end; 1 without it.'),
  max: wholeNumber(1, MOST_WORKERS).nullish().describe('The most that Ray may ask for. Quota counts so many.'),
  idle_timeout: duration().nullish().describe('After it, an idle worker above min is ended; 60s without it.'),
  ...size,
});

const schema = section({
  context: pods.context,
  namespace: pods.namespace,
  image: text().nullish().describe('Of all pods, with Ray, wget, and what kubernetes.image needs.'),
  ray_version: scalarText().nullish().describe('Of Ray in the image, such as 2.60.0.'),
  head: head.nullish().describe('The pod that runs the command, and no tasks.'),
  workers: workers.nullish().describe('The pods that run tasks and actors, between min and max.'),
  dashboard: flag().nullish().describe('Whether Ray starts its dashboard on the head; true without it.'),
  node_selector: pods.node_selector,
  tolerations: pods.tolerations,
  service_account: pods.service_account,
  priority_class: pods.priority_class,
  secrets: pods.secrets,
  volumes: pods.volumes,
  labels: textMap().nullish().describe('Of the RayCluster and its pods.'),
  gang_timeout: pods.gang_timeout,
});

/** The form of `ray_cluster` in a job file. */
const rayClusterSection = (): typeof schema => schema;

type RayClusterForm = z.infer<typeof schema>;

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

/** Limit of a slice's name. KubeRay accepts 53 characters, and cuts the front of the names of its objects to leave 50. */
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
  isRehearsed: () => true,
  zoneNames: undefined,
  reach: 'pod',
  areTakenBack: true,
  isBought: true,
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
  sizeKey: ({ ray_cluster: { workers } }) =>
    workers.gpus === undefined ? 'ray_cluster.workers' : 'ray_cluster.workers.gpus',
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

/** Default of `idle_timeout`, the same as KubeRay's. */
const DEFAULT_IDLE_SECONDS = 60;

/** The `ray_cluster` section with its defaults, or undefined if its image or workers are not known, which is reported. */
function resolveRayCluster(
  form: RayClusterForm,
  _context: RequestContext,
  report: Report,
): ResolvedRequest<RayClusterSection> | undefined {
  const place = { section: 'ray_cluster', report };
  const fields = resolvePodFields(form, place);
  const workers = resolveWorkers(form.workers, place);
  const { head } = form;
  const request = {
    ...fields,
    rayVersion: resolveVersion(form.ray_version, place),
    ...(form.dashboard === false && { dashboard: false as const }),
    head: definedOnly({
      cpus: quantity(head?.cpus, ['head', 'cpus'], place),
      memory: quantity(head?.memory, ['head', 'memory'], place),
    }),
  };
  if (fields.image === '' || workers === undefined) return undefined;
  const whole: RayClusterRequest = { ...request, workers };
  return { request: { ray_cluster: whole }, slice: { type: clusterType(whole), hosts: 1 }, leftToPool: [] };
}

function resolveWorkers(form: RayClusterForm['workers'], place: Place): WorkerGroup | undefined {
  const { section, report } = place;
  const at = [section, 'workers'];
  const max = given(form?.max);
  if (max === undefined) {
    if (!report.wasDropped(at) && !report.wasDropped([...at, 'max']))
      report.missing([...at, 'max'], 'such as workers: {min: 1, max: 8}; quota counts max');
    return undefined;
  }
  const min = given(form?.min) ?? 1;
  if (min > max) report.wrong([...at, 'min'], min, `more than max, which is ${max}`, 'min: 0 to max');
  const idleSeconds = Math.ceil(secondsOf(given(form?.idle_timeout) ?? DEFAULT_IDLE_SECONDS));
  if (idleSeconds < 1) report.wrong([...at, 'idle_timeout'], form?.idle_timeout, 'too short', '1s or more');
  return {
    ...{ min, max, idleSeconds },
    ...definedOnly({
      gpus: resolveGpus(form ?? {}, place, ['workers']),
      cpus: quantity(form?.cpus, ['workers', 'cpus'], place),
      memory: quantity(form?.memory, ['workers', 'memory'], place),
    }),
  };
}

function resolveVersion(value: RayClusterForm['ray_version'], { section, report }: Place): string {
  const path = [section, 'ray_version'];
  const version = given(value) === undefined ? undefined : String(value);
  if (version === undefined) {
    if (!report.wasDropped(path))
      report.missing(path, 'KubeRay has to know the version of Ray in the image, such as ray_version: 2.60.0');
    return '';
  }
  if (!/^\d+\.\d+\.\d+$/.test(version))
    report.wrong(path, value, 'no version of Ray', 'all three numbers, such as 2.60.0');
  else if (isTooOld(version)) {
    const why = `Ray ${OLDEST_RAY.join('.')} is the first that asks for a token; before, whoever reaches its port runs code`;
    report.wrong(path, value, 'too old', why);
  }
  return version;
}
