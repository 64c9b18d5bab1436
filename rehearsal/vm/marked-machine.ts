import { spawn } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { makeFolderSync } from '../folders.js';
import type { Machine, MachinePlan } from './machine.js';
import { homeFolder } from './machine.js';
import { bootId, carriersOf, signalProcess } from './processes.js';

/**
 * A VM on a kernel that gives no namespaces: its processes carry REHEARSAL_VM in their environment. /proc, the host name and
 * ports are the computer's own; TMPDIR points into the disk. A process that clears its environment escapes.
 */
export function startMarkedMachine(plan: MachinePlan): Machine {
  const record = join(plan.disk, 'boot.json');
  const isAdopted = isMarkedMachineUp(plan.disk);
  for (const folder of ['home', 'tmp']) makeFolderSync(join(plan.disk, folder));
  writeFileSync(record, bootId());
  let alive = true;
  const mark = `REHEARSAL_VM=${plan.mark}`;
  const extra = { REHEARSAL_VM: plan.mark, TMPDIR: join(plan.disk, 'tmp') };
  return {
    init: undefined,
    root: undefined,
    isAdopted,
    users: new Set(plan.users),
    homeOf: (user) => homeFolder(plan.disk, user, undefined),
    start: ([command = 'true', ...args], environment) =>
      spawn(command, args, {
        cwd: '/',
        detached: true,
        env: { ...environment, ...extra },
        stdio: ['pipe', 'pipe', 'pipe'],
      }),
    signalGroup: (started, signal) => void signalProcess(-started, signal),
    isAlive: () => alive,
    processes: () => carriersOf(mark),
    resumeEntrants: () => undefined,
    async kill() {
      alive = false;
      writeFileSync(record, 'down');
      await killCarriers(mark);
    },
  };
}

/** True if an earlier rehearsal process left the machine of this disk running. */
export function isMarkedMachineUp(disk: string): boolean {
  const record = join(disk, 'boot.json');
  return existsSync(record) && readFileSync(record, 'utf8') === bootId();
}

/** Kills processes that an earlier rehearsal process left running under this mark. */
export async function killMarkedLeftover(mark: string): Promise<void> {
  await killCarriers(`REHEARSAL_VM=${mark}`);
}

/** Ends all processes at the same moment, as a power cut does, so that none of them can see and record the end of another. */
async function killCarriers(mark: string): Promise<void> {
  const stopped = new Set<number>();
  for (
    let running = carriersOf(mark);
    running.length > 0;
    running = carriersOf(mark).filter((pid) => !stopped.has(pid))
  )
    for (const pid of running) {
      signalProcess(pid, 'SIGSTOP');
      stopped.add(pid);
    }
  // Repeats until none is found: a process may fork between being listed and being stopped.
  for (const deadline = Date.now() + 10_000; ; await delay(5)) {
    const left = carriersOf(mark);
    if (left.length === 0) return;
    if (Date.now() > deadline) throw new Error(`processes ${left.join(', ')} (${mark}) outlive SIGKILL`);
    for (const pid of left) signalProcess(pid, 'SIGKILL');
  }
}
