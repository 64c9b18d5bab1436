import type { Confinement } from './confinement.js';
import { detectConfinement } from './confinement.js';

/**
 * `namespaces`: a VM has processes, a root folder, host name and IPC of its own and dies at once with its init.
 * `marks`: its processes are ordinary ones that carry a mark in their environment and are found by it.
 */
export type Isolation = 'namespaces' | 'marks';

/** What this kernel and user allow, tried once per process. */
export function detectIsolation(): Isolation {
  return isolationOf(detectConfinement().kind);
}

export function isolationOf(confinement: Confinement): Isolation {
  return confinement === 'none' ? 'marks' : 'namespaces';
}
