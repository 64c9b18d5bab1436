import type { z } from 'zod';
import { duration, flag, scalarText, section, text, textMap, wholeNumber } from '../../job-file/fields.js';
import { podKeys, sizeKeys } from '../kubernetes/pod-form.js';
import { MOST_WORKERS } from '../kubernetes/section-form.js';

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
export const rayClusterSection = (): typeof schema => schema;

export type RayClusterForm = z.infer<typeof schema>;
