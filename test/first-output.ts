import type { ChildProcess } from 'node:child_process';

/** @returns the first output of a command @throws if it ends without any: a wait for it would last until the test's end */
export function firstOutput(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    let errors = '';
    child.stderr?.on('data', (chunk: Buffer) => (errors += chunk.toString()));
    child.stdout?.once('data', (chunk: Buffer) => resolve(chunk.toString()));
    child.once('close', (code, signal) => reject(new Error(`ended with ${code ?? signal}, without output: ${errors}`)));
  });
}
