import { type ChildProcess, fork } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { PartName } from './parts.js';
import type { Measured } from './table.js';

const PART = fileURLToPath(new URL('./part.ts', import.meta.url));
const LEAVE_MS = 20_000;
const SWEEPS = 50;

/** A message of a part's process: rows, or why there are none. */
export type PartAnswer = { readonly rows: readonly Measured[] } | { readonly error: string };

/**
 * Runs one part in a process of its own, so that no part measures code that another one warmed, or shares its failures. On abort
 * the process is told to leave.
 */
export async function inOwnProcess(
  part: PartName,
  env: NodeJS.ProcessEnv,
  signal: AbortSignal,
): Promise<readonly Measured[]> {
  // Detached: Ctrl-C at a terminal reaches this process alone, which ends the part in order.
  const child = fork(PART, [part], { env, detached: true, stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
  const leave = (): void => endSoon(child);
  signal.addEventListener('abort', leave);
  try {
    const answer = await answerOf(child);
    if ('error' in answer) throw new Error(answer.error);
    return answer.rows;
  } finally {
    signal.removeEventListener('abort', leave);
  }
}

function answerOf(child: ChildProcess): Promise<PartAnswer> {
  let answer: PartAnswer | undefined;
  child.on('message', (message) => (answer = message as PartAnswer));
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code, by) =>
      answer === undefined ? reject(new Error(`its process ended with ${code ?? by}, see above`)) : resolve(answer),
    );
  });
}

function endSoon(child: ChildProcess): void {
  child.kill('SIGTERM');
  setTimeout(() => child.kill('SIGKILL'), LEAVE_MS).unref();
}

/** Kills every process whose environment or command line names the folder. Linux alone lists them. */
export async function endProcessesOf(folder: string): Promise<void> {
  for (let sweep = 0; sweep < SWEEPS; sweep++) {
    const found = processesOf(folder);
    if (found.length === 0) return;
    for (const pid of found) {
      try {
        process.kill(pid, 'SIGKILL');
      } catch {
        // It ended meanwhile.
      }
    }
    await pause(100);
  }
}

/** Other processes whose environment or command line names the folder. */
export function processesOf(folder: string): readonly number[] {
  let names: readonly string[] = [];
  try {
    names = readdirSync('/proc');
  } catch {
    return [];
  }
  return names
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => pid !== process.pid && ['environ', 'cmdline'].some((file) => namesIt(pid, file, folder)));
}

function namesIt(pid: number, file: string, folder: string): boolean {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'latin1').includes(folder);
  } catch {
    return false;
  }
}
