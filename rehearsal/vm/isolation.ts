import { spawnSync } from 'node:child_process';

/**
 * `namespaces`: a VM has processes, mounts, host name and IPC of its own and dies at once with its init.
 * `marks`: its processes are ordinary ones that carry a mark in their environment and are found by it.
 */
export type Isolation = 'namespaces' | 'marks';

let detected: Isolation | undefined;

/** What this kernel and user allow, tried once per process. */
export function detectIsolation(): Isolation {
  detected ??= tryNamespaces() ? 'namespaces' : 'marks';
  return detected;
}

function tryNamespaces(): boolean {
  const probe =
    'mount -t tmpfs tmpfs /dev/shm && hostname rehearsal-probe && nsenter --version >/dev/null && setsid -V >/dev/null';
  const unshare = ['--pid', '--mount', '--uts', '--ipc', '--fork', '--mount-proc', 'sh', '-c', probe];
  return spawnSync('unshare', unshare, { stdio: 'ignore', timeout: 10_000 }).status === 0;
}
