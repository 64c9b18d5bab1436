import type { Client, ClientChannel } from 'ssh2';

/** What one command on a host gave back. `code` is absent where a signal ended it. */
export interface ExecResult {
  readonly code?: number;
  readonly signal?: string;
  readonly stdout: Buffer;
  readonly stderr: string;
}

export interface ExecOptions {
  readonly stdin?: Buffer;
  /** Gets stdout instead of the result. Nothing more is read until its promise settles: the SSH window then fills. */
  readonly onStdout?: (chunk: Buffer) => void | Promise<void>;
  readonly signal?: AbortSignal;
  /**
   * Milliseconds of silence after the command's end before the channel is closed from here. A daemon that a step left
   * behind holds its stdout, and sshd then never closes. Absent = wait for the host.
   */
  readonly lingerMs?: number;
}

/** The connection ended before the command's exit status came: nothing is known about the command. */
export class ConnectionLost extends Error {
  override readonly name = 'ConnectionLost';
}

/**
 * Runs one command over one channel.
 * @throws ConnectionLost; the signal's reason when aborted (the remote process is then told SIGTERM, no more); what `onStdout` throws.
 */
export async function remoteExec(client: Client, command: string, options: ExecOptions = {}): Promise<ExecResult> {
  options.signal?.throwIfAborted();
  const channel = await openChannel(client, command);
  const exit: { code?: number; signal?: string; known: boolean } = { known: false };
  let linger: NodeJS.Timeout | undefined;
  const quiet = (): void => {
    clearTimeout(linger);
    if (exit.known && options.lingerMs !== undefined) linger = setTimeout(() => channel.destroy(), options.lingerMs);
  };
  channel.on('exit', (code: number | null, signal?: string) => {
    exit.known = true;
    if (code !== null) exit.code = code;
    if (signal) exit.signal = `SIG${signal.replace(/^SIG/, '')}`;
    quiet();
  });
  const abort = (): void => {
    channel.signal('TERM');
    channel.destroy();
  };
  options.signal?.addEventListener('abort', abort, { once: true });
  let stderr = '';
  channel.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
  const closed = new Promise<void>((resolve) => channel.once('close', () => resolve()));
  // Writing to a channel whose command has ended already fails; the exit status says what there is to say.
  channel.on('error', () => undefined);
  channel.end(options.stdin ?? Buffer.alloc(0));
  try {
    const stdout = await readAll(channel, options.onStdout, quiet);
    await closed;
    options.signal?.throwIfAborted();
    if (!exit.known) throw new ConnectionLost('the connection ended before the command did');
    return {
      ...(exit.code !== undefined && { code: exit.code }),
      ...(exit.signal !== undefined && { signal: exit.signal }),
      stdout,
      stderr,
    };
  } finally {
    clearTimeout(linger);
    options.signal?.removeEventListener('abort', abort);
    if (!channel.destroyed) channel.destroy();
  }
}

function openChannel(client: Client, command: string): Promise<ClientChannel> {
  return new Promise((resolve, reject) => {
    try {
      client.exec(command, (error, channel) => {
        if (error) reject(new ConnectionLost(`no channel could be opened: ${error.message}`));
        else resolve(channel);
      });
    } catch (error) {
      reject(new ConnectionLost(`no channel could be opened: ${(error as Error).message}`));
    }
  });
}

/** All of stdout, in order; to `onStdout` where given, with its back pressure. */
async function readAll(channel: ClientChannel, onStdout: ExecOptions['onStdout'], seen: () => void): Promise<Buffer> {
  const kept: Buffer[] = [];
  try {
    for await (const chunk of channel as AsyncIterable<Buffer>) {
      if (onStdout) await onStdout(chunk);
      else kept.push(chunk);
      seen();
    }
  } catch (error) {
    // A channel that is cut or closed from here ends early; the caller knows by the exit status.
    if ((error as NodeJS.ErrnoException).code !== 'ERR_STREAM_PREMATURE_CLOSE') throw error;
  }
  return Buffer.concat(kept);
}
