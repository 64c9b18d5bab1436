import { mkdirSync } from 'node:fs';
import { acquireLock } from './file-lock.js';
import type { FileLock } from './file-lock.js';
import type { Environment, StackHome } from './home.js';

export interface DevOptions {
  /** Finds the state folder (JOBCTL_HOME) and the Temporal CLI; handed on to what is started. */
  readonly env?: Environment;
  /** One line for a person. */
  readonly onProgress?: (line: string) => void;
}

/** Building the Temporal CLI may be in what the other one does. */
const OTHER_COMMAND_TIMEOUT_MS = 15 * 60_000;

/** Held while anything of the stack is changed. */
export function lockStack(home: StackHome, onProgress: (line: string) => void): Promise<FileLock> {
  mkdirSync(home.root, { recursive: true, mode: 0o700 });
  return acquireLock(home.lockFile, {
    timeoutMs: OTHER_COMMAND_TIMEOUT_MS,
    onWait: (holder) => onProgress(`Waiting for process ${holder.pid}, which is changing this stack`),
  });
}
