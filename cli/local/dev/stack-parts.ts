import { createConnection } from 'node:net';
import { join } from 'node:path';
import { makeFolderSync } from '../../../cloud/folders.js';
import {
  adminUrlOf,
  keysOf,
  readyUrlOf,
  rehearsedMachinesOf,
  temporalAddressOf,
  workerConfigOf,
  DEV_NAMESPACE,
} from '../../place/stack/context.js';
import type { Environment, StackHome } from '../../terminal/home.js';
import { answersGuarded, GUARDED, guardedPart, isLoginOld, loginFingerprint } from './guarded-server/guarded-part.js';
import {
  serverFiles,
  isGuarded,
  PART_NAMES,
  readStackRecord,
  writeStackRecord,
  type PartName,
  type ProcessRecord,
  type StackAddresses,
  type StackRecord,
} from '../../place/stack/stack-record.js';
import {
  fingerprintOf,
  type Part,
  type PartSlot,
  nodePath,
  partEnvironment,
  rehearsalProgram,
  workerProgram,
} from './part.js';
import { visibleText } from '../../../domain/outside-text.js';
import { isAlive, acquireLock, type FileLock } from '../../place/stack/process-identity.js';
import { answersCalls, devServerArguments } from './temporal-server/resolve.js';

/**
 * Timeout of one try. On a busy computer this process alone takes a second to load, so a shorter one would fail working parts.
 */
const PROBE_TIMEOUT_MS = 5_000;

export const PART_TITLES: Readonly<Record<PartName, string>> = {
  server: 'Temporal server',
  rehearsal: 'rehearsal cloud',
  worker: 'worker',
};

/** Milliseconds from SIGTERM to SIGKILL. The worker hands its jobs over, the rehearsal ends the processes of its TPU VMs. */
export const STOP_GRACE_MS: Readonly<Record<PartName, number>> = { server: 10_000, rehearsal: 15_000, worker: 20_000 };

/** The parts of a stack: no server of its own if an address is configured, and a rehearsal only if it simulates the cloud. */
export function partsOf({ temporalAddress, realCloud, ownMachines }: PartChoice): readonly PartName[] {
  const absent = new Set<PartName>();
  if (temporalAddress !== null) absent.add('server');
  if (realCloud !== undefined || ownMachines !== undefined) absent.add('rehearsal');
  return PART_NAMES.filter((name) => !absent.has(name));
}

type PartChoice = Pick<StackRecord, 'temporalAddress' | 'realCloud' | 'ownMachines'>;

export function isRecordedAlive(process: ProcessRecord | undefined): boolean {
  return process !== undefined && isAlive(process.identity);
}

/** The log file and process record of a part. Only the holder of the stack's lock may write. */
export function slotOf(home: StackHome, name: PartName): PartSlot {
  return {
    logFile: join(home.logsDir, `${name}.log`),
    read: () => readStackRecord(home)?.parts[name],
    write: (process) => {
      const record = readStackRecord(home);
      if (record === undefined) throw new Error(`${home.recordFile}: is gone while the stack is being changed`);
      const { [name]: _before, ...others } = record.parts;
      writeStackRecord(home, { ...record, parts: process === undefined ? others : { ...others, [name]: process } });
    },
  };
}

export interface StartablePart {
  readonly part: Part;
  /** Call it when the part has started, or failed to start. */
  readonly settled: () => void;
}

/** Temporal's dev server, or the real one if callers could act with the user's Google login. @param program its executable */
export function serverPart(
  home: StackHome,
  record: StackRecord,
  program: () => Promise<string>,
  env: Environment,
): StartablePart {
  const own = {
    title: PART_TITLES.server,
    stopGraceMs: STOP_GRACE_MS.server,
    claim: { what: home.databaseFile, file: home.databaseHolderFile },
  };
  const { temporal: port } = record.addresses;
  if (!isGuarded(record))
    return { part: { ...own, ...devServer(home, record, program, env) }, settled: () => undefined };
  const { part, settled } = guardedPart(home, port, program, env);
  return { part: { ...own, ...part }, settled };
}

function devServer(
  home: StackHome,
  { addresses }: StackRecord,
  command: () => Promise<string>,
  env: Environment,
): Omit<Part, 'title' | 'stopGraceMs' | 'claim'> {
  const { temporal: port, temporalUi: uiPort } = addresses;
  return {
    command,
    args: devServerArguments({ port, uiPort, databaseFile: home.databaseFile }),
    env: partEnvironment(env),
    cwd: home.root,
    configuration: '',
    isReady: () => answersCalls(`127.0.0.1:${port}`, DEV_NAMESPACE),
    readyTimeoutMs: 60_000,
    // Server 1.29 answers `interrupted (9)` forever once SQLite was interrupted, as under 10,000 cancels on a busy computer
    // (docs/runs.md; fixed by a newer SQLite: github.com/temporalio/temporal/pull/9198).
    isRestartedIfSilent: true,
  };
}

/** Returns whether the running server is of the wanted kind and its login is valid for a while. */
export function isServerCurrent(home: StackHome, record: StackRecord): boolean {
  const { server } = record.parts;
  if (record.temporalAddress !== null || server === undefined) return true;
  const isOfKind = server.fingerprint === fingerprintOf({ configuration: isGuarded(record) ? GUARDED : '' });
  return isOfKind && !(isGuarded(record) && isLoginOld(serverFiles(home), Date.now()));
}

