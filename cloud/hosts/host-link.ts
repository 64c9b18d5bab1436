import type { HostTarget } from './port.js';
import type { ExecOptions, ExecResult } from './remote-exec.js';

/** The kept way to one host, shared by all who use it: over SSH (ssh-link.ts) or by exec into a pod (pod-link.ts). */
export interface HostLink {
  readonly target: HostTarget;
  /** Begins every message about the host. */
  readonly where: string;
  /** How files come over it, for a log: `over SSH`. */
  readonly over: string;
  /** Makes sure that the host answers. @throws HostUnreachable, HostKeyMismatch, HostUnfit */
  open(): Promise<unknown>;
  /**
   * One command line for the host's shell. It is never repeated here once it may have begun.
   * @param use `follow` for what lasts for hours, which must not keep the others from running
   * @throws HostUnreachable for every trouble of the connection; the signal's reason when aborted, the command is then told to end
   */
  exec(command: string, options?: ExecOptions, use?: 'command' | 'follow'): Promise<ExecResult>;
  /** Final: commands under way fail. Safe to repeat. */
  close(): void;
}
