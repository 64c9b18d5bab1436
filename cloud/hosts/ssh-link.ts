import type { Client } from 'ssh2';
import type { HostTarget, SshKey } from './port.js';
import { HostUnreachable } from './port.js';
import type { ExecOptions, ExecResult } from './remote-exec.js';
import { ConnectionLost, NoChannel, remoteExec } from './remote-exec.js';
import { Semaphore } from './semaphore.js';
import { describeHost } from './describe-host.js';
import { handshake } from './ssh-handshake.js';
import type { HandshakeOptions } from './ssh-handshake.js';

/** sshd allows 10 sessions a connection (MaxSessions). Following takes one for hours, so it cannot have them all. */
const COMMANDS_AT_ONCE = 5;
const FOLLOWERS_AT_ONCE = 4;

export interface LinkOptions extends HandshakeOptions {
  /** Shared by all links of a fleet: bounds the handshakes under way. */
  readonly connecting: Semaphore;
}

/**
 * The kept connection to one host. Made when first needed, made again when needed after a loss, until it is closed.
 * All steps of all who use the host share it; a command that was under way at a loss is not repeated here.
 */
export class SshLink {
  readonly target: HostTarget;
  readonly #key: SshKey;
  readonly #options: LinkOptions;
  readonly #commands = new Semaphore(COMMANDS_AT_ONCE);
  readonly #followers = new Semaphore(FOLLOWERS_AT_ONCE);
  #client: Promise<Client> | undefined;
  #isClosed = false;

  constructor(target: HostTarget, key: SshKey, options: LinkOptions) {
    this.target = target;
    this.#key = key;
    this.#options = options;
  }

  /** @throws HostUnreachable, HostKeyMismatch */
  async open(): Promise<Client> {
    if (this.#isClosed) throw new HostUnreachable(`${this.where} cannot be reached: its connection was released here`);
    return (this.#client ??= this.#connect());
  }

  /** @throws HostUnreachable for every trouble of the connection; the signal's reason when aborted. */
  async exec(command: string, options: ExecOptions = {}, use: 'command' | 'follow' = 'command'): Promise<ExecResult> {
    return (use === 'follow' ? this.#followers : this.#commands).run(() => this.#execOnOpen(command, options, true));
  }

  /** Final: commands under way fail, and no new connection is made. Safe to repeat. */
  close(): void {
    this.#isClosed = true;
    const client = this.#client;
    this.#client = undefined;
    client?.then(
      (open) => open.destroy(),
      () => undefined,
    );
  }

  get where(): string {
    return describeHost(this.target, this.#options.port);
  }

  async #execOnOpen(command: string, options: ExecOptions, mayReconnect: boolean): Promise<ExecResult> {
    const opening = this.open();
    const used = this.#client;
    try {
      return await remoteExec(await abortable(opening, options.signal), command, options);
    } catch (error) {
      if (!(error instanceof ConnectionLost)) throw error;
      if (this.#client === used) this.#client = undefined;
      // A kept connection can have died unnoticed: nothing was started on it, so a new one is tried, once.
      if (error instanceof NoChannel && mayReconnect) return this.#execOnOpen(command, options, false);
      throw new HostUnreachable(`${this.where} was lost: ${error.message}`, { cause: error });
    }
  }

  async #connect(): Promise<Client> {
    const made = this.#options.connecting.run(() => handshake(this.target, this.#key, this.#options));
    const forget = (): void => {
      this.#client = undefined;
    };
    try {
      const client = await made;
      client.once('close', forget);
      return client;
    } catch (error) {
      forget();
      throw error;
    }
  }
}

/** The work's result, or the signal's reason as soon as it is aborted; the work itself goes on for others. */
export function abortable<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (!signal) return work;
  return new Promise<T>((resolve, reject) => {
    const abort = (): void => reject(signal.reason as Error);
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
}
