import { distributedEnvironment } from '../distributed-environment.js';
import type { AttemptSlices } from '../kind.js';
import type { KubernetesSection } from './words.js';

const MEGASCALE_PORT = 8080;

/** Variables by which a pod's programs find each other. MEGASCALE_* is only for TPUs in several slices (ray-project/ray#62893). */
export function environment({ kubernetes }: KubernetesSection, slices: AttemptSlices): Record<string, string> {
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
