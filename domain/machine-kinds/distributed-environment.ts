import type { AttemptSlices } from './kind.js';

/** As torchrun has it; another than JAX's, so that a program may use both. */
const TORCH_PORT = 29_400;

/**
 * What `jax.distributed.initialize()` and `torch.distributed` (`env://`, and torchrun's PET_*) read where no provider tells them,
 * one process a host; nothing of it on a host that does not run the command.
 */
export function distributedEnvironment({ coordinator, jaxPort, rank, tasks }: AttemptSlices): Record<string, string> {
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
  };
}
