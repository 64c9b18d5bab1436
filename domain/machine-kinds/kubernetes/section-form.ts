import type { z } from 'zod';
import { section, text, textMap, wholeNumber } from '../../job-file/fields.js';
import { podKeys, sizeKeys } from './pod-form.js';

/** One Indexed Job should not be a gang of more pods. */
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
