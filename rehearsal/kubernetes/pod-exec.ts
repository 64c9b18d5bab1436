import type { ChildProcess } from 'node:child_process';
import { existsSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { constants } from 'node:os';
import type { Duplex, Readable } from 'node:stream';
import type { WebSocket } from 'ws';
import { WebSocketServer } from 'ws';
import { ApiRefusal, refusals } from './api-status.js';
import type { Kubelet } from './kubelet.js';
import type { Pod } from './objects.js';
import { isOver } from './objects.js';
import type { RunningContainer } from '../vm/container.js';

/**
 * `kubectl exec` over a WebSocket. Channels of a message, by its first byte: 0 stdin, 1 stdout, 2 stderr, 3 the end as a Status,
 * 4 the terminal's size; with v5, 255 closes the channel that its second byte names.
 */
const PROTOCOLS = ['v5.channel.k8s.io', 'v4.channel.k8s.io'] as const;
const [STDIN, STDOUT, STDERR, STATUS, CLOSE] = [0, 1, 2, 3, 255];
const MOST_UNSENT_BYTES = 1024 * 1024;

const sockets = new WebSocketServer({
  noServer: true,
  perMessageDeflate: false,
  handleProtocols: (offered) => PROTOCOLS.find((protocol) => offered.has(protocol)) ?? false,
});

export interface ExecRequest {
  readonly command: readonly string[];
  readonly hasStdin: boolean;
  readonly hasStdout: boolean;
  readonly hasStderr: boolean;
  readonly isTerminal: boolean;
}

/** @throws ApiRefusal before any command runs */
export function execRequest(query: URLSearchParams, pod: Pod): ExecRequest {
  const is = (name: string): boolean => /^(1|true)$/.test(query.get(name) ?? '');
  const container = query.get('container');
  const { name } = pod.metadata;
  if (container !== null && !pod.spec.containers.some((each) => each.name === container))
    throw refusals.badRequest(`container ${container} is not valid for pod ${name}`);
  const command = query.getAll('command');
  if (command.length === 0) throw refusals.badRequest('you must specify at least 1 command for the container');
  if (isOver(pod))
    throw new ApiRefusal(
      500,
      'InternalError',
      `cannot exec into a container in a completed pod; current phase is ${pod.status.phase}`,
    );
  const isTerminal = is('tty');
  return {
    ...{ command, hasStdin: is('stdin'), hasStdout: is('stdout'), hasStderr: is('stderr') && !isTerminal, isTerminal },
  };
}

/** Answers an upgrade request and runs its command. @throws ApiRefusal before the upgrade */
export function serveExec(
  kubelet: Kubelet,
  pod: Pod,
  { request, socket, head }: { readonly request: IncomingMessage; readonly socket: Duplex; readonly head: Buffer },
  query: URLSearchParams,
): void {
  const asked = execRequest(query, pod);
  const container = kubelet.containerOf(pod);
  if (container?.isAlive() !== true)
    throw new ApiRefusal(
      500,
      'InternalError',
      `unable to upgrade connection: container not found ("${pod.spec.containers[0]?.name}")`,
    );
  const environment = kubelet.environmentOf(pod);
  sockets.handleUpgrade(request, socket, head, (webSocket) => {
    const argv = asked.isTerminal ? inTerminal(asked.command) : asked.command;
    join(webSocket, { child: container.exec(argv, environment), container }, asked);
  });
}

/** util-linux's `script` gives the command a terminal. Its size is set once. */
function inTerminal(command: readonly string[]): readonly string[] {
  if (!existsSync('/usr/bin/script')) return command;
  const line = command.map((word) => `'${word.replaceAll("'", "'\\''")}'`).join(' ');
  return ['env', 'TERM=xterm', 'script', '-qefc', `stty rows 24 cols 80 2>/dev/null; exec ${line}`, '/dev/null'];
}

/**
 * Like containerd, ends when all processes have closed stdout and stderr. A broken connection closes stdin and leaves the process
 * running, with its output unread.
 */
function join(webSocket: WebSocket, { child, container }: Executed, asked: ExecRequest): void {
  const { stdin, stdout, stderr } = child;
  if (stdin === null || stdout === null || stderr === null) throw new TypeError('exec: its process needs pipes');
  let isOpen = true;
  for (const stream of [stdin, stdout, stderr]) stream.on('error', () => undefined);
  if (!asked.hasStdin) stdin.end();
  webSocket.on('message', (data: Buffer) => {
    if (data[0] === CLOSE && data[1] === STDIN) stdin.end();
    if (data[0] !== STDIN || data.length < 2 || stdin.writableEnded || !asked.hasStdin) return;
    const isTaken = stdin.write(data.subarray(1), () => {
      if (isOpen && webSocket.isPaused) webSocket.resume();
    });
    if (!isTaken) webSocket.pause();
  });
  webSocket.on('error', () => undefined);
  webSocket.on('close', () => {
    isOpen = false;
    stdin.end();
    for (const stream of [stdout, stderr]) stream.pause();
  });
  if (asked.hasStdout) send(webSocket, stdout, STDOUT);
  else stdout.resume();
  if (asked.hasStderr) send(webSocket, stderr, STDERR);
  else stderr.resume();
  const end = (status: object): void => {
    if (!isOpen) return;
    webSocket.send(Buffer.concat([Buffer.from([STATUS]), Buffer.from(JSON.stringify(status))]));
    webSocket.close(1000);
  };
  child.once('error', (error) => end({ metadata: {}, status: 'Failure', message: error.message, code: 500 }));
  child.once('close', (code, signal) => {
    // The container was gone before a process could enter it. This code is nsenter's, not the command's.
    if (code === 1 && !container.isAlive()) end(NO_TASK);
    else end(endStatus(code ?? 128 + (constants.signals[signal ?? 'SIGKILL'] ?? 0)));
  });
}

interface Executed {
  readonly child: ChildProcess;
  readonly container: RunningContainer;
}

/** The answer if the container is gone, in the words of containerd 1.7. */
const NO_TASK = {
  ...{ metadata: {}, status: 'Failure', reason: 'InternalError', code: 500 },
  message:
    'Internal error occurred: error executing command in container: failed to exec in container: failed to load task: no running task found: task not found',
} as const;

function send(webSocket: WebSocket, stream: Readable, channel: number): void {
  stream.on('data', (chunk: Buffer) => {
    if (webSocket.readyState !== webSocket.OPEN) return;
    const isFull = webSocket.bufferedAmount > MOST_UNSENT_BYTES;
    if (isFull) stream.pause();
    webSocket.send(Buffer.concat([Buffer.from([channel]), chunk]), () => {
      if (isFull && webSocket.readyState === webSocket.OPEN) stream.resume();
    });
  });
}

function endStatus(code: number): object {
  if (code === 0) return { metadata: {}, status: 'Success' };
  return {
    metadata: {},
    status: 'Failure',
    message: `command terminated with non-zero exit code: exit status ${code}`,
    reason: 'NonZeroExitCode',
    details: { causes: [{ reason: 'ExitCode', message: String(code) }] },
  };
}
