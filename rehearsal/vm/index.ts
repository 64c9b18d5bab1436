import { join } from 'node:path';
import type { SshAtShutdown } from '../tpu/settings.js';
import { setDiskFull } from './disk-fault.js';
import type { HostKey } from './host-key.js';
import { loadHostKey } from './host-key.js';
import { LazyMachine } from './lazy-machine.js';
import { vmLogins } from './logins.js';
import type { Machine } from './machine.js';
import { findMachine, startMachine } from './machines.js';
import type { VmMetadata } from './metadata/server.js';
import { signalProcess } from './processes.js';
import type { LoginHost } from './session.js';
import { sessionLedger } from './sessions.js';
import type { SshServer } from './ssh-server.js';
import { startSshServer } from './ssh-server.js';
import { runStartupScript } from './startup-script.js';
import { markStopping, standInReporter } from './stand-ins.js';
import type { VmPlan } from './vm-plan.js';
import { keysInForce } from './vm-plan.js';

export { killLeftover } from './machines.js';
export type { VmPlan } from './vm-plan.js';

/** One running TPU VM: real processes behind a real SSH server. It boots at the first login, or for its startup script. */
export interface Vm {
  /** `ssh-ed25519 AAAA..` */
  readonly hostKey: string;
  /** True if the VM and its processes were found running, left by an earlier rehearsal process. */
  readonly isAdopted: boolean;
  /** Pid of the VM's init on this computer; undefined without namespaces, and before the VM has booted. */
  readonly initPid: number | undefined;
  isAlive(): boolean;
  /** Stops every process and makes the VM silent; `thaw` undoes both. */
  freeze(): void;
  thaw(): void;
  setReachable(isReachable: boolean): void;
  /** Delay of the first answer on every new connection, and on each of its sessions, ms; 0: no delay. */
  setSshDelay(delayMs: number): void;
  /** true: SSH connections are reset, open ones too. */
  refuseSsh(isRefused: boolean): void;
  /** true: writes in the VM end with ENOSPC (limits: full-disk.sh). Rejects if that is not possible here. */
  fillDisk(isFull: boolean): Promise<void>;
  /** Sends SIGKILL to all processes; the VM and its SSH server stay up. @returns number of processes */
  killProcesses(): number;
  /**
   * Like ACPI's soft off: systemd is `stopping`, and all processes get SIGTERM a moment later. The VM is up until a power cut.
   */
  shutDown(ssh: SshAtShutdown): void;
  /** Ends every process at once. `silent`: connections to the VM get no answer; else they end. Its disk stays. */
  cutPower(ssh: SshAtShutdown): Promise<void>;
  /** Kills the VM at once, with every process, daemons too; its disk stays. Repeating is harmless. */
  kill(): Promise<void>;
}

/** Starts a VM, or adopts the one that runs in this folder. If it cannot listen, rejects and leaves nothing running. */
export async function startVm(plan: VmPlan): Promise<Vm> {
  const record = plan.record ?? (() => undefined);
  const running = findMachine(plan);
  const ledger = sessionLedger(join(plan.dir, 'sessions'));
  if (running !== undefined) ledger.hangUpOrphans(running);
  const machine = new LazyMachine(running, async () => {
    markStopping(plan.dir, false);
    const booted = await startMachine(plan);
    record('vm-boot', { init: booted.init?.pid, confinement: booted.root ?? 'none' });
    return booted;
  });
  try {
    const metadata = await openMetadata(plan);
    const environment = { ...plan.environment, ...metadata.environment };
    const left = standInReporter(plan.dir, machine, record);
    const host: LoginHost = { enter: vmLogins(plan, machine), ledger, hostname: plan.hostname, environment, left };
    const vm = await serve(plan, machine, host, metadata.server);
    if (plan.startupScript !== undefined && running === undefined) {
      void runStartupScript(plan.startupScript, host, record);
    }
    return vm;
  } catch (error) {
    await machine.switchOff();
    throw error;
  }
}

