import { z } from 'zod';
import { TOLERATION_EFFECTS } from './words.js';
import { section, text, textMap, wholeNumber, duration, flag, oneOf, scalarText } from '../../job-file/fields.js';

/** Forms that all kinds of machines made of pods share: of their sections in a job file, of refs and of plans. */

const secret = section({
  name: text().nullish().describe('Of a Secret in the namespace.'),
  mount_path: text().nullish().describe('Folder in the container; its files have mode 0400.'),
});

const emptyDir = section({
  medium: oneOf(['disk', 'memory']).nullish().describe('memory: a tmpfs, such as /dev/shm; disk without it.'),
  size: text().nullish().describe('Its limit, such as 16Gi.'),
});

const volume = section({
  mount_path: text().nullish().describe('Folder in the container.'),
  claim: text().nullish().describe('Name of a PersistentVolumeClaim in the namespace.'),
  empty_dir: z.union([flag(), emptyDir], { error: 'true, or a section {medium, size}' }).nullish(),
  host_path: text().nullish().describe('Folder of the node.'),
  read_only: flag().nullish(),
});

const toleration = section({
  key: text().nullish(),
  operator: oneOf(['Equal', 'Exists']).nullish().describe('Equal where there is a value, else Exists.'),
  value: scalarText().nullish(),
  effect: oneOf(TOLERATION_EFFECTS).nullish().describe('Every effect without it.'),
});

const fields = {
  context: text().nullish().describe("Of the worker's kubeconfig; the worker's default cluster without it."),
  namespace: text().nullish().describe('default without it.'),
  node_selector: textMap().nullish().describe('Labels that a node must have.'),
  tolerations: z.array(toleration, { error: 'a list of {key, operator, value, effect}' }).nullish(),
  service_account: text().nullish().describe("Of the pods; the namespace's default one without it."),
  priority_class: text().nullish(),
  secrets: z.array(secret, { error: 'a list of {name, mount_path}' }).nullish(),
  volumes: z.array(volume, { error: 'a list of {mount_path, claim | empty_dir | host_path, read_only}' }).nullish(),
  gang_timeout: duration()
    .nullish()
    .describe('If not all pods run after this time, the slice gives back those that do and asks again later; 15m.'),
};

const podSize = {
  gpus: wholeNumber(0, 64).nullish().describe('Per pod.'),
  gpu_type: text().nullish().describe('What quota calls them, such as h100. Needed with gpus.'),
  cpus: z
    .union([z.number().positive(), text()], { error: 'a number of CPUs such as 4, or 500m' })
    .nullish()
    .describe('Per pod.'),
  memory: text().nullish().describe('Per pod, such as 64Gi.'),
};

// Functions: docs/adr/0012.

/** Keys of every section whose machines are pods. */
export const podKeys = (): typeof fields => fields;

/** Keys for the size of one pod. */
export const sizeKeys = (): typeof podSize => podSize;

const form = section({
  ...fields,
  image: text().nullish(),
  labels: textMap().nullish(),
});
export type PodForm = z.infer<typeof form>;

/** Limit of pods in the gang of one Indexed Job. */
export const MOST_WORKERS = 1024;

const pods = podKeys();
const size = sizeKeys();

const tpu = section({
  accelerator: text()
    .nullish()
    .describe("GKE's name, such as tpu-v5-lite-podslice, or jobctl's type, such as v5litepod-16."),
  topology: text().nullish().describe('Chips along the axes, such as 4x4.'),
});

const schema = section({
  context: pods.context,
  namespace: pods.namespace,
  image: text()
    .nullish()
    .describe('Of the container. It needs bash, coreutils, findutils, grep, sed, awk and util-linux.'),
  workers: wholeNumber(1, MOST_WORKERS)
    .nullish()
    .describe('Pods of one slice, one host each; 1 without it, with tpu as many as its topology has hosts.'),
  ...size,
  tpu: tpu.nullish().describe('A TPU slice of a GKE node pool.'),
  node_selector: pods.node_selector,
  tolerations: pods.tolerations,
  service_account: pods.service_account,
  priority_class: pods.priority_class,
  secrets: pods.secrets,
  volumes: pods.volumes,
  labels: textMap().nullish().describe('Of the Job and its pods.'),
  gang_timeout: pods.gang_timeout,
});

/** The form of `kubernetes` in a job file. */
export const kubernetesSection = (): typeof schema => schema;

export type KubernetesForm = z.infer<typeof schema>;

// Refs and plans -----------------------------------------------------------------------------------------------------

const plainText = z.string();

export const refKeys = () => ({
  context: plainText.min(1).exactOptional(),
  namespace: plainText.min(1),
  zone: plainText.min(1),
  name: plainText.min(1),
});

export const ownershipForm = () =>
  z.object({ owner: plainText, job: plainText, run: plainText, generation: z.int().min(0), spec: plainText });

const plannedVolume = z.object({
  mountPath: plainText,
  claim: plainText.exactOptional(),
  emptyDir: z.object({ medium: z.enum(['disk', 'memory']), size: plainText.exactOptional() }).exactOptional(),
  hostPath: plainText.exactOptional(),
  readOnly: z.literal(true).exactOptional(),
});
const plannedToleration = z.object({
  key: plainText.exactOptional(),
  operator: z.enum(['Equal', 'Exists']),
  value: plainText.exactOptional(),
  effect: z.enum(TOLERATION_EFFECTS).exactOptional(),
});

/** Form of `PodFields`, without its place. */
export const podFieldKeys = () => ({
  image: plainText.min(1),
  nodeSelector: z.record(plainText, plainText),
  tolerations: z.array(plannedToleration),
  serviceAccount: plainText.exactOptional(),
  priorityClass: plainText.exactOptional(),
  secrets: z.array(z.object({ name: plainText, mountPath: plainText })),
  volumes: z.array(plannedVolume),
  labels: z.record(plainText, plainText),
  gangSeconds: z.number().min(1),
});

/** Form of `PodSize`. */
export const podSizeKeys = () => ({
  gpus: z.object({ count: z.int().min(1), type: plainText, resource: plainText }).exactOptional(),
  cpus: plainText.exactOptional(),
  memory: plainText.exactOptional(),
});
