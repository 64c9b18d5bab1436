import { mkdirSync } from 'node:fs';
import { acquireLock } from '../../place/stack/file-lock.js';
import type { FileLock } from '../../place/stack/file-lock.js';
import type { Environment, StackHome } from '../../terminal/home.js';

export interface DevOptions {
  /** Names the state folder (JOBCTL_HOME) and the Temporal CLI; passed on to started processes. */
  readonly env?: Environment;
  /** One line for a person. */
  readonly onProgress?: (line: string) => void;
}

/** The other command may be building the Temporal CLI. */
const OTHER_COMMAND_TIMEOUT_MS = 15 * 60_000;

/** Takes the lock that is held while the stack is changed. */
export function lockStack(home: StackHome, onProgress: (line: string) => void): Promise<FileLock> {
  mkdirSync(home.root, { recursive: true, mode: 0o700 });
  return acquireLock(home.lockFile, {
    timeoutMs: OTHER_COMMAND_TIMEOUT_MS,
    onWait: (holder) => onProgress(`Waiting for process ${holder.pid}, which is changing this stack`),
  });
}
