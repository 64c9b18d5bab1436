import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { makeFolderSync } from '../folders.js';
import type { RootKind } from './boot.js';
import { bootCommand, enterCommand, etcFolder } from './boot.js';
import { openWorkFolders } from './disks.js';
import { writeEtc } from './etc-files.js';
import type { Machine, MachinePlan } from './machine.js';
import type { ProcessIdentity } from './processes.js';
import { bootId, childrenOf, entrantsOf, identityOf, isAlive, membersOfNamespace, signalProcess } from './processes.js';

interface BootRecord extends ProcessIdentity {
  readonly bootId: string;
  /** Absent in records of versions that had no separate root. */
  readonly root?: RootKind;
}

/** The machine that a killed rehearsal process left running on this disk, or undefined. */
export function findNamespaceMachine(disk: string): Machine | undefined {
  const running = readBootRecord(join(disk, 'boot.json'));
  // A machine left by a version without confinement has no user namespace to enter: the next boot ends it.
  return running?.root === undefined ? undefined : namespaceMachine(disk, running, undefined);
}

export async function bootNamespaceMachine(plan: MachinePlan, root: RootKind): Promise<Machine> {
  makeFolderSync(plan.disk);
  await killNamespaceLeftover(plan.disk);
  writeEtc(etcFolder(plan.disk, root), plan);
  const init = await boot(plan, root);
  const record = { ...init, bootId: bootId(), root };
  writeFileSync(join(plan.disk, 'boot.json'), JSON.stringify(record));
  return namespaceMachine(plan.disk, record, plan.users);
}

/** Kills the VM, if any, that an earlier rehearsal process left running on this disk. */
export async function killNamespaceLeftover(disk: string): Promise<void> {
  const init = readBootRecord(join(disk, 'boot.json'));
  if (init !== undefined) await killInit(init);
  openWorkFolders(disk);
}

function readBootRecord(file: string): BootRecord | undefined {
  if (!existsSync(file)) return undefined;
  try {
    const record = JSON.parse(readFileSync(file, 'utf8')) as BootRecord;
    return record.bootId === bootId() && isAlive(record) ? record : undefined;
  } catch {
    // Half written by a process that was killed meanwhile. Its VM, if there is one, cannot be found: boot anew.
    return undefined;
  }
}

async function boot(plan: MachinePlan, root: RootKind): Promise<ProcessIdentity> {
  const { disk, hostname, mark, tools } = plan;
  const { argv, environment } = bootCommand({
    disk,
    hostname,
    root,
    mark,
    tools,
  });
  const [program, ...args] = argv;
  const outer = spawn(program, args, {
    cwd: '/',
    detached: true,
    env: { ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  await becomesReady(outer, hostname);
  const init = identityOf(childrenOf(outer.pid ?? -1)[0] ?? -1);
  if (init === undefined) throw new Error(`VM ${hostname}: its init ended right after it was ready`);
  outer.unref();
  return init;
}

async function becomesReady(outer: ChildProcess, hostname: string): Promise<void> {
  let errors = '';
  outer.stderr?.on('data', (chunk: Buffer) => (errors += chunk.toString()));
  const ready = new Promise<void>((resolve, reject) => {
    outer.stdout?.once('data', () => resolve());
    outer.once('error', reject);
    outer.once('exit', (code) => reject(new Error(`VM ${hostname}: boot ended with ${code}: ${errors.trim()}`)));
  });
  try {
    await ready;
  } finally {
    outer.stdout?.destroy();
    outer.stderr?.destroy();
  }
}

/** @param booted users that the machine was booted with; undefined: it was found running */
function namespaceMachine(disk: string, record: BootRecord, booted: readonly string[] | undefined): Machine {
  const init = { pid: record.pid, startTicks: record.startTicks };
  const [program, ...enter] = enterCommand(init.pid);
  return {
    init,
    root: record.root,
    isAdopted: booted === undefined,
    users: new Set(booted),
    homeOf: (user) => (user === 'root' ? '/root' : `/home/${user}`),
    start: (argv, environment) =>
      spawn(program, [...enter, ...argv], {
        cwd: '/',
        env: { ...environment },
        stdio: ['pipe', 'pipe', 'pipe'],
      }),
    signalGroup(started, signal) {
      // The leader is nsenter's child: nsenter itself must stay to report how it ended.
      for (const leader of childrenOf(started)) {
        if (!signalProcess(-leader, signal)) signalProcess(leader, signal);
      }
    },
    isAlive: () => isAlive(init),
    processes: () => membersOfNamespace(init.pid).filter((pid) => pid !== init.pid),
    resumeEntrants() {
      for (const pid of entrantsOf(init.pid)) signalProcess(pid, 'SIGCONT');
    },
    async kill() {
      await killInit(init);
      openWorkFolders(disk);
    },
  };
}

// The kernel kills every process of a PID namespace with its init, before the init itself is gone.
async function killInit(init: ProcessIdentity): Promise<void> {
  // A killed process exists until its parent has noticed, and so does the namespace.
  const entrants = isAlive(init) ? entrantsOf(init.pid) : [];
  if (isAlive(init)) signalProcess(init.pid, 'SIGKILL');
  for (const deadline = Date.now() + 10_000; isAlive(init); await delay(5)) {
    for (const pid of entrants) signalProcess(pid, 'SIGCONT');
    if (Date.now() > deadline) throw new Error(`VM init ${init.pid} is still there 10 s after SIGKILL`);
  }
}
