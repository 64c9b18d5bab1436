import type { Client } from 'ssh2';
import { Semaphore } from '../../domain/semaphore.js';
import { abortable } from '../abort.js';
import { createFleet, type Fleet } from './host-fleet.js';
import { type SshTarget, type SshKey, HostUnreachable } from './port.js';
import { keyFingerprint } from './private-key.js';
import { type HandshakeOptions, handshake } from './ssh-handshake.js';
import {
  type ExecOptions,
  type ExecResult,
  ChannelRefused,
  ConnectionLost,
  NoChannel,
  remoteExec,
  describeHost,
  type HostLink,
} from './remote-exec.js';
import { NOT_HELD, whileHeld } from './runner/machine.js';

export interface SshHostsOptions extends Omit<HandshakeOptions, 'connectTimeoutMs' | 'keepaliveMs'> {
  /** Selects the dialled address of a host; `external` uses the external address if there is one. */
  readonly address?: 'external' | 'internal';
  /** Limit for TCP, key exchange and login together. */
  readonly connectTimeoutMs?: number;
  /** Concurrent handshakes. More is faster up to about 256 (docs/facts.md, "Hosts over SSH"); sshd's own limit is per host. */
  readonly maxConnecting?: number;
  /** Time between two keepalives on a silent connection; three without an answer mean that it is lost. */
  readonly keepaliveMs?: number;
  /** Time for which a connection without holders is kept for the next step. */
  readonly idleMs?: number;
  /** Seconds between two looks at a run's output. */
  readonly followPollSeconds?: number;
  /** Uses inotify instead of polling: lower delay at a higher cost. */
  readonly followWithInotify?: boolean;
}

const DEFAULTS = {
  connectTimeoutMs: 20_000,
  maxConnecting: 128,
  keepaliveMs: 15_000,
  idleMs: 60_000,
  followPollSeconds: 0.2,
} as const;

/** The hosts of all slices, over SSH. Keeps one connection per host, user and key, shared by all callers. */
export function createSshHosts(options: SshHostsOptions): Fleet<SshTarget> {
  const settings = { ...DEFAULTS, ...options };
  const connecting = new Semaphore(settings.maxConnecting);
  /** Selects the address that is dialled. */
  const routed = (target: SshTarget): SshTarget =>
    settings.address === 'internal' ? { ...target, address: target.internalAddress ?? target.address } : target;
  return createFleet<SshTarget>({
    link: (target, key) => new SshLink(routed(target), key, { ...settings, connecting }),
    hostName: (target) => hostName(routed(target)),
    loginName: ({ user }, key) => `${user} ${keyFingerprint(key)}`,
    idleMs: settings.idleMs,
    follow: { pollSeconds: settings.followPollSeconds, useInotify: settings.followWithInotify ?? false },
  });
}

/**
 * A host is identified by its node's id and its index, and by its address, since a stopped node may return at another one.
 * Callers for whom it must hold a claim do not share a connection with those that manage the claims.
 */
function hostName(target: SshTarget): string {
  const held = target.claim === undefined ? '' : ` held by ${target.claim}`;
  return `${target.uid}/${target.index}@${target.address}${held}`;
}

/**
 * Commands at the same time over one connection. sshd allows 10 sessions (MaxSessions), and a follower holds one for hours, so
 * followers must not use them all.
 */
const COMMANDS_AT_ONCE = 5;
const FOLLOWERS_AT_ONCE = 4;

export interface LinkOptions extends HandshakeOptions {
  /** Shared by all links of a fleet: limits the concurrent handshakes. */
  readonly connecting: Semaphore;
}

/**
 * The kept connection to one host. It is made on first use and again on use after a loss, until it is closed. All steps of all
 * users of the host share it. A command in progress at a loss is not repeated here.
 */
export class SshLink implements HostLink {
  readonly target: SshTarget;
  readonly over = 'over SSH';
  readonly #key: SshKey;
  readonly #options: LinkOptions;
  readonly #commands = new Semaphore(COMMANDS_AT_ONCE);
  readonly #followers = new Semaphore(FOLLOWERS_AT_ONCE);
  #client: Promise<Client> | undefined;
  #isClosed = false;

  constructor(target: SshTarget, key: SshKey, options: LinkOptions) {
    this.target = target;
    this.#key = key;
    this.#options = target.own ? directly(options, target.own.port) : options;
  }

  /** @throws HostUnreachable, HostKeyMismatch */
  async open(): Promise<Client> {
    if (this.#isClosed) throw new HostUnreachable(`${this.where} cannot be reached: its connection was released here`);
    return (this.#client ??= this.#connect());
  }

  /** @throws HostUnreachable for every failure of the connection; the signal's reason when aborted */
  async exec(command: string, options: ExecOptions = {}, use: 'command' | 'follow' = 'command'): Promise<ExecResult> {
    const slots = use === 'follow' ? this.#followers : this.#commands;
    const done = slots.run(() => this.#execWhileHeld(command, options));
    // The signal also ends the wait for a slot.
    return abortable(done, options.signal);
  }

  /** On a machine that outlives its slices, commands run only while the slice holds it. */
  async #execWhileHeld(command: string, options: ExecOptions): Promise<ExecResult> {
    const claim = this.target.own?.claim ?? this.target.claim;
    if (claim === undefined) return this.#execOnOpen(command, options, true);
    const result = await this.#execOnOpen(whileHeld(claim, command), options, true);
    if (result.code !== NOT_HELD) return result;
    // The command itself may end with this code.
    const { code } = await this.#execOnOpen(whileHeld(claim, 'true'), {}, true);
    if (code === 0) return result;
    throw new HostUnreachable(`${this.where} is not held by its slice any more: claim ${claim} was given back`);
  }

  /** Final: commands in progress fail, and no new connection is made. Safe to repeat. */
  close(): void {
    this.#isClosed = true;
    this.#drop(this.#client);
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
      if (error instanceof ChannelRefused)
        throw new HostUnreachable(`${this.where} takes no further session: ${error.message}`, { cause: error });
      if (!(error instanceof ConnectionLost)) throw error;
      // A kept connection may have died unnoticed. Nothing was started on it, so one new connection is tried.
      if (error instanceof NoChannel) {
        this.#drop(used);
        if (mayReconnect) return this.#execOnOpen(command, options, false);
      }
      throw new HostUnreachable(`${this.where} was lost: ${error.message}`, { cause: error });
    }
  }

  #connect(): Promise<Client> {
    const made = this.#options.connecting.run(() => handshake(this.target, this.#key, this.#options));
    // Only forgets this connection: a later one may exist already when the end of this one is noticed.
    const forget = (): void => {
      if (this.#client === connected) this.#client = undefined;
    };
    const connected: Promise<Client> = made.then(
      (client) => client.once('close', forget),
      (error: unknown) => {
        forget();
        throw error;
      },
    );
    return connected;
  }

  #drop(client: Promise<Client> | undefined): void {
    if (this.#client === client) this.#client = undefined;
    client?.then(
      (open) => open.destroy(),
      () => undefined,
    );
  }
}

/** Dials one of the pool's own machines as the inventory says, and without the worker's proxy, which is for its cloud. */
function directly({ proxyCommand: _, ...options }: LinkOptions, port: number): LinkOptions {
  return { ...options, port };
}
