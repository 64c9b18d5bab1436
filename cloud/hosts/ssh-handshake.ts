import { NodeSSH } from 'node-ssh';
import type { Algorithms, Client, ServerHostKeyAlgorithm } from 'ssh2';
import { describeHost } from './remote-exec.js';
import { type ExpectedHostKey, type HostKeyPins, publicKeyLine, fingerprintOfLine } from './host-key-record.js';
import { type SshTarget, type SshKey, HostUnreachable, HostKeyMismatch } from './port.js';
import { keyFingerprint, readPrivateKey } from './private-key.js';
import { needsHostname, type ProxySocket, startProxy } from './ssh-proxy.js';

export interface HandshakeOptions {
  readonly port: number;
  readonly hostKeys: HostKeyPins;
  readonly connectTimeoutMs: number;
  readonly keepaliveMs: number;
  /** A command whose stdin and stdout are the connection (ssh-proxy.ts), instead of a direct one to the address. */
  readonly proxyCommand?: string;
  /** Returns the VM's own name, for a proxy command that needs it. */
  readonly hostnameOf?: (target: SshTarget) => Promise<string | undefined>;
  /** Called after a host has refused the login. Returns another user for this public key (OS Login), or undefined. */
  readonly otherUserOf?: (target: SshTarget, publicKey: string) => Promise<string | undefined>;
}

/** Keepalives without an answer before a connection counts as lost. */
const KEEPALIVE_TRIES = 3;

/** Algorithms that OpenSSH 8 and later share and ssh2 runs in native code. In fixed order, so that a host shows one key. */
const ALGORITHMS = {
  kex: ['curve25519-sha256', 'curve25519-sha256@libssh.org', 'ecdh-sha2-nistp256', 'diffie-hellman-group14-sha256'],
  serverHostKey: ['ssh-ed25519', 'ecdsa-sha2-nistp256', 'rsa-sha2-512', 'rsa-sha2-256'],
  cipher: ['aes128-gcm@openssh.com', 'aes256-gcm@openssh.com', 'aes128-ctr', 'aes256-ctr'],
} satisfies Algorithms;

/**
 * Makes one authenticated connection. The host's key is compared with the expected one, or pinned once the login is accepted.
 * @throws HostKeyMismatch, HostKeyUnverified, HostUnreachable; Error if the private key itself cannot be read
 */
export async function handshake(target: SshTarget, key: SshKey, options: HandshakeOptions): Promise<Client> {
  try {
    return await verifiedLogin(target, key, options);
  } catch (error) {
    if (!(error instanceof LoginRefused)) throw error;
    const other = key.underOsLogin ?? key;
    const user = await otherUser(target, other, options, error);
    if (user === undefined || (user === target.user && other === key)) throw error;
    return verifiedLogin({ ...target, user }, other, options);
  }
}

/** The host has the expected key, but refuses our login. */
class LoginRefused extends HostUnreachable {}

async function otherUser(
  target: SshTarget,
  { privateKey }: SshKey,
  { otherUserOf }: HandshakeOptions,
  refusal: LoginRefused,
): Promise<string | undefined> {
  const reading = readPrivateKey(privateKey);
  if (reading.kind !== 'key') return undefined;
  try {
    return await otherUserOf?.(target, reading.publicKey);
  } catch (error) {
    throw new HostUnreachable(`${refusal.message}; ${(error as Error).message}`, { cause: error });
  }
}

async function verifiedLogin(target: SshTarget, key: SshKey, options: HandshakeOptions): Promise<Client> {
  const { hostKeys } = options;
  const ourKey = keyFingerprint(key);
  const expected = await hostKeys.expected(target);
  const { client, shown } = await login({ target, key, ourKey, options }, expected);
  if (client === undefined) {
    // Nothing was sent to the host yet: the cloud may confirm that the VM was recreated.
    if (await hostKeys.isReplaced(target, shown)) return verifiedLogin(target, key, options);
    throw keyMismatch(target, options, shown, expected);
  }
  if (expected?.record) return client;
  const stands = await hostKeys.pin(target, shown, expected?.source ?? 'first-use');
  if (stands.publicKey === shown) return client;
  client.destroy();
  throw keyMismatch(target, options, shown, { publicKeys: [stands.publicKey], source: stands.source, record: stands });
}

interface LoginPlan {
  readonly target: SshTarget;
  readonly key: SshKey;
  /** Its fingerprint. */
  readonly ourKey: string;
  readonly options: HandshakeOptions;
}

