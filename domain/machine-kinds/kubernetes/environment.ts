import type { AttemptSlices } from '../kind.js';
import type { KubernetesSection } from './words.js';

/** As torchrun has it; another than JAX's, so that a program may use both. */
const TORCH_PORT = 29_400;
const MEGASCALE_PORT = 8080;

/**
 * What `jax.distributed.initialize()` and `torch.distributed` (`env://`, and torchrun's PET_*) read, one process a pod; nothing of
 * it on a host that does not run the command. MEGASCALE_* only for TPUs in several slices (failures.md 31).
 */
export function environment(
  { kubernetes }: KubernetesSection,
  { own, all, coordinator, jaxPort, rank, tasks }: AttemptSlices,
): Record<string, string> {
  if (rank === undefined) return {};
  return {
    JAX_COORDINATOR_ADDRESS: `${coordinator}:${jaxPort}`,
    JAX_NUM_PROCESSES: String(tasks),
    JAX_PROCESS_ID: String(rank),
    MASTER_ADDR: coordinator,
    MASTER_PORT: String(TORCH_PORT),
    WORLD_SIZE: String(tasks),
    RANK: String(rank),
    PET_MASTER_ADDR: coordinator,
    PET_MASTER_PORT: String(TORCH_PORT),
    PET_NNODES: String(tasks),
    PET_NODE_RANK: String(rank),
    ...(kubernetes.tpu === undefined || all.length === 1
      ? {}
      : {
          MEGASCALE_COORDINATOR_ADDRESS: `${coordinator}:${MEGASCALE_PORT}`,
          MEGASCALE_NUM_SLICES: String(all.length),
          MEGASCALE_SLICE_ID: String(own.index),
        }),
  };
}
