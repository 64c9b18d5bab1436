import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { stackHome } from '../../terminal/home.js';
import type { StackHome } from '../../terminal/home.js';
import { canListen, registryDir } from './loopback.js';
import type { Reservations } from './loopback.js';
import type { PartName, StackAddresses } from '../../place/stack/stack-record.js';
import { readStackRecord, writeJson } from '../../place/stack/stack-record.js';

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
};
/** Real TPU VMs listen on 22. If that port is taken or not permitted, candidates start at `HIGH_SSH_PORT`. */
const SSH_PORT = 22;
const HIGH_SSH_PORT = 2222;
const DYING_TIMEOUT_MS = 2_000;
const DYING_POLL_MS = 50;
const FIRST_OCTET = 64;
const LAST_OCTET = 126;

/** The part that listens on each port. */
export const OWNER_OF_PORT: Readonly<Record<PortName, PartName>> = {
  temporal: 'server',
  temporalUi: 'server',
  tpu: 'rehearsal',
  tpuRest: 'rehearsal',
  store: 'rehearsal',
  admin: 'rehearsal',
  ssh: 'rehearsal',
  kubernetes: 'rehearsal',
  health: 'worker',
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
};

/** A port that the user asked for is taken. */
export class PortTaken extends Error {
  override readonly name = 'PortTaken';
}

export interface AddressWishes {
  readonly known?: StackAddresses | undefined;
  /** Running parts, which keep their ports. */
  readonly running: ReadonlySet<PartName>;
  /** Ports that the user asked for; they are not replaced by others. */
  readonly exact?: Readonly<Partial<Record<PortName, number>>> | undefined;
  /** The stack's parts: ports of other parts are not reported. */
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

/** A killed process counts as dead a little before its last thread releases its ports. */
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