export function rehearsalPart(home: StackHome, { addresses }: StackRecord, env: Environment): Part {
  return {
    title: PART_TITLES.rehearsal,
    command: nodePath,
    args: rehearsalProgram(rehearsalArguments(home, addresses), env),
    env: partEnvironment(env),
    cwd: home.root,
    isReady: async () => (await answersHttp(rehearsalReadyUrl(addresses))) && (await accepts(addresses.tpu)),
    readyTimeoutMs: 60_000,
    stopGraceMs: STOP_GRACE_MS.rehearsal,
  };
}

function rehearsalArguments(home: StackHome, addresses: StackAddresses): readonly string[] {
  const ports = {
    '--tpu-port': addresses.tpu,
    '--rest-port': addresses.tpuRest,
    '--store-port': addresses.store,
    '--admin-port': addresses.admin,
    '--kubernetes-port': addresses.kubernetes,
    '--ssh-port': addresses.ssh,
    '--subnet-octet': addresses.subnetOctet,
  };
  const machines = rehearsedMachinesOf(addresses).map(({ name, user, address }) => `${name}=${user}@${address}`);
  return [
    ...['--state-dir', home.rehearsalDir],
    ...Object.entries(ports).flatMap(([flag, value]) => [flag, String(value)]),
    ...machines.flatMap((machine) => ['--machine', machine]),
    ...['--machine-key', keysOf(home).publicKeyFile],
  ];
}

export function workerPart(home: StackHome, record: StackRecord, env: Environment): Part {
  const args = workerProgram(['--config', home.workerConfigFile], env);
  // The worker reads the login once.
  const login = isGuarded(record) ? [loginFingerprint(serverFiles(home))] : [];
  return {
    title: PART_TITLES.worker,
    command: nodePath,
    args,
    env: partEnvironment(env),
    cwd: home.root,
    // Includes the path, because another version of jobctl has another worker.
    configuration: JSON.stringify([args, workerConfigOf(home, record), ...login]),
    isReady: () => answersHttp(readyUrlOf(record.addresses)),
    readyTimeoutMs: 60_000,
    stopGraceMs: STOP_GRACE_MS.worker,
  };
}

/** Checks once whether a part is ready, for `status`. */
export function isPartReady(home: StackHome, name: PartName, record: StackRecord): Promise<boolean> {
  switch (name) {
    case 'server':
      if (isGuarded(record)) return answersGuarded(home, record.addresses.temporal, PROBE_TIMEOUT_MS);
      return answersCalls(temporalAddressOf(record), DEV_NAMESPACE, PROBE_TIMEOUT_MS);
    case 'rehearsal':
      return answersHttp(rehearsalReadyUrl(record.addresses));
    case 'worker':
      return answersHttp(readyUrlOf(record.addresses));
  }
}

const rehearsalReadyUrl = (addresses: StackAddresses): string => `${adminUrlOf(addresses)}/admin/ready`;

/** The reasons that a running part gives for not being ready; empty if it gives none. */
export async function reasonsOf(name: PartName, { addresses }: StackRecord): Promise<readonly string[]> {
  if (name === 'server') return [];
  try {
    const url = name === 'rehearsal' ? rehearsalReadyUrl(addresses) : readyUrlOf(addresses);
    const { reasons } = (await (await fetch(url, { signal: AbortSignal.timeout(PROBE_TIMEOUT_MS) })).json()) as {
      readonly reasons?: unknown;
    };
    return Array.isArray(reasons) ? reasons.map((reason) => visibleText(String(reason)).slice(0, MOST_REASON)) : [];
  } catch {
    return [];
  }
}

/** Longest reason in characters: a process that answers on a port may be another one. */
const MOST_REASON = 500;

async function answersHttp(url: string): Promise<boolean> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(PROBE_TIMEOUT_MS) });
    await response.arrayBuffer();
    return response.ok;
  } catch {
    return false;
  }
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = createConnection({ port, host: '127.0.0.1', timeout: PROBE_TIMEOUT_MS });
    const answer = (isOpen: boolean): void => {
      socket.destroy();
      resolve(isOpen);
    };
    socket.once('connect', () => answer(true));
    socket.once('error', () => answer(false));
    socket.once('timeout', () => answer(false));
  });
}

export interface DevOptions {
  /** Names the state folder (JOBCTL_HOME) and the Temporal CLI; passed on to started processes. */
  readonly env?: Environment;
  /** One line for a person. */
  readonly onProgress?: (line: string) => void;
}

/** Longest wait for another `dev` command, which may be building the Temporal CLI. */
const OTHER_COMMAND_TIMEOUT_MS = 15 * 60_000;

/** Takes the lock that is held while the stack is changed. */
export function lockStack(home: StackHome, onProgress: (line: string) => void): Promise<FileLock> {
  makeFolderSync(home.root, 0o700);
  return acquireLock(home.lockFile, {
    timeoutMs: OTHER_COMMAND_TIMEOUT_MS,
    onWait: (holder) => onProgress(`Waiting for process ${holder.pid}, which is changing this stack`),
  });
}
