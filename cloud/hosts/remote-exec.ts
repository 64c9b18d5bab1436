import type { Client, ClientChannel } from 'ssh2';
import { abortable } from '../abort.js';
import { type HostTarget, HostUnfit, type PodTarget, type SshTarget } from './port.js';

/** The result of one command on a host. `code` is absent if a signal ended it. */
export interface ExecResult {
  readonly code?: number;
  readonly signal?: string;
  /** At most the last 4 MiB, so that endless output of a host does not fill the memory here. */
  readonly stdout: Buffer;
  /** At most the last 256 KiB. */
  readonly stderr: string;
}

export interface ExecOptions {
  readonly stdin?: Buffer | AsyncIterable<Buffer>;
  /** Gets stdout instead of the result. Nothing more is read until its promise settles; the SSH window then fills. */
  readonly onStdout?: (chunk: Buffer) => void | Promise<void>;
  /** Gets stderr instead of the result. */
  readonly onStderr?: (chunk: Buffer) => void | Promise<void>;
  readonly signal?: AbortSignal;
  /**
   * Milliseconds of silence after the command's end before this side closes the channel. A daemon that a step left behind holds
   * its stdout, and sshd then never closes the channel. Absent: wait for the host.
   */
  readonly lingerMs?: number;
  /** stdin contains replies to the command's output. So a server that takes no bytes and answers no ping is dead. */
  readonly isTalk?: boolean;
}

/** The connection ended before the command's exit status arrived: nothing is known about the command. */
export class ConnectionLost extends Error {
  override readonly name: string = 'ConnectionLost';
}

/** No channel could be opened, so nothing was started: the call can be repeated on another connection. */
export class NoChannel extends ConnectionLost {
  override readonly name = 'NoChannel';
}

/** The host has reached its limit of sessions (sshd's MaxSessions) or has no room for one; the connection itself works. */
export class ChannelRefused extends Error {
  override readonly name = 'ChannelRefused';
}

/**
 * Runs one command over one channel.
 * @throws ConnectionLost; ChannelRefused; the signal's reason when aborted (the remote process then only gets SIGTERM); errors of
 * `onStdout`
 */
export async function remoteExec(client: Client, command: string, options: ExecOptions = {}): Promise<ExecResult> {
  options.signal?.throwIfAborted();
  const { channel, exit, stdout, stderr } = await openChannel(client, command, options);
  try {
    // The words of a talk do not end by themselves when its command has ended.
    const closed = new Promise<void>((resolve) => channel.once('close', resolve));
    const sent = Promise.race([sendStdin(channel, options.stdin), closed]);
    // A host that does not answer any more does not confirm the end of its channel either.
    const whole = await abortable(Promise.all([stdout, stderr, sent]), options.signal, () => channel.signal('TERM'));
    if (!exit.isKnown) throw new ConnectionLost('the connection ended before the command did');
    return {
      ...(exit.code !== undefined && { code: exit.code }),
      ...(exit.signal !== undefined && { signal: exit.signal }),
      stdout: whole[0],
      stderr: whole[1].toString(),
    };
  } finally {
    channel.close();
  }
}

interface OpenChannel {
  readonly channel: ClientChannel;
  readonly exit: ExitWatch;
  readonly stdout: Promise<Buffer>;
  readonly stderr: Promise<Buffer>;
}

export const KEPT_STDOUT_BYTES = 4 * 1024 * 1024;
export const KEPT_STDERR_BYTES = 256 * 1024;

/** Listens before it returns to the event loop: a short command's exit status can be in the packet of the channel's opening. */
function openChannel(client: Client, command: string, options: ExecOptions): Promise<OpenChannel> {
  return new Promise((resolve, reject) => {
    const fail = (error: Error): void => {
      const message = `no channel could be opened: ${error.message}`;
      // Only an answer from the host has a reason.
      reject('reason' in error ? new ChannelRefused(message) : new NoChannel(message));
    };
    try {
      client.exec(command, (error, channel) => {
        if (error) return fail(error);
        // Writing fails once the command has ended; the exit status tells enough.
        channel.on('error', () => undefined);
        const exit = watchExit(channel, options.lingerMs);
        const stdout = readAll(channel, channel, options.onStdout, KEPT_STDOUT_BYTES);
        const stderr = readAll(channel.stderr, channel, options.onStderr, KEPT_STDERR_BYTES);
        resolve({ channel, exit, stdout, stderr });
      });
    } catch (error) {
      fail(error as Error);
    }
  });
}

interface ExitWatch {
  isKnown: boolean;
  code?: number;
  signal?: string;
}

/** Records the exit status, which comes before the channel's end. With `lingerMs` it closes the channel after some silence. */
function watchExit(channel: ClientChannel, lingerMs: number | undefined): ExitWatch {
  const exit: ExitWatch = { isKnown: false };
  let linger: NodeJS.Timeout | undefined;
  const wait = (): void => {
    clearTimeout(linger);
    if (exit.isKnown && lingerMs !== undefined) linger = setTimeout(() => channel.close(), lingerMs);
  };
  channel.on('exit', (code: number | null, signal?: string) => {
    exit.isKnown = true;
    if (code !== null) exit.code = code;
    if (signal) exit.signal = `SIG${signal.replace(/^SIG/, '')}`;
    wait();
  });
  channel.on('data', wait);
  channel.once('close', () => clearTimeout(linger));
  return exit;
}

