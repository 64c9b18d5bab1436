import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { BastionInput, BastionVerdict } from './bastion.js';

export interface PythonPass {
  /** CPU time of each round, measured inside Python. */
  readonly ms: readonly number[];
  readonly verdicts: readonly BastionVerdict[];
}

export interface PythonOptions {
  readonly rounds?: number;
  /** Bastion uses `PriorityQueue`; `heapq` gives the same order without locks. */
  readonly queue?: 'PriorityQueue' | 'heapq';
}

const SCRIPT = fileURLToPath(new URL('./bastion.py', import.meta.url));
const MOST_OUTPUT = 256 * 1024 * 1024;

/** Runs bastion.py once over all of these pools. @throws Error if there is no python3 */
export function bastionPython(
  pools: readonly BastionInput[],
  { rounds = 1, queue = 'PriorityQueue' }: PythonOptions = {},
): PythonPass[] {
  const directory = mkdtempSync(join(tmpdir(), 'jobctl-bastion-'));
  try {
    const input = join(directory, 'pools.jsonl');
    writeFileSync(input, pools.map((pool) => `${JSON.stringify(pool)}\n`).join(''));
    const args = [SCRIPT, input, '--rounds', String(rounds), '--queue', queue];
    const output = execFileSync('python3', args, { encoding: 'utf8', maxBuffer: MOST_OUTPUT });
    return output
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as PythonPass);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}
