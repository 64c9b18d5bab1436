import type { Socket } from 'node:net';
import type { Cluster } from '../machines/kubernetes/cluster.js';
import { CONTAINER } from '../../domain/machine-kinds/kubernetes/words.js';
import { exitCodeOf } from './pod-exec.js';
import { LOGIN_SHELL } from './login-shell.js';
import type { PodTarget } from './port.js';

/** A person's actions on a pod from a terminal. They are never repeated, and never wait for a slow reader. */

const AT_TERMINAL = ['/bin/sh', '-c', `TERM=\${TERM:-xterm}; export TERM; exec ${LOGIN_SHELL}`];

/**
 * Runs a login shell at this process's terminal: keys go to the pod one by one, including Ctrl-C, and the window's size is passed
 * on.
 * @returns its exit code; undefined if the connection was lost
 */
export async function podTerminal(
  { config, library }: Cluster,
  { namespace, pod }: PodTarget,
): Promise<number | undefined> {
  const { stdin, stdout, stderr } = process;
  let code: number | undefined;
  stdin.setRawMode(true);
  try {
    const socket = await new library.Exec(config).exec(
      ...([namespace, pod, CONTAINER, AT_TERMINAL, stdout, stderr, stdin, true] as const),
      (status) => {
        code = exitCodeOf(status);
      },
    );
    await new Promise<void>((resolve) => socket.addEventListener('close', () => resolve()));
    return code;
  } finally {
    stdin.setRawMode(false);
    stdin.pause();
  }
}

/** Joins a local socket with a port of a pod. Refusals by the pod's side are printed on stderr. */
export async function joinWithPort(
  { config, library }: Cluster,
  { namespace, pod }: PodTarget,
  port: number,
  socket: Socket,
): Promise<void> {
  const forward = new library.PortForward(config);
  const joined = await forward.portForward(namespace, pod, [port], socket, process.stderr, socket);
  if (typeof joined === 'function') throw new TypeError('port-forward: no connection of its own was made');
  joined.addEventListener('close', () => socket.end());
  socket.once('close', () => joined.close());
}
