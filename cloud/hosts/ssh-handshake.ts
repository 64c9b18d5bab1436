import { NodeSSH } from 'node-ssh';
import type { Algorithms, Client } from 'ssh2';
import type { HostKeyPins } from './host-key-pins.js';
import type { HostTarget, SshKey } from './port.js';
import { HostKeyMismatch, HostUnreachable } from './port.js';
import { fingerprintOf, keyFingerprint } from './ssh-key.js';

export interface HandshakeOptions {
  readonly port: number;
  readonly hostKeys: HostKeyPins;
  readonly connectTimeoutMs: number;
  readonly keepaliveMs: number;
}

/** Keepalives without an answer before a connection counts as lost. */
const KEEPALIVE_TRIES = 3;

/** What OpenSSH 8 and later have in common and ssh2 does in native code; one fixed order, so that a host shows one key. */
const ALGORITHMS: Algorithms = {
  kex: ['curve25519-sha256', 'curve25519-sha256@libssh.org', 'ecdh-sha2-nistp256', 'diffie-hellman-group14-sha256'],
  serverHostKey: ['ssh-ed25519', 'ecdsa-sha2-nistp256', 'rsa-sha2-512', 'rsa-sha2-256'],
  cipher: ['aes128-gcm@openssh.com', 'aes256-gcm@openssh.com', 'aes128-ctr', 'aes256-ctr'],
};

/** "host 2 of slice 0 (10.0.0.5 port 22, user bob)": begins every message about a host. */
export function describeHost(target: HostTarget, port: number): string {
  return `host ${target.index} of slice ${target.slice} (${target.address} port ${port}, user ${target.user})`;
}

/**
 * One authenticated connection. The host's key is compared with the pinned one, or pinned once the login is accepted.
 * @throws HostKeyMismatch, HostUnreachable; Error where the private key itself cannot be read.
 */
export async function handshake(target: HostTarget, key: SshKey, options: HandshakeOptions): Promise<Client> {
  const where = describeHost(target, options.port);
  const ourKey = keyFingerprint(key);
  const pinned = await options.hostKeys.get(target.nodeId, target.index);
  let shown: string | undefined;
  const ssh = new NodeSSH();
  try {
    const connecting = ssh.connect({
      host: target.address,
      port: options.port,
      username: target.user,
      privateKey: key.privateKey,
      readyTimeout: options.connectTimeoutMs,
      keepaliveInterval: options.keepaliveMs,
      keepaliveCountMax: KEEPALIVE_TRIES,
      algorithms: ALGORITHMS,
      hostVerifier: (hostKey: Buffer) => {
        shown = fingerprintOf(hostKey);
        return pinned === undefined || pinned === shown;
      },
    });
    // ssh2 writes a request in several small pieces: with Nagle's algorithm each waits up to 40 ms for the one before.
    ssh.connection?.setNoDelay(true);
    await connecting;
  } catch (error) {
    ssh.connection?.destroy();
    if (shown !== undefined && pinned !== undefined && shown !== pinned) {
      throw new HostKeyMismatch(
        `${where}: its host key is ${shown}, but node ${target.nodeId} was seen with ${pinned}. ` +
          'Another machine may have got this address; nothing was sent to it.',
      );
    }
    throw new HostUnreachable(`${where} cannot be reached: ${reasonOf(error, target, ourKey, options)}`, {
      cause: error,
    });
  }
  const client = ssh.connection;
  if (!client) throw new HostUnreachable(`${where} cannot be reached: it closed the connection after the login`);
  // node-ssh takes its own listener away after the login, and a client's error without one would end this process.
  client.on('error', () => undefined);
  if (pinned === undefined && shown !== undefined) await options.hostKeys.pin(target.nodeId, target.index, shown);
  return client;
}

/** The cause in a sentence, with what to do where something can be done. */
function reasonOf(error: unknown, target: HostTarget, ourKey: string, options: HandshakeOptions): string {
  const { level, code, message } = error as Error & { level?: string; code?: string };
  if (level === 'client-authentication') {
    return `it refused the key ${ourKey} for user ${target.user}; look whether the node's metadata 'ssh-keys' has this key for this user`;
  }
  if (level === 'client-timeout') return `no SSH answer within ${options.connectTimeoutMs} ms`;
  if (code === 'ECONNREFUSED') return 'connection refused (ECONNREFUSED); the host may still be starting';
  return message || String(error);
}
