import type { ChildProcess } from 'node:child_process';
import type { RootKind } from './boot.js';
import type { ProcessIdentity } from './processes.js';

/** The processes of one VM, however they are separated from other VMs'. */
export interface Machine {
  /** The VM's init; undefined if VMs are told apart by marks. */
  readonly init: ProcessIdentity | undefined;
  /** The root that keeps the VM from this computer's files; undefined: no protection. */
  readonly root: RootKind | undefined;
  /** True if the processes of an earlier rehearsal process were found running. */
  readonly isAdopted: boolean;
  /** Login names that the VM has known since its boot; empty if the VM was adopted. */
  readonly users: ReadonlySet<string>;
  /** Path of a user's home in the VM. */
  homeOf(user: string): string;
  /** Starts `argv` in the VM as the leader of a new session. stdin, stdout and stderr are pipes. */
  start(argv: readonly string[], environment: Readonly<Record<string, string>>): ChildProcess;
  /**
   * Sends a signal to the process group that `start` made; `started` is the pid of the process that `start` returned. No effect
   * if the group has ended.
   */
  signalGroup(started: number, signal: NodeJS.Signals): void;
  isAlive(): boolean;
  /** Pids, on this computer, of all processes in the VM except its init. */
  processes(): readonly number[];
  /** Resumes processes outside the VM that stopped together with one inside it. */
  resumeEntrants(): void;
  /** Kills everything in the VM at once and resolves when nothing is left. */
  kill(): Promise<void>;
}

export interface MachinePlan {
  readonly disk: string;
  readonly hostname: string;
  readonly address: string;
  /** Lines of /etc/hosts: the hosts of the slice. */
  readonly hosts: readonly { readonly hostname: string; readonly address: string }[];
  /** Identifies the VM among all VMs of this computer; set in the environment of its processes. */
  readonly mark: string;
  /** Login names that the VM knows from the start. */
  readonly users: readonly string[];
  /** A folder of commands that the VM finds in /opt/rehearsal/bin. */
  readonly tools?: string | undefined;
}

/** The folder on this computer that is a user's home in the VM. */
export function homeFolder(disk: string, user: string, root: RootKind | undefined): string {
  return user === 'root' && root !== undefined ? `${disk}/rootfs/root` : `${disk}/home/${user}`;
}
