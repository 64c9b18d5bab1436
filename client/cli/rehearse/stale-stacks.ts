import { readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { devDown } from '../dev/down.js';
import { isAlive, ownIdentity } from '../dev/process-identity.js';
import type { ProcessIdentity } from '../dev/process-identity.js';
import { readJson, writeJson } from '../dev/stack-record.js';

/** Of folders in the temp folder. */
export const STACK_PREFIX = 'jobctl-rehearse-';

const ownerFile = (home: string): string => join(home, 'rehearse.json');

/** Writes down that this process removes the stack in `home`. */
export function own(home: string): void {
  writeJson(ownerFile(home), ownIdentity());
}

/** From now on nobody removes it but the user. */
export function disown(home: string): void {
  rmSync(ownerFile(home), { force: true });
}

/** Ends a stack and takes its folder away. Repeating is safe. */
export async function removeStack(home: string, env: NodeJS.ProcessEnv): Promise<void> {
  await devDown({ env: { ...env, JOBCTL_HOME: home }, purge: true });
  rmSync(home, { recursive: true, force: true, maxRetries: 3 });
}

/** Removes the stacks of rehearsals that were killed before they could (SIGKILL, a computer's restart). */
export async function removeStale(env: NodeJS.ProcessEnv, onProgress: (line: string) => void): Promise<void> {
  for (const home of foldersOfOurs()) {
    try {
      const owner = readJson(ownerFile(home)) as ProcessIdentity | undefined;
      if (owner === undefined || isAlive(owner)) continue;
      onProgress(`Removing the stack of a rehearsal that was killed: ${home}`);
      await removeStack(home, env);
    } catch (error) {
      onProgress(`${home}: cannot be removed: ${(error as Error).message}`);
    }
  }
}

function foldersOfOurs(): readonly string[] {
  const uid = process.getuid?.();
  const folders = readdirSync(tmpdir())
    .filter((name) => name.startsWith(STACK_PREFIX))
    .map((name) => join(tmpdir(), name));
  return folders.filter((folder) => statSync(folder, { throwIfNoEntry: false })?.uid === uid);
}
