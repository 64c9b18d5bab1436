import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { closeSync, existsSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { makeFolderSync } from '../folders.js';
import type { RootKind, VolumeMount } from './boot.js';
import { bootCommand, enterCommand, etcFolder } from './boot.js';
import { openWorkFolders } from './disks.js';
import type { EtcPlan } from './etc-files.js';
import { writeEtc } from './etc-files.js';
import type { ProcessIdentity } from './processes.js';
import { bootId, childrenOf, identityOf, isAlive, signalProcess } from './processes.js';

export interface ContainerPlan {
  /** Folder of this container: disk, log, how it ended. */
  readonly folder: string;
  readonly root: RootKind;
  readonly hostname: string;
  /** Lines of /etc/hosts. */
  readonly hosts: EtcPlan['hosts'];
  readonly command: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  /** Absolute path in the container. */
  readonly workingDir: string;
  readonly volumes: readonly VolumeMount[];
  /** A folder of commands that come before the system's. */
  readonly tools?: string | undefined;
}

/** Exit code of a container's first process: 128 + n after the signal n. Undefined: unknown. */
export type ContainerEnd = number | undefined;

/** Processes in a separate root and separate namespaces, as a VM's are. The first one is the user's command; all end with it. */
export interface RunningContainer {
  /** End of the first process, once all processes are gone. */
  readonly ended: Promise<ContainerEnd>;
  /** Whether the first process is there. */
  isAlive(): boolean;
  /** Starts another process in the container, in a separate session; stdin, stdout and stderr are pipes. */
  exec(argv: readonly string[], environment: Readonly<Record<string, string>>): ChildProcess;
  /** Sends a signal to the first process. */
  signal(signal: NodeJS.Signals): void;
}

export const logFile = (folder: string): string => join(folder, 'log');
/** File that the first process sees as /dev/termination-log. */
export const terminationLog = (folder: string): string => join(folder, 'disk/rootfs/dev/termination-log');

const recordFile = (folder: string): string => join(folder, 'running.json');
const endFile = (folder: string): string => join(folder, 'exit');

/** Stores the first process's exit code in a file, for a later rehearsal process. */
const WITNESS = 'end=$1; shift; "$@"; echo $? > "$end.new"; mv "$end.new" "$end"';

/** Interval between checks on a container that an earlier rehearsal process started, ms. */
const LOOK_MS = 250;

/** Starts a container. Rejects if it cannot be created. */
export async function startContainer(plan: ContainerPlan): Promise<RunningContainer> {
  const { folder, root, hostname, hosts, command, environment, workingDir, volumes, tools } = plan;
  const disk = join(folder, 'disk');
  makeFolderSync(disk);
  rmSync(endFile(folder), { force: true });
  writeEtc(etcFolder(disk, root), { hostname, hosts, users: [] });
  const variables = Object.entries(environment).map(([name, value]) => `${name}=${value}`);
  const first = ['env', '-i', `--chdir=${workingDir}`, ...variables, ...command];
  const boot = bootCommand({ disk, hostname, root, mark: folder, command: first, volumes, tools });
  const log = openSync(logFile(folder), 'a');
  const outer = spawn('sh', ['-c', WITNESS, 'container', endFile(folder), ...boot.argv], {
    cwd: '/',
    detached: true,
    env: { ...boot.environment },
    stdio: ['ignore', 'pipe', 'pipe', log],
  });
  closeSync(log);
  const gone = new Promise<void>((resolve) => outer.once('exit', () => resolve()));
  await becomesReady(outer);
  const [unshare = -1] = childrenOf(outer.pid ?? -1);
  const init = identityOf(childrenOf(unshare)[0] ?? -1);
  outer.unref();
  if (init !== undefined) writeFileSync(recordFile(folder), JSON.stringify({ ...init, bootId: bootId() }));
  return container(folder, init, gone);
}

/** The folder's container, if it still runs since an earlier rehearsal process, or else how it ended. Undefined if unknown. */
export function findContainer(folder: string): RunningContainer | { readonly end: ContainerEnd } | undefined {
  const end = endOf(folder);
  if (end !== undefined) return { end };
  const init = recordedInit(folder);
  if (init === undefined) return undefined;
  return container(folder, init, untilGone(init));
}

async function untilGone(init: ProcessIdentity): Promise<void> {
  while (isAlive(init)) await new Promise((resolve) => setTimeout(resolve, LOOK_MS).unref());
}

function container(folder: string, init: ProcessIdentity | undefined, gone: Promise<void>): RunningContainer {
  return {
    ended: gone.then(() => {
      openWorkFolders(join(folder, 'disk'));
      return endOf(folder);
    }),
    isAlive: () => init !== undefined && isAlive(init),
    exec(argv, environment) {
      if (init === undefined) throw new Error('the container has ended');
      const [program, ...enter] = enterCommand(init.pid);
      return spawn(program, [...enter, ...argv], {
        cwd: '/',
        env: { ...environment },
        stdio: ['pipe', 'pipe', 'pipe'],
      });
    },
    signal(signal) {
      if (init !== undefined && isAlive(init)) signalProcess(init.pid, signal);
    },
  };
}

function recordedInit(folder: string): ProcessIdentity | undefined {
  if (!existsSync(recordFile(folder))) return undefined;
  try {
    const record = JSON.parse(readFileSync(recordFile(folder), 'utf8')) as ProcessIdentity & { bootId: string };
    return record.bootId === bootId() && isAlive(record) ? record : undefined;
  } catch {
    return undefined; // half written by a process that was killed meanwhile
  }
}

function endOf(folder: string): ContainerEnd {
  const file = endFile(folder);
  return existsSync(file) ? Number(readFileSync(file, 'utf8')) : undefined;
}

/** Characters that are kept of a failed boot's errors. */
const MOST_ERRORS = 8_192;

async function becomesReady(outer: ChildProcess): Promise<void> {
  let errors = '';
  // Only the end is kept: a boot that repeats an error for ever must not take all memory.
  outer.stderr?.on('data', (chunk: Buffer) => (errors = `${errors}${chunk.toString()}`.slice(-MOST_ERRORS)));
  try {
    await new Promise<void>((resolve, reject) => {
      outer.stdout?.once('data', () => resolve());
      outer.once('error', reject);
      outer.once('exit', (code) => reject(new Error(`its boot ended with ${code}: ${errors.trim()}`)));
    });
  } finally {
    outer.stdout?.destroy();
    outer.stderr?.destroy();
  }
}
