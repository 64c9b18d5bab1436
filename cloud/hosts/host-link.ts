import type { HostTarget } from './port.js';
import type { ExecOptions, ExecResult } from './remote-exec.js';

/** The kept connection to one host, shared by all users: over SSH (ssh-link.ts) or by exec into a pod (pod-link.ts). */
export interface HostLink {
  readonly target: HostTarget;
  /** The beginning of every message about the host. */
  readonly where: string;
  /** The transport of files, for a log: `over SSH`. */
  readonly over: string;
  /** Makes sure that the host answers. @throws HostUnreachable, HostKeyMismatch, HostUnfit */
  open(): Promise<unknown>;
  /**
   * Runs one command line in the host's shell. It is never repeated here once it may have started.
   * @param use `follow` for commands that last for hours, which must not keep others from running
   * @throws HostUnreachable for every failure of the connection; the signal's reason when aborted, after which the command is
   * told to end
   */
  exec(command: string, options?: ExecOptions, use?: 'command' | 'follow'): Promise<ExecResult>;
  /** Final: commands in progress fail. Safe to repeat. */
  close(): void;
}
