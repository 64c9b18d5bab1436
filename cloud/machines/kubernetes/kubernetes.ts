import { objectName } from '../../../domain/machine-kinds/kubernetes/words.js';
import { refIn } from '../../../domain/machine-kinds/kubernetes/plan.js';
import type { Machines } from '../port.js';
import { read } from './api-failure.js';
import { conditionOf } from './condition.js';
import { createPods } from './create-pods.js';
import { JOB_NAME_LABEL } from './manifest.js';
import { allOf, type PodOwner } from './namespace-api.js';
import { seenJob, seenPod } from './observation.js';
import { MACHINES_LABEL } from './pod-template.js';
import { type KubernetesOptions, SlicesOfPods } from './slices-of-pods.js';

/** Pods as machines: one Indexed Job per slice (docs/adr/0065). Connects at the first call. */
export const createKubernetes = (options: KubernetesOptions = {}): Machines<'kubernetes'> =>
  new SlicesOfPods(INDEXED_JOB, options);

const INDEXED_JOB: PodOwner<'kubernetes'> = {
  resource: 'Job',
  podLabel: JOB_NAME_LABEL,
  selector: `!${MACHINES_LABEL}`,
  nameOf: ({ name }) => objectName(name),
  refIn: (place, name) => refIn('kubernetes', place, name),
  create: createPods,
  read: async ({ batch }, place) => {
    const job = await read(() => batch.readNamespacedJob(place));
    return job && seenJob(job);
  },
  list: async ({ batch }, place) => {
    const jobs = await allOf((page) => batch.listNamespacedJob({ ...place, ...page }));
    return jobs.map((job) => ({ ...(job.metadata && { metadata: job.metadata }), seen: seenJob(job) }));
  },
  seenPod,
  conditionOf,
};
