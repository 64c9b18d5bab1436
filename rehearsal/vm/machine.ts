import type { ChildProcess } from 'node:child_process';
import type { RootKind } from './boot.js';
import type { ProcessIdentity } from './processes.js';

/** The processes of one VM, whatever keeps them apart from the others'. */
export interface Machine {
  /** The VM's init; undefined where VMs are told apart by marks. */
  readonly init: ProcessIdentity | undefined;
  /** What keeps it from this computer's files; undefined: nothing. */
  readonly root: RootKind | undefined;
  /** True if the processes of an earlier rehearsal process were found running. */
  readonly isAdopted: boolean;
  /** Login names that it has known from its boot on; empty where it was adopted. */
  readonly users: ReadonlySet<string>;
  /** A user's home as the VM sees it. */
  homeOf(user: string): string;
  /** Starts `argv` in the VM as the leader of a session of its own. stdin, stdout and stderr are pipes. */
  start(argv: readonly string[], environment: Readonly<Record<string, string>>): ChildProcess;
  /** Sends a signal to the process group that `start` made; `started` is the pid of what it returned. Nothing if it has ended. */
  signalGroup(started: number, signal: NodeJS.Signals): void;
  isAlive(): boolean;
  /** Numbers, as this machine counts them, of all processes in the VM but its init. */
  processes(): readonly number[];
  /** What stands outside and had stopped with a process of the VM goes on. */
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
  /** Names the VM among all VMs of this computer; in the environment of its processes. */
  readonly mark: string;
  /** Login names that it knows from the start. */
  readonly users: readonly string[];
  /** A folder of commands that the VM finds in /opt/rehearsal/bin. */
  readonly tools?: string | undefined;
}

/** The folder, outside, that is a user's home in the VM. */
export function homeFolder(disk: string, user: string, root: RootKind | undefined): string {
  return user === 'root' && root !== undefined ? `${disk}/rootfs/root` : `${disk}/home/${user}`;
}