async function openMetadata(
  plan: VmPlan,
): Promise<{ readonly server: VmMetadata | undefined; readonly environment: Readonly<Record<string, string>> }> {
  if (plan.metadata === undefined) return { server: undefined, environment: {} };
  const server = await plan.metadata.service.open(plan.address, plan.metadata.source);
  const { host } = server;
  // Google's libraries read the first, JAX the second, gcloud and old Python libraries the third.
  return { server, environment: { GCE_METADATA_HOST: host, GCE_METADATA_IP: host, GCE_METADATA_ROOT: host } };
}

async function serve(
  plan: VmPlan,
  machine: LazyMachine,
  host: LoginHost,
  metadata: VmMetadata | undefined,
): Promise<Vm> {
  // Made on first use: a thousand of them would be most of the cost of starting a large slice.
  let made: HostKey | undefined;
  const hostKey = (): HostKey => (made ??= loadHostKey(join(plan.dir, 'ssh_host_ed25519_key')));
  const { address, sshPort: port, slice: hosts, now = Date.now } = plan;
  const identity = {
    privateKey: () => hostKey().privateKey,
    authorizedKeys: () => keysInForce(plan),
    now,
  };
  const server = await startSshServer({ address, port, hosts, ...identity }, host).catch(async (error: unknown) => {
    await metadata?.close();
    throw error;
  });
  let isDark = false;
  return {
    ...hostFaults(machine, server),
    get hostKey() {
      return hostKey().publicKey;
    },
    isAdopted: machine.current?.isAdopted === true,
    get initPid() {
      return machine.current?.init?.pid;
    },
    isAlive: () => machine.isAlive(),
    shutDown(ssh) {
      markStopping(plan.dir, true);
      if (ssh === 'silent') server.setReachable(false);
      if (ssh === 'refused') server.setRefusing(true);
      setTimeout(() => terminateAll(machine.current), UNTIL_SIGTERM_MS).unref();
    },
    async cutPower(ssh) {
      isDark = ssh === 'silent';
      if (isDark) server.setReachable(false);
      await machine.switchOff();
      if (ssh !== 'silent') await server.close();
    },
    async kill() {
      // Processes first: a client that sees its connection end may look for them at once.
      await machine.switchOff();
      await Promise.all([server.close(isDark ? 'silent' : 'cut'), metadata?.close()]);
    },
  };
}

type HostFaults = Pick<
  Vm,
  'freeze' | 'thaw' | 'setReachable' | 'setSshDelay' | 'refuseSsh' | 'fillDisk' | 'killProcesses'
>;

function hostFaults(machine: LazyMachine, server: SshServer): HostFaults {
  return {
    freeze() {
      server.setReachable(false);
      signalAll(machine.current, 'SIGSTOP');
    },
    thaw() {
      signalAll(machine.current, 'SIGCONT');
      machine.current?.resumeEntrants();
      server.setReachable(true);
    },
    setReachable: (isReachable) => server.setReachable(isReachable),
    setSshDelay: (delayMs) => server.setDelay(delayMs),
    refuseSsh: (isRefused) => server.setRefusing(isRefused),
    fillDisk: async (isFull) => setDiskFull(await machine.wake(), isFull),
    killProcesses: () => signalAll(machine.current, 'SIGKILL'),
  };
}

/** Delay before SIGTERM: by then systemd is `stopping`, and readers of the metadata server have been told. */
const UNTIL_SIGTERM_MS = 200;

/** Signals the present processes: one that is started in response gets no signal. */
function terminateAll(machine: Machine | undefined): void {
  for (const pid of machine?.processes() ?? []) signalProcess(pid, 'SIGTERM');
}

/** Signals every process, and repeats until no new one is found: a child that was just forked is in no list yet. */
export function signalAll(machine: Pick<Machine, 'processes'> | undefined, signal: NodeJS.Signals): number {
  const signalled = new Set<number>();
  for (let look = 0; machine !== undefined && look < MOST_LOOKS; look++) {
    const fresh = machine.processes().filter((pid) => !signalled.has(pid) && signalProcess(pid, signal));
    if (fresh.length === 0) break;
    for (const pid of fresh) signalled.add(pid);
  }
  return signalled.size;
}

/** Gives up on a machine whose processes fork faster than they can be listed. */
const MOST_LOOKS = 50;