/** Also ends with the channel: a command that ends without reading its stdin leaves the rest unsent, which is no failure. */
async function sendStdin(channel: ClientChannel, stdin: ExecOptions['stdin']): Promise<void> {
  if (stdin === undefined || Buffer.isBuffer(stdin)) return void channel.end(stdin ?? Buffer.alloc(0));
  let isOpen = true;
  const closed = new Promise<void>((resolve) => channel.once('close', resolve)).then(() => void (isOpen = false));
  for await (const chunk of stdin) {
    if (!isOpen) return;
    if (channel.write(chunk)) continue;
    await Promise.race([new Promise((resolve) => channel.once('drain', resolve)), closed]);
  }
  channel.end();
}

/**
 * Reads a stream in order until the channel is closed, into `onChunk` one chunk at a time if it is given. Otherwise keeps the
 * last `most` bytes. Not an async iterable: that closes the channel at the end of stdout, before the exit status has come.
 */
function readAll(
  stream: NodeJS.ReadableStream,
  channel: ClientChannel,
  onChunk: ExecOptions['onStdout'],
  most: number,
): Promise<Buffer> {
  const kept: Buffer[] = [];
  let bytes = 0;
  return new Promise((resolve, reject) => {
    let handled = Promise.resolve();
    const take = (chunk: Buffer): void => {
      if (!onChunk) {
        kept.push(chunk);
        bytes += chunk.length;
        while (bytes - (kept[0]?.length ?? 0) >= most) bytes -= kept.shift()?.length ?? 0;
        return;
      }
      stream.pause();
      handled = handled.then(() => onChunk(chunk)).then(() => void stream.resume());
      handled.catch(reject);
    };
    stream.on('data', take);
    channel.once('close', () => {
      // Bytes that arrived while a chunk was being handled are still in the stream: without this they would be lost.
      stream.off('data', take);
      const rest = stream.read() as Buffer | null;
      if (rest !== null) take(rest);
      void handled.then(() => resolve(Buffer.concat(kept)), reject);
    });
  });
}

/** The kept connection to one host, shared by all users: over SSH (ssh-fleet.ts) or by exec into a pod (pod-fleet.ts). */
export interface HostLink {
  readonly target: HostTarget;
  /** The beginning of every message about the host. */
  readonly where: string;
  /** The transport of files, for a log: `over SSH`. */
  readonly over: string;
  /** Makes sure that the host answers. @throws HostUnreachable, HostKeyMismatch, HostUnfit */
  open(): Promise<unknown>;
  /**
   * Runs one command line in the host's shell. It is never repeated here once it may have started.
   * @param use `follow` for commands that last for hours, which must not keep others from running
   * @throws HostUnreachable for every failure of the connection; the signal's reason when aborted, after which the command is
   * told to end
   */
  exec(command: string, options?: ExecOptions, use?: 'command' | 'follow'): Promise<ExecResult>;
  /** Final: commands in progress fail. Safe to repeat. */
  close(): void;
}

/** Printed on a host before the wanted output. */
const MARK = Buffer.from('\u0001jobctl-follow\n');

/** Shell command that prints the mark. */
export const PRINT_MARK = String.raw`printf '\001jobctl-follow\n'`;

/** Limit for the output of login files before the mark; a host that keeps printing would fill the memory here. */
const MOST_HEAD_BYTES = 64 * 1024;

/**
 * Passes on the bytes after the mark and drops those before it, which the host's login files print. Chunks may split the mark.
 * @param onHead gets all bytes so far while the mark has not come
 * @throws HostUnfit if the mark does not come
 */
export function afterMark(
  onChunk: (chunk: Buffer) => void | Promise<void>,
  onHead: (head: Buffer) => void = () => undefined,
): (chunk: Buffer) => void | Promise<void> {
  let head: Buffer | undefined = Buffer.alloc(0);
  return (chunk) => {
    if (head === undefined) return onChunk(chunk);
    head = Buffer.concat([head, chunk]);
    const at = head.indexOf(MARK);
    if (at < 0 && head.length > MOST_HEAD_BYTES)
      throw new HostUnfit(
        `the login files of a host print more than ${MOST_HEAD_BYTES / 1024} KiB before each command; have them print less`,
      );
    if (at < 0) {
      onHead(head);
      return undefined;
    }
    const rest = head.subarray(at + MARK.length);
    head = undefined;
    return rest.length > 0 ? onChunk(rest) : undefined;
  };
}

/** Limit of bytes that a tail keeps. */
const KEPT_BYTES = 16 * 1024;

/** The last lines of a stream. Memory is bounded: of very long lines only the last 16 KiB are kept. */
export class OutputTail {
  readonly #lines: number;
  #kept = Buffer.alloc(0);

  constructor(lines: number) {
    this.#lines = lines;
  }

  add(chunk: Buffer): void {
    this.#kept = Buffer.concat([this.#kept, chunk.subarray(-KEPT_BYTES)]).subarray(-KEPT_BYTES);
  }

  text(): string {
    return this.#kept.toString().trimEnd().split('\n').slice(-this.#lines).join('\n');
  }
}

export async function wholeOf(chunks: AsyncIterable<Buffer>): Promise<Buffer> {
  const all: Buffer[] = [];
  for await (const chunk of chunks) all.push(chunk);
  return Buffer.concat(all);
}

/**
 * The beginning of every message about a host: "host 2 of slice 0 (10.0.0.5 port 22, user bob)", or "machine rack-1 (..)" if no
 * slice holds it.
 */
export function describeHost(target: SshTarget, port: number): string {
  const name = target.own?.name;
  const place = name === undefined ? `host ${target.index} of slice ${target.slice}` : `machine ${name}`;
  return `${place} (${target.address} port ${port}, user ${target.user})`;
}

/** "host 2 of slice 0 (pod team-a/train-x7-2-abcde)" */
export function describePod({ index, slice, namespace, pod }: PodTarget): string {
  return `host ${index} of slice ${slice} (pod ${namespace}/${pod})`;
}
