import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { makeFolderSync } from './folders.js';
import type { ProcessIdentity } from './vm/processes.js';
import { identityOf, isAlive } from './vm/processes.js';

/**
 * Takes a state folder for this process.
 * @throws Error if another live process has it: both would boot the same VMs
 * @returns a function that releases the folder
 */
export function lockStateDir(stateDir: string): () => void {
  makeFolderSync(stateDir, 0o700);
  const file = join(stateDir, 'owner.json');
  const owner = existsSync(file) ? readOwner(file) : undefined;
  if (owner !== undefined && isAlive(owner)) {
    throw new Error(`state folder ${stateDir} is in use by the rehearsal with pid ${owner.pid}; stop that one first`);
  }
  writeFileSync(file, JSON.stringify(identityOf(process.pid) ?? {}));
  return () => rmSync(file, { force: true });
}

function readOwner(file: string): ProcessIdentity | undefined {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as ProcessIdentity;
  } catch {
    return undefined;
  }
}
