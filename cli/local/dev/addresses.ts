import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { stackHome, type StackHome } from '../../terminal/home.js';
import { type PartName, type StackAddresses, readStackRecord, writeJson } from '../../place/stack/stack-record.js';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { tryLock, type FileLock } from '../../place/stack/process-identity.js';

type PortName = Exclude<keyof StackAddresses, 'subnetOctet'>;

const DEFAULT_PORTS: Readonly<Record<Exclude<PortName, 'ssh'>, number>> = {
  temporal: 7233,
  temporalUi: 8233,
  tpu: 7301,
  tpuRest: 7302,
  store: 7303,
  admin: 7304,
  health: 7305,
  kubernetes: 7306,
  metrics: 7307,
};
/** Port on which real TPU VMs listen. If it is taken or not permitted, candidates start at `HIGH_SSH_PORT`. */
const SSH_PORT = 22;
const HIGH_SSH_PORT = 2222;
const DYING_TIMEOUT_MS = 2_000;
const DYING_POLL_MS = 50;
const FIRST_OCTET = 64;
const LAST_OCTET = 126;

/** The part that listens on each port. */
const OWNER_OF_PORT: Readonly<Record<PortName, PartName>> = {
  temporal: 'server',
  temporalUi: 'server',
  tpu: 'rehearsal',
  tpuRest: 'rehearsal',
  store: 'rehearsal',
  admin: 'rehearsal',
  ssh: 'rehearsal',
  kubernetes: 'rehearsal',
  health: 'worker',
  metrics: 'worker',
};

const PORT_TITLES: Readonly<Record<PortName, string>> = {
  temporal: 'Temporal server',
  temporalUi: 'Temporal Web UI',
  tpu: 'Cloud TPU API',
  tpuRest: 'Cloud TPU API over REST',
  store: 'store',
  admin: 'rehearsal admin',
  ssh: 'SSH of the TPU VMs',
  kubernetes: 'Kubernetes API',
  health: 'worker health',
  metrics: "the worker's metrics",
};

/** A port that the user asked for is taken. */
class PortTaken extends Error {
  override readonly name = 'PortTaken';
}

export interface AddressWishes {
  readonly known?: StackAddresses | undefined;
  /** Running parts, which keep their ports. */
  readonly running: ReadonlySet<PartName>;
  /** Ports that the user asked for; they are not replaced by others. */
  readonly exact?: Readonly<Partial<Record<PortName, number>>> | undefined;
  /** The stack's parts. Ports of other parts are not reported. */
  readonly parts: readonly PartName[];
  readonly onProgress: (line: string) => void;
}

/**
 * Chooses addresses for a stack: its earlier ones, unless another process has taken one since; for a new stack, free ones next to
 * the defaults.
 * @throws PortTaken if a port that the user asked for is taken
 */
export async function chooseAddresses(
  home: StackHome,
  reservations: Reservations,
  wishes: AddressWishes,
): Promise<StackAddresses> {
  const subnetOctet = wishes.known?.subnetOctet ?? (await chooseOctet(home, reservations));
  const ports: Partial<Record<PortName, number>> = {};
  for (const name of Object.keys(DEFAULT_PORTS) as (keyof typeof DEFAULT_PORTS)[]) {
    ports[name] = await choosePort(name, DEFAULT_PORTS[name], '127.0.0.1', reservations, wishes);
  }
  const onHost = `127.${subnetOctet}.0.1`;
  const sshPort = (await canListen(SSH_PORT, onHost)) ? SSH_PORT : HIGH_SSH_PORT;
  const ssh = await choosePort('ssh', sshPort, onHost, reservations, wishes);
  const addresses = { ...(ports as Record<keyof typeof DEFAULT_PORTS, number>), ssh, subnetOctet };
  tellMoved(addresses, wishes);
  return addresses;
}

/** Reports all moved ports on one line: a second stack moves each of them. */
function tellMoved(addresses: StackAddresses, { known, parts, onProgress }: AddressWishes): void {
  const usual = known ?? { ...DEFAULT_PORTS, ssh: addresses.ssh };
  const moved = (Object.keys(usual) as (keyof typeof usual)[])
    .filter((name) => addresses[name] !== usual[name] && parts.includes(OWNER_OF_PORT[name]))
    .map((name) => `${PORT_TITLES[name]} ${usual[name]} -> ${addresses[name]}`);
  if (moved.length > 0) onProgress(`Ports that are in use, and those chosen instead: ${moved.join(', ')}`);
}

async function choosePort(
  name: PortName,
  usual: number,
  address: string,
  reservations: Reservations,
  { known, running, exact }: AddressWishes,
): Promise<number> {
  const before = known?.[name];
  const wanted = exact?.[name];
  if (before !== undefined && running.has(OWNER_OF_PORT[name]) && (wanted ?? before) === before) {
    reservations.keep(before, address);
    return before;
  }
  if (wanted !== undefined) {
    if (await reservations.exactPort(wanted, address)) return wanted;
    throw new PortTaken(
      `port ${wanted} (${PORT_TITLES[name]}) is in use on ${address}; end what listens there, or leave the choice to jobctl`,
    );
  }
  if (before !== undefined && (await isSoonFree(before, address, reservations))) return before;
  const port = await reservations.port(before ?? usual, address);
  return port;
}

