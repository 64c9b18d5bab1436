import type { IncomingMessage } from 'node:http';
import type { RequestOptions } from 'node:https';
import { randomBytes } from 'node:crypto';
import { WebSocket } from 'ws';
import { shellQuote } from '../../domain/shell-quote.js';
import { type Status, statusOf } from '../machines/kubernetes/api-failure.js';
import type { Cluster } from '../machines/kubernetes/cluster.js';
import type { PodTarget } from './port.js';
import {
  type ExecOptions,
  type ExecResult,
  ConnectionLost,
  KEPT_STDERR_BYTES,
  KEPT_STDOUT_BYTES,
  NoChannel,
} from './remote-exec.js';

/**
 * Runs one command in a pod's container over one WebSocket of the API server. The first byte of a message is its channel: 0
 * stdin, 1 stdout, 2 stderr, 3 the end as a Status; 255 closes the channel that the second byte names. Only v5 has 255: in v4
 * stdin cannot end without ending everything (kubernetes/kubernetes#89899). API servers support v5 since Kubernetes 1.30.
 */
const PROTOCOL = 'v5.channel.k8s.io';
const [STDIN, STDOUT, STDERR, STATUS, CLOSE] = [0, 1, 2, 3, 255];
const CHUNK_BYTES = 32 * 1024;
/** Limit of bytes that are sent but not yet taken by the network. */
const MOST_UNSENT_BYTES = 1024 * 1024;
/** Limit of bytes for the end mark together with the exit code. */
const MOST_MARK_BYTES = 256;
/** Interval between pings: proxies close a connection that is silent for a minute or more. */
const PING_MS = 15_000;
/** Number of consecutive pings without any answer at which the connection counts as lost. */
const MOST_SILENT = 3;
const CONNECT_MS = 20_000;

/** Kubernetes refused the exec, or ended it before the command: nothing ran, or nothing is known. `code` is an HTTP status. */
export class ExecRefused extends NoChannel {
  readonly code: number;

  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}

/** @throws ExecRefused; NoChannel; ConnectionLost; the signal's reason when aborted; what `onStdout` throws */
export async function podExec(
  cluster: Cluster,
  { namespace, pod }: Pick<PodTarget, 'namespace' | 'pod'>,
  container: string,
  line: string,
  options: ExecOptions = {},
): Promise<ExecResult> {
  options.signal?.throwIfAborted();
  const { stdin = Buffer.alloc(0) } = options;
  const { argv, endMark } = podCommand(line, Buffer.isBuffer(stdin) ? { stdinBytes: stdin.length } : {});
  const query = new URLSearchParams({ container, stdin: '1', stdout: '1', stderr: '1' });
  for (const word of argv) query.append('command', word);
  const { server } = cluster.config.getCurrentCluster() ?? {};
  if (server === undefined) throw new NoChannel('the kubeconfig names no cluster');
  const url = `${server.replace(/^http/, 'ws')}/api/v1/namespaces/${encodeURIComponent(namespace)}/pods/${encodeURIComponent(pod)}/exec?${query}`;
  const settings: RequestOptions = {};
  await cluster.config.applyToHTTPSOptions(settings);
  const socket = new WebSocket(url, [PROTOCOL], {
    ...(settings as object),
    handshakeTimeout: CONNECT_MS,
    perMessageDeflate: false,
  });
  return new Exec(socket, options, stdin, endMark).result;
}

class Exec {
  readonly result: Promise<ExecResult>;
  readonly #socket: WebSocket;
  readonly #options: ExecOptions;
  readonly #stdin: Buffer | AsyncIterable<Buffer>;
  readonly #endMark: Buffer;
  readonly #stdout: Buffer[] = [];
  #stdoutBytes = 0;
  #stderr: Buffer = Buffer.alloc(0);
  /** Bytes that may begin the mark, held back. */
  #held: Buffer = Buffer.alloc(0);
  #markedCode: number | undefined;
  #handled = Promise.resolve();
  #handling = 0;
  #isOpen = false;
  #silent = 0;
  #ping: NodeJS.Timeout | undefined;
  #linger: NodeJS.Timeout | undefined;
  #settle!: { resolve(result: ExecResult): void; reject(error: unknown): void };

