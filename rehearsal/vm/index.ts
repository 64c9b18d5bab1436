import { join } from 'node:path';
import { parseAuthorizedKeys } from './authorized-keys.js';
import { loadHostKey } from './host-key.js';
import type { Isolation } from './isolation.js';
import { detectIsolation } from './isolation.js';
import type { Machine, MachinePlan } from './machine.js';
import { killMarkedLeftover, startMarkedMachine } from './marked-machine.js';
import { killNamespaceLeftover, startNamespaceMachine } from './namespace-machine.js';
import { signalProcess } from './processes.js';
import type { LoginHost } from './session.js';
import { sessionLedger } from './sessions.js';
import { startSshServer } from './ssh-server.js';

export interface VmPlan {
  /** The VM's folder: its disk (homes, /tmp), host key and boot record. Kept over restarts; absolute. */
  readonly dir: string;
  /** The VM's own loopback address, such as 127.77.0.1. */
  readonly address: string;
  readonly sshPort: number;
  readonly hostname: string;
  /** The metadata item `ssh-keys`: lines of `user:ssh-ed25519 AAAA.. comment`. */
  readonly authorizedKeys: string;
  /** All hosts of the slice, for /etc/hosts. */
  readonly slice: readonly { readonly hostname: string; readonly address: string }[];
  /** More of every login's environment, such as TPU_WORKER_ID. */
  readonly environment?: Readonly<Record<string, string>>;
  /** How VMs are kept apart; what the kernel allows if not given. */
  readonly isolation?: Isolation;
}

/** One running TPU VM: real processes behind a real SSH server. */
export interface Vm {
  /** `ssh-ed25519 AAAA..` */
  readonly hostKey: string;
  /** True if the VM was found running, with its processes, as an earlier process had left it. */
  readonly isAdopted: boolean;
  /** Pid of the VM's init as this computer counts, or undefined without namespaces. */
  readonly initPid: number | undefined;
  isAlive(): boolean;
  /** Stops every process where it stands and falls silent; `thaw` undoes both. */
  freeze(): void;
  thaw(): void;
  setReachable(isReachable: boolean): void;
  /** SIGKILL to all processes; the VM and its SSH server stay up. @returns how many. */
  killProcesses(): number;
  /** The VM is gone at once, with every process, daemons too; its disk stays. Repeating is harmless. */
  kill(): Promise<void>;
}

/** Boots a VM, or adopts the one that runs in this folder. Rejects if it cannot listen or boot; nothing is left running then. */
export async function startVm(plan: VmPlan): Promise<Vm> {
  const disk = join(plan.dir, 'disk');
  const hostKey = loadHostKey(join(plan.dir, 'ssh_host_ed25519_key'));
  const machinePlan: MachinePlan = { disk, hostname: plan.hostname, hosts: plan.slice, mark: plan.dir };
  const isolation = plan.isolation ?? detectIsolation();
  const machine =
    isolation === 'namespaces' ? await startNamespaceMachine(machinePlan) : startMarkedMachine(machinePlan);
  const ledger = sessionLedger(join(plan.dir, 'sessions'));
  ledger.hangUpOrphans(machine);
  const host = { machine, ledger, disk, hostname: plan.hostname, environment: plan.environment ?? {} };
  return serve(plan, host, hostKey).catch(async (error: unknown) => {
    await machine.kill();
    throw error;
  });
}

/** Ends the VM that an earlier process left running in `dir`, where nobody wants it any more. */
export async function killLeftover(dir: string): Promise<void> {
  await killNamespaceLeftover(join(dir, 'disk'));
  await killMarkedLeftover(dir);
}

async function serve(plan: VmPlan, host: LoginHost, hostKey: ReturnType<typeof loadHostKey>): Promise<Vm> {
  const { machine } = host;
  const authorizedKeys = parseAuthorizedKeys(plan.authorizedKeys);
  const { address, sshPort: port } = plan;
  const server = await startSshServer({ address, port, privateKey: hostKey.privateKey, authorizedKeys }, host);
  return {
    hostKey: hostKey.publicKey,
    isAdopted: machine.isAdopted,
    initPid: machine.init?.pid,
    isAlive: () => machine.isAlive(),
    freeze() {
      server.setReachable(false);
      signalAll(machine, 'SIGSTOP');
    },
    thaw() {
      signalAll(machine, 'SIGCONT');
      server.setReachable(true);
    },
    setReachable: (isReachable) => server.setReachable(isReachable),
    killProcesses: () => signalAll(machine, 'SIGKILL'),
    async kill() {
      // The processes first: a client that sees its connection end may look for them at once.
      await machine.kill();
      await server.close();
    },
  };
}

/** Looks again until a look finds nobody new: a process forked while its parent was being signalled was in no list yet. */
function signalAll(machine: Machine, signal: NodeJS.Signals): number {
  const signalled = new Set<number>();
  for (let look = 0; look < MOST_LOOKS; look++) {
    const fresh = machine.processes().filter((pid) => !signalled.has(pid) && signalProcess(pid, signal));
    if (fresh.length === 0) break;
    for (const pid of fresh) signalled.add(pid);
  }
  return signalled.size;
}

/** A machine whose processes fork quicker than they can be listed is given up on, not looped on. */
const MOST_LOOKS = 50;
