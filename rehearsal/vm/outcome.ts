import type { ChildProcess } from 'node:child_process';

export interface Outcome {
  /** Of the process; null if a signal ended it. */
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Lets a process that needs no input run to its end. @param input on its stdin. */
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