/** The result has no client if the host showed an unexpected key; nothing was sent to that host then. @throws HostUnreachable */
async function login(
  { target, key, ourKey, options }: LoginPlan,
  expected: ExpectedHostKey | undefined,
): Promise<{ readonly client?: Client; readonly shown: string }> {
  const where = describeHost(target, options.port);
  let shown: string | undefined;
  const isExpected = (publicKey: string): boolean => expected?.publicKeys.includes(publicKey) ?? true;
  const ssh = new NodeSSH();
  const proxy = await openProxy(target, options);
  try {
    const connecting = ssh.connect({
      ...(proxy ? { sock: proxy.socket } : { host: target.address, port: options.port }),
      username: target.user,
      privateKey: key.privateKey,
      // Skips ssh2's first try without authentication, which costs a round trip and which no host of ours accepts.
      authHandler: ['publickey'],
      readyTimeout: options.connectTimeoutMs,
      keepaliveInterval: options.keepaliveMs,
      keepaliveCountMax: KEEPALIVE_TRIES,
      algorithms: { ...ALGORITHMS, serverHostKey: hostKeyAlgorithms(expected) },
      hostVerifier: (wire: Buffer) => {
        shown = publicKeyLine(wire);
        return isExpected(shown);
      },
    });
    // ssh2 writes a request in several small pieces. With Nagle's algorithm each would wait up to 40 ms for the previous one.
    ssh.connection?.setNoDelay(true);
    await connecting;
  } catch (error) {
    const why = reasonOf(error, target, ourKey, options);
    const through = proxy && shown === undefined ? `; ${await proxy.explain()}` : '';
    ssh.connection?.destroy();
    proxy?.socket.destroy();
    if (shown !== undefined && !isExpected(shown)) return { shown };
    const Unreachable = isRefusal(error) ? LoginRefused : HostUnreachable;
    throw new Unreachable(`${where} cannot be reached: ${why}${through}`, { cause: error });
  }
  const client = ssh.connection;
  if (!client) throw new HostUnreachable(`${where} cannot be reached: it closed the connection after the login`);
  // node-ssh removes its own listener after the login, and an error of a client without one would end this process.
  client.on('error', () => undefined);
  // Always set here: without a verified key there is no login.
  return { client, shown: shown ?? '' };
}

async function openProxy(target: SshTarget, options: HandshakeOptions): Promise<ProxySocket | undefined> {
  const { proxyCommand, hostnameOf, port } = options;
  if (proxyCommand === undefined) return undefined;
  const needsName = needsHostname(proxyCommand);
  const hostname = needsName ? await hostnameOf?.(target) : undefined;
  if (needsName && hostname === undefined) {
    throw new HostUnreachable(
      `${describeHost(target, port)} cannot be reached: ProxyCommand '${proxyCommand}' wants the VM's own name (%n), which its guest attributes do not tell`,
    );
  }
  return startProxy(proxyCommand, { target, port, ...(hostname !== undefined && { hostname }) });
}

/** If a key is known, only its type is asked for, as OpenSSH does: a host with several keys must not show another. */
function hostKeyAlgorithms(expected: ExpectedHostKey | undefined): ServerHostKeyAlgorithm[] {
  if (!expected) return ALGORITHMS.serverHostKey;
  const types = new Set(expected.publicKeys.map((line) => line.split(' ')[0]));
  const usable = ALGORITHMS.serverHostKey.filter((name) => types.has(name.startsWith('rsa-') ? 'ssh-rsa' : name));
  return usable.length > 0 ? usable : ALGORITHMS.serverHostKey;
}

const isRefusal = (error: unknown): boolean => (error as { level?: string }).level === 'client-authentication';

/** The cause in a sentence, with the remedy if there is one. */
function reasonOf(error: unknown, target: SshTarget, ourKey: string, options: HandshakeOptions): string {
  const { level, code, message } = error as Error & { level?: string; code?: string };
  if (isRefusal(error)) {
    const place = target.own
      ? `~/.ssh/authorized_keys of ${target.user} on it has this key`
      : "the node's metadata 'ssh-keys' has this key for this user";
    return `it refused the key ${ourKey} for user ${target.user}; look whether ${place}`;
  }
  if (level === 'client-timeout') return `no SSH answer within ${options.connectTimeoutMs} ms`;
  if (code === 'ECONNREFUSED') return 'connection refused (ECONNREFUSED); the host may still be starting';
  return message || String(error);
}

interface MismatchPlace {
  readonly port: number;
  readonly hostKeys: HostKeyPins;
}

/** The error with both fingerprints, the source and time of the known key, and the remedy. */
function keyMismatch(
  target: SshTarget,
  { port, hostKeys }: MismatchPlace,
  shown: string,
  expected: ExpectedHostKey | undefined,
): HostKeyMismatch {
  const wanted = (expected?.publicKeys ?? []).map(fingerprintOfLine).join(' or ');
  const { record } = expected ?? {};
  const known = record
    ? `node ${target.uid} was seen with ${wanted} (${record.source}, ${new Date(record.at).toISOString()})`
    : `the guest attributes of node ${target.uid} name ${wanted}`;
  const remedy = record
    ? ` If you know that this VM was made anew, remove its record ${hostKeys.placeOf(target)} and submit or resume the job.`
    : '';
  return new HostKeyMismatch(
    `${describeHost(target, port)}: its host key is ${fingerprintOfLine(shown)}, but ${known}. ` +
      `Another machine may have got this address; nothing was sent to it.${remedy}`,
  );
}