/** Waits for a port to become free: a killed process counts as dead a little before its last thread releases its ports. */
async function isSoonFree(port: number, address: string, reservations: Reservations): Promise<boolean> {
  for (const deadline = Date.now() + DYING_TIMEOUT_MS; ; await sleep(DYING_POLL_MS)) {
    if (await reservations.exactPort(port, address)) return true;
    if (Date.now() > deadline) return false;
  }
}

/** An octet that no other stack of this user has. The choice starts from the state folder, so that two users seldom collide. */
async function chooseOctet(home: StackHome, reservations: Reservations): Promise<number> {
  const count = LAST_OCTET - FIRST_OCTET + 1;
  const first = Buffer.from(home.root).reduce((hash, byte) => (hash * 31 + byte) % count, 0);
  const octets = Array.from({ length: count }, (_, i) => FIRST_OCTET + ((first + i) % count));
  const octet = await reservations.octet(octets, async (candidate) => isUnclaimed(candidate, home));
  if (octet === undefined) {
    throw new Error(
      `127.${FIRST_OCTET}.0.0 to 127.${LAST_OCTET}.0.0: each is used by another stack; jobctl dev down --purge one`,
    );
  }
  writeJson(claimFile(octet), { home: home.root });
  return octet;
}

/** The file that records which state folder uses the octet. */
export const claimFile = (octet: number): string => join(registryDir(), `octet-${octet}.json`);

/** A claim is valid as long as the claiming stack's record names the octet. */
function isUnclaimed(octet: number, home: StackHome): boolean {
  try {
    const claim = JSON.parse(readFileSync(claimFile(octet), 'utf8')) as { home: string };
    const claimant = stackHome({ JOBCTL_HOME: claim.home });
    return claimant.root === home.root || readStackRecord(claimant)?.addresses.subnetOctet !== octet;
  } catch {
    return true;
  }
}

/** Ports and address ranges that one `dev up` has chosen but that are not yet in use. A concurrent `dev up` avoids them. */
export interface Reservations {
  /**
   * `preferred`, or the next free port in steps of ten.
   * @throws Error when 200 of them are taken
   */
  port(preferred: number, address?: string): Promise<number>;
  /** Returns whether `port` is free, and reserves it if so. */
  exactPort(port: number, address?: string): Promise<boolean>;
  /** Reserves the port of a running process that may be restarted meanwhile, so that no other stack takes it in between. */
  keep(port: number, address?: string): void;
  /** Reserves the first of `octets` for which `isFree` is true and that no other `dev up` is choosing. */
  octet(octets: readonly number[], isFree: (octet: number) => Promise<boolean>): Promise<number | undefined>;
  release(): void;
}

const LOOPBACK = '127.0.0.1';
const PORT_STEP = 10;
const PORT_TRIES = 200;

export function openReservations(): Reservations {
  const locks: FileLock[] = [];
  const reserve = async (name: string, isFree: () => Promise<boolean>): Promise<boolean> => {
    const lock = tryLock(join(registryDir(), name));
    if (lock === undefined) return false;
    if (await isFree()) {
      locks.push(lock);
      return true;
    }
    lock.release();
    return false;
  };
  const exactPort = (port: number, address = LOOPBACK): Promise<boolean> =>
    reserve(`${address}-${port}`, () => canListen(port, address));
  return {
    exactPort,
    keep: (port, address = LOOPBACK) => {
      const lock = tryLock(join(registryDir(), `${address}-${port}`));
      if (lock !== undefined) locks.push(lock);
    },
    port: (preferred, address) => firstFreePort(preferred, (port) => exactPort(port, address)),
    octet: async (octets, isFree) => {
      for (const octet of octets) if (await reserve(`octet-${octet}`, () => isFree(octet))) return octet;
      return undefined;
    },
    release: () => {
      for (const lock of locks.splice(0)) lock.release();
    },
  };
}

/** Shared by all stacks of this user on this machine. */
function registryDir(): string {
  return join(tmpdir(), `jobctl-${process.getuid?.() ?? 'user'}`);
}

/** Returns whether this process could listen there now. */
async function canListen(port: number, address: string): Promise<boolean> {
  const server = createServer();
  const isFree = await new Promise<boolean>((resolve) => {
    server.once('error', () => resolve(false));
    server.listen({ port, host: address, exclusive: true }, () => resolve(true));
  });
  if (isFree) await new Promise((resolve) => server.close(resolve));
  return isFree;
}

async function firstFreePort(preferred: number, isFree: (port: number) => Promise<boolean>): Promise<number> {
  for (let i = 0; i < PORT_TRIES; i++) {
    const port = preferred + i * PORT_STEP;
    if (await isFree(port)) return port;
  }
  throw new Error(
    `ports ${preferred} to ${preferred + PORT_STEP * (PORT_TRIES - 1)}: every tenth was tried, all are taken`,
  );
}
