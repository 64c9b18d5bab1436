import { createServer, type Socket } from 'node:net';
import { LOGIN_SHELL } from '../../../cloud/hosts/login-shell.js';
import { CliError, ExitCode } from '../../terminal/cli-error.js';
import { asTyped, printErr, printOut } from '../../terminal/print.js';
import { clustersOf } from '../../place/kubernetes-cluster.js';
import { onEachHost } from './fleet.js';
import type { ForwardedPorts } from './host-options.js';
import { oneHost, type PodReach } from './reach.js';
import { watchEnd } from '../watch/interruptions.js';

/** Does for pods what the OpenSSH client does for VMs: a shell and a forwarded port, over the API server. */

/** ssh's exit code for a failed connection. */
const UNREACHABLE = 255;

/** Runs a login shell at the terminal, or a command with this process's stdin. @returns its exit code, or 255 */
export async function podShell(reach: PodReach, words: readonly string[]): Promise<number> {
  const { job } = reach;
  const [first = ''] = words;
  if (first.startsWith('-')) {
    throw new CliError(
      ExitCode.Usage,
      `jobctl ssh: '${first}' is an option of ssh, and the hosts of ${job} are pods, which exec reaches`,
      asTyped(`for a port: jobctl port-forward ${job} PORT; for a command: jobctl exec ${job} -- CMD`),
    );
  }
  const isTerminal = words.length === 0 && process.stdin.isTTY && process.stdout.isTTY;
  const [result] = await onEachHost(reach, new AbortController().signal, async (connection) => {
    if (isTerminal) {
      const { target } = oneHost(reach);
      const [{ podTerminal }, { contextOf }] = await Promise.all([
        import('../../../cloud/hosts/pod-terminal.js'),
        import('../../../cloud/hosts/pod-fleet.js'),
      ]);
      return (await podTerminal(await clustersOf(reach.context)(contextOf(target)), target)) ?? UNREACHABLE;
    }
    const { code } = await connection.exec(words.length === 0 ? LOGIN_SHELL : words.join(' '), {
      stdin: process.stdin,
      onStdout: (chunk) => written(process.stdout, chunk),
      onStderr: (chunk) => written(process.stderr, chunk),
      signal: new AbortController().signal,
    });
    return code ?? UNREACHABLE;
  });
  if (result?.kind === 'done') return result.value;
  printErr(`${result?.message}\n`);
  return UNREACHABLE;
}

const written = (stream: NodeJS.WriteStream, chunk: Buffer): Promise<void> =>
  new Promise((resolve) => void stream.write(chunk, () => resolve()));

const ended = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));

/** Forwards a loopback port of this computer to a port of a pod until Ctrl-C. */
export async function forwardToPod(
  reach: PodReach,
  { local, remote }: ForwardedPorts,
  end = watchEnd(),
): Promise<number> {
  const { job, context } = reach;
  const { target, number } = oneHost(reach);
  const { joinWithPort } = await import('../../../cloud/hosts/pod-terminal.js');
  const { contextOf } = await import('../../../cloud/hosts/pod-fleet.js');
  const cluster = await clustersOf(context)(contextOf(target));
  const connect = async (socket: Socket): Promise<void> => {
    socket.on('error', () => undefined);
    try {
      await joinWithPort(cluster, target, remote, socket);
    } catch (error) {
      printErr(`port ${remote} of host ${number}: ${(error as Error).message}\n`);
      socket.destroy();
    }
  };
  const server = createServer({ allowHalfOpen: true }, (socket) => void connect(socket));
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(local, '127.0.0.1', resolve));
  printOut(`http://127.0.0.1:${local} is port ${remote} of host ${number} of ${job}; Ctrl-C ends it\n`);
  await ended(end);
  server.close();
  return ExitCode.Done;
}