  constructor(socket: WebSocket, options: ExecOptions, stdin: Buffer | AsyncIterable<Buffer>, endMark: Buffer) {
    [this.#socket, this.#options, this.#stdin, this.#endMark] = [socket, options, stdin, endMark];
    this.result = new Promise<ExecResult>((resolve, reject) => (this.#settle = { resolve, reject })).finally(() => {
      clearInterval(this.#ping);
      clearTimeout(this.#linger);
      options.signal?.removeEventListener('abort', this.#abort);
      socket.terminate();
    });
    options.signal?.addEventListener('abort', this.#abort, { once: true });
    socket.on('upgrade', (response) => response.socket.setKeepAlive(true, PING_MS));
    socket.on('open', () => this.#open());
    socket.on('message', (data: Buffer) => this.#hear(data));
    socket.on('pong', () => (this.#silent = 0));
    socket.on('unexpected-response', (_request, response) => void this.#refused(response));
    socket.on('error', (error) => this.#fail(new (this.#isOpen ? ConnectionLost : NoChannel)(reasonOf(error))));
    socket.on('close', (code, reason) => {
      const why = reason.length > 0 ? `: ${reason.toString()}` : '';
      this.#afterAll(() => this.#fail(new ConnectionLost(`the exec was cut (WebSocket ${code}${why})`)));
    });
  }

  /** The end of the connection ends the command too. */
  readonly #abort = (): void => this.#settle.reject(this.#options.signal?.reason);

  /** Runs after everything that has arrived was handled. If handling failed, there is nothing left to do. */
  #afterAll(work: () => void): void {
    this.#handled.then(work, () => undefined);
  }

  #fail(error: unknown): void {
    this.#settle.reject(error);
  }

  #open(): void {
    this.#isOpen = true;
    const isEmpty = Buffer.isBuffer(this.#stdin) && this.#stdin.length === 0;
    const hasStdin = !isEmpty && this.#options.isTalk !== true;
    this.#ping = setInterval(() => {
      this.#socket.ping();
      // A server that waits for the command to read its stdin answers no ping. TCP then detects a dead server.
      if (hasStdin || this.#handling > 0) return;
      if (++this.#silent > MOST_SILENT)
        this.#fail(new ConnectionLost(`no sign of life for ${(PING_MS * MOST_SILENT) / 1000} s`));
    }, PING_MS);
    this.#send().catch((error: unknown) => this.#fail(error));
  }

  async #send(): Promise<void> {
    const stdin = this.#stdin;
    if (Buffer.isBuffer(stdin)) return this.#sendChunks(stdin);
    for await (const chunk of stdin) {
      // A command that ends without reading its stdin leaves the rest unsent, which is no failure.
      if (this.#socket.readyState !== WebSocket.OPEN) return;
      await this.#sendChunks(chunk);
    }
    this.#socket.send(Buffer.from([CLOSE, STDIN]), () => undefined);
  }

  async #sendChunks(bytes: Buffer): Promise<void> {
    for (let at = 0; at < bytes.length; at += CHUNK_BYTES) {
      if (this.#socket.readyState !== WebSocket.OPEN) return;
      const message = Buffer.concat([Buffer.from([STDIN]), bytes.subarray(at, at + CHUNK_BYTES)]);
      const sent = new Promise<void>((resolve) => this.#socket.send(message, () => resolve()));
      if (this.#socket.bufferedAmount > MOST_UNSENT_BYTES) await sent;
    }
  }

  #hear(data: Buffer): void {
    this.#silent = 0;
    // Handles messages one by one, and reads no more until they are handled.
    this.#handling += 1;
    this.#socket.pause();
    this.#handled = this.#handled
      .then(() => this.#take(data[0] ?? CLOSE, data.subarray(1)))
      .then(() => {
        if (--this.#handling === 0 && this.#socket.readyState === WebSocket.OPEN) this.#socket.resume();
      });
    this.#handled.catch((error: unknown) => this.#fail(error));
  }

  async #take(channel: number, bytes: Buffer): Promise<void> {
    if (channel === STATUS) return this.#end(JSON.parse(bytes.toString()) as Status);
    if (bytes.length === 0) return;
    if (this.#linger !== undefined) this.#linger.refresh();
    if (channel === STDOUT) {
      if (this.#options.onStdout) await this.#options.onStdout(bytes);
      else this.#keep(bytes);
    } else if (channel === STDERR) await this.#takeStderr(bytes);
  }

  #keep(bytes: Buffer): void {
    this.#stdout.push(bytes);
    this.#stdoutBytes += bytes.length;
    while (this.#stdoutBytes - (this.#stdout[0]?.length ?? 0) >= KEPT_STDOUT_BYTES)
      this.#stdoutBytes -= this.#stdout.shift()?.length ?? 0;
  }

  async #takeStderr(bytes: Buffer): Promise<void> {
    const all = Buffer.concat([this.#held, bytes]);
    const { own, held, code } = beforeMark(all, this.#endMark);
    this.#held = held;
    if (own.length > 0) {
      if (this.#options.onStderr) await this.#options.onStderr(own);
      else this.#stderr = Buffer.concat([this.#stderr, own]).subarray(-KEPT_STDERR_BYTES);
    }
    if (held.length > MOST_MARK_BYTES) throw new ConnectionLost('the exec says its end, and no code of it');
    if (code === undefined) return;
    this.#markedCode = code;
    const { lingerMs } = this.#options;
    if (lingerMs !== undefined) this.#linger ??= setTimeout(() => this.#afterAll(() => this.#done(code)), lingerMs);
  }

  #end(status: Status): void {
    const code = this.#markedCode ?? exitCodeOf(status);
    // Exit code 0 counts only if the command's end mark was seen.
    if (code === 0 && this.#markedCode === undefined)
      return this.#fail(new ConnectionLost('the exec ended before its command did: its node may not answer'));
    if (code !== undefined) return this.#done(code);
    this.#fail(new ExecRefused(status.code ?? 500, status.message ?? JSON.stringify(status)));
  }

  #done(code: number): void {
    this.#settle.resolve({ code, stdout: Buffer.concat(this.#stdout), stderr: this.#stderr.toString() });
  }

  /** The body contains the API server's own words. */
  async #refused(response: IncomingMessage): Promise<void> {
    const code = response.statusCode ?? 0;
    const chunks: Buffer[] = [];
    try {
      for await (const chunk of response) chunks.push(chunk as Buffer);
    } catch {
      // The part that was read has to be enough.
    }
    const body = Buffer.concat(chunks).toString();
    this.#fail(new ExecRefused(code, statusOf(body)?.message ?? (body.slice(0, 500) || `HTTP ${code}`)));
  }
}

/** `own` is the command's output. `held` may begin the mark, and is searched again with the next bytes. */
function beforeMark(
  bytes: Buffer,
  mark: Buffer,
): { readonly own: Buffer; readonly held: Buffer; readonly code: number | undefined } {
  const at = bytes.indexOf(mark);
  if (at >= 0) {
    const end = bytes.indexOf('\n', at);
    const [own, held] = [bytes.subarray(0, at), bytes.subarray(at)];
    return end < 0
      ? { own, held, code: undefined }
      : { own, held: Buffer.alloc(0), code: exitCode(bytes.subarray(at + mark.length, end).toString()) };
  }
  const most = Math.min(mark.length - 1, bytes.length);
  const kept = Array.from({ length: most }, (_, index) => most - index).find((length) =>
    bytes.subarray(-length).equals(mark.subarray(0, length)),
  );
  const cut = bytes.length - (kept ?? 0);
  return { own: bytes.subarray(0, cut), held: bytes.subarray(cut), code: undefined };
}

/** The command's exit code in the Status that ends an exec. Undefined: the exec failed; nothing is known about the command. */
export function exitCodeOf({ status, details }: Status): number | undefined {
  if (status === 'Success') return 0;
  const said = details?.causes?.find(({ reason }) => reason === 'ExitCode')?.message;
  return said === undefined ? undefined : exitCode(said);
}

/** 255, like ssh, if the text is not an exit code: any process in the pod can print a mark too. */
const exitCode = (said: string): number => (/^\d{1,3}$/.test(said) && Number(said) < 256 ? Number(said) : 255);

function reasonOf(error: Error): string {
  return error.message === 'Server sent no subprotocol'
    ? `the API server does not speak ${PROTOCOL}: Kubernetes 1.30 or later is needed`
    : error.message || ((error as NodeJS.ErrnoException).code ?? String(error));
}

/** A command in the form in which it is executed in a pod. */
interface PodCommand {
  readonly argv: readonly string[];
  /** Printed on stderr after the command's own output, before its exit code and a newline. */
  readonly endMark: Buffer;
}

interface PodCommandOptions {
  /** Number of bytes on stdin, if known. Absent: stdin ends when the stream does. */
  readonly stdinBytes?: number;
}

/**
 * An exec that loses its connection continues in the pod, and once its pipes are full it blocks for ever, with every lock that it
 * holds (seen with containerd 1.6). So stdin stays open after the command's bytes: its end then shows the end of the connection,
 * and the process group is told to end. A stream of unknown length gives no such sign; its command notices the end itself.
 *
 * The end is marked, for two reasons. A process that the command leaves behind may hold its output open, and an exec ends only
 * with that. And if the kubelet of an exec was killed, an API server reports success with the output cut anywhere (seen with
 * 1.34).
 *
 * `heard`: the agent measures the time since the last command (pod-template.ts).
 */
export function podCommand(command: string, { stdinBytes }: PodCommandOptions): PodCommand {
  const mark = `jobctl-end-${randomBytes(12).toString('hex')} `;
  const told = `printf '%s%s\\n' ${shellQuote(mark)} $code >&2; `;
  const script = stdinBytes === undefined ? streamed(told) : watched(stdinBytes, told);
  return { argv: ['/bin/sh', '-c', HEARD + script, 'jobctl', command], endMark: Buffer.from(mark) };
}

const HEARD = '[ ! -d "$HOME/.jobctl" ] || { echo $$ > "$HOME/.jobctl/heard"; } 2> /dev/null; ';

const streamed = (told: string): string => `/bin/sh -c "$1"; code=$?; ${told}exit $code`;

/**
 * The left side prints its process id, passes the command's bytes on, and then waits for the end of stdin. The right side runs
 * the command and then ends the left side by a signal. The left side traps that signal, since a shell prints a line for each of
 * its processes that a signal has ended.
 */
function watched(bytes: number, told: string): string {
  const pass = bytes === 0 ? '' : `head -c ${bytes}; `;
  const left = `trap 'kill $!; exit 0' TERM; echo $$; ${pass}exec 3<&0 >&-; cat <&3 > /dev/null & wait $!; kill -s TERM -- "-$0"`;
  const right = `read -r left; /bin/sh -c "$1"; code=$?; ${told}kill $left; exit $code`;
  return `/bin/sh -c ${shellQuote(left)} $$ 2> /dev/null | { ${right}; }`;
}
