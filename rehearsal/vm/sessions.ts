import type { ChildProcess } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { makeFolderSync } from '../folders.js';
import type { Machine } from './machine.js';
import { identityOf, isAlive } from './processes.js';

/**
 * The running sessions of a VM, on disk: after a rehearsal process was killed, the next one hangs up the sessions of its
 * connections. Daemons (setsid) are in no session and go on.
 */
export interface SessionLedger {
  open(child: ChildProcess): void;
  close(child: ChildProcess): void;
  /** Sends SIGHUP to every session left by an earlier process. */
  hangUpOrphans(machine: Machine): void;
}

export function sessionLedger(folder: string): SessionLedger {
  return {
    open(child) {
      const identity = identityOf(child.pid ?? -1);
      makeFolderSync(folder);
      if (identity !== undefined) writeFileSync(join(folder, String(identity.pid)), identity.startTicks);
    },
    close(child) {
      rmSync(join(folder, String(child.pid)), { force: true });
    },
    hangUpOrphans(machine) {
      if (!existsSync(folder)) return;
      for (const entry of readdirSync(folder)) {
        const file = join(folder, entry);
        const orphan = { pid: Number(entry), startTicks: existsSync(file) ? readFileSync(file, 'utf8') : '' };
        if (isAlive(orphan)) machine.signalGroup(orphan.pid, 'SIGHUP');
        rmSync(file, { force: true });
      }
    },
  };
}
