import { z } from 'zod';
import { duration, flag, oneOf, scalarText, section, text, textMap, wholeNumber } from '../../job-file/fields.js';
import { TOLERATION_EFFECTS } from './words.js';

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

const pods = {
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

const size = {
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
export const podKeys = (): typeof pods => pods;

/** Keys for the size of one pod. */
export const sizeKeys = (): typeof size => size;

const form = section({
  ...pods,
  image: text().nullish(),
  labels: textMap().nullish(),
});
export type PodForm = z.infer<typeof form>;
