import type { Confinement } from './confinement.js';
import { detectConfinement } from './confinement.js';

/**
 * `namespaces`: a VM has separate processes, root folder, host name and IPC, and dies at once with its init.
 * `marks`: its processes are ordinary ones, found by a mark in their environment.
 */
export type Isolation = 'namespaces' | 'marks';

/** Finds what this kernel and user allow; tried once per process. */
export function detectIsolation(): Isolation {
  return isolationOf(detectConfinement().kind);
}

export function isolationOf(confinement: Confinement): Isolation {
  return confinement === 'none' ? 'marks' : 'namespaces';
}
