import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Machine, MachinePlan } from './machine.js';
import type { ProcessIdentity } from './processes.js';
import { bootId, childrenOf, identityOf, isAlive, membersOfNamespace, signalProcess } from './processes.js';

/**
 * The first process of a VM. The disk is bound once more inside the new /tmp when it lies under the old one, so that
 * homes keep their paths. bash reaps whatever is orphaned in the VM while it waits.
 */
const INIT = `set -e
disk=$1
mount -t tmpfs -o mode=1777 tmpfs /dev/shm
mount --bind "$disk/etc/hosts" /etc/hosts
hostname "$2"
case $disk in
  /tmp/*) mkdir -p "$disk$disk"; mount --bind "$disk" "$disk$disk" ;;
esac
mount --rbind "$disk/tmp" /tmp
echo ready
exec 0</dev/null 1>/dev/null 2>&1
exec -a init bash -c 'while :; do sleep infinity & wait; done'
`;

interface BootRecord extends ProcessIdentity {
  readonly bootId: string;
}

/** Boots the VM, or finds it running as it was left by a rehearsal process that was killed. */
export async function startNamespaceMachine(plan: MachinePlan): Promise<Machine> {
  const record = join(plan.disk, 'boot.json');
  const running = readBootRecord(record);
  if (running !== undefined) return namespaceMachine(running, true);
  const init = await boot(plan);
  writeFileSync(record, JSON.stringify({ ...init, bootId: bootId() }));
  return namespaceMachine(init, false);
}

/** Kills the VM that an earlier rehearsal process left running on this disk, if it did. */
export async function killNamespaceLeftover(disk: string): Promise<void> {
  const init = readBootRecord(join(disk, 'boot.json'));
  if (init !== undefined) await killInit(init);
}

function readBootRecord(file: string): ProcessIdentity | undefined {
  if (!existsSync(file)) return undefined;
  try {
    const record = JSON.parse(readFileSync(file, 'utf8')) as BootRecord;
    const identity = { pid: record.pid, startTicks: record.startTicks };
    return record.bootId === bootId() && isAlive(identity) ? identity : undefined;
  } catch {
    // Half written by a process that was killed in the act. Its VM, if it got so far, is found by nobody: boot anew.
    return undefined;
  }
}

async function boot(plan: MachinePlan): Promise<ProcessIdentity> {
  for (const folder of ['etc', 'home']) mkdirSync(join(plan.disk, folder), { recursive: true });
  mkdirSync(join(plan.disk, 'tmp'), { recursive: true, mode: 0o777 });
  writeFileSync(join(plan.disk, 'etc/hosts'), hostsFile(plan));
  const namespaces = ['--pid', '--mount', '--uts', '--ipc', '--fork', '--mount-proc'];
  const outer = spawn('unshare', [...namespaces, 'bash', '-c', INIT, 'init', plan.disk, plan.hostname], {
    cwd: '/',
    detached: true,
    env: { PATH: process.env['PATH'] ?? '/usr/sbin:/usr/bin:/sbin:/bin', REHEARSAL_VM: plan.mark },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  await becomesReady(outer, plan.hostname);
  const init = identityOf(childrenOf(outer.pid ?? -1)[0] ?? -1);
  if (init === undefined) throw new Error(`VM ${plan.hostname}: its init ended right after it was ready`);
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

function hostsFile(plan: MachinePlan): string {
  const slice = plan.hosts.map((host) => `${host.address} ${host.hostname}`);
  return ['127.0.0.1 localhost', '::1 localhost', ...slice, ''].join('\n');
}

function namespaceMachine(init: ProcessIdentity, isAdopted: boolean): Machine {
  const enter = ['--target', String(init.pid), '--mount', '--uts', '--ipc', '--pid', '--', 'setsid'];
  return {
    init,
    isAdopted,
    start: (argv, environment) =>
      spawn('nsenter', [...enter, ...argv], { cwd: '/', env: { ...environment }, stdio: ['pipe', 'pipe', 'pipe'] }),
    signalGroup(started, signal) {
      // The leader is the child of nsenter: nsenter itself must stay to pass on how it ended.
      for (const leader of childrenOf(started)) {
        if (!signalProcess(-leader, signal)) signalProcess(leader, signal);
      }
    },
    isAlive: () => isAlive(init),
    processes: () => membersOfNamespace(init.pid).filter((pid) => pid !== init.pid),
    kill: () => killInit(init),
  };
}

// The kernel kills every process of a PID namespace with its init, before the init itself is gone.
async function killInit(init: ProcessIdentity): Promise<void> {
  if (isAlive(init)) signalProcess(init.pid, 'SIGKILL');
  for (const deadline = Date.now() + 10_000; isAlive(init); await delay(5)) {
    if (Date.now() > deadline) throw new Error(`VM init ${init.pid} is still there 10 s after SIGKILL`);
  }
}
