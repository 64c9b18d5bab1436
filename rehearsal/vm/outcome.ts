import type { ChildProcess } from 'node:child_process';

export interface Outcome {
  /** Exit code of the process; null if a signal ended it. */
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Waits for the end of a process that needs no further input. @param input written to its stdin */
export async function outcomeOf(child: ChildProcess, input = ''): Promise<Outcome> {
  let [stdout, stderr] = ['', ''];
  child.stdout?.on('data', (chunk: Buffer) => (stdout += chunk.toString()));
  child.stderr?.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
  child.stdin?.on('error', () => undefined).end(input);
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  return { code, stdout, stderr };
}
