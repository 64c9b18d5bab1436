import type { AttemptSlices } from './kind.js';

/** torchrun's usual port. It differs from JAX's, so that a program may use both. */
const TORCH_PORT = 29_400;

/**
 * Variables of a host that runs the command. `torch.distributed` (`env://`, one process a host) and torchrun (PET_*) read theirs
 * if no provider sets them. A program passes the JAX_* ones to `jax.distributed.initialize`: JAX itself reads only the address,
 * and takes the other two as arguments (0.10.2, 0.11.2). Lightning without a launcher reads NODE_RANK, and without it takes each
 * host for the first (2.6). Other hosts get no variable.
 * @param hasGpus torchrun then starts a process for each GPU of a host, otherwise one (torch 2.11)
 */
export function distributedEnvironment(
  { coordinator, jaxPort, portOffset, rank, tasks }: AttemptSlices,
  hasGpus: boolean,
): Record<string, string> {
  if (rank === undefined) return {};
  const torchPort = String(TORCH_PORT + portOffset);
  return {
    JAX_COORDINATOR_ADDRESS: `${coordinator}:${jaxPort}`,
    JAX_NUM_PROCESSES: String(tasks),
    JAX_PROCESS_ID: String(rank),
    MASTER_ADDR: coordinator,
    MASTER_PORT: torchPort,
    WORLD_SIZE: String(tasks),
    RANK: String(rank),
    NODE_RANK: String(rank),
    PET_MASTER_ADDR: coordinator,
    PET_MASTER_PORT: torchPort,
    PET_NNODES: String(tasks),
    PET_NODE_RANK: String(rank),
    ...(hasGpus && { PET_NPROC_PER_NODE: 'gpu' }),
  };
}
