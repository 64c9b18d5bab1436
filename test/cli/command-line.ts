import { spawn } from 'node:child_process';
import { explainError } from '../../client/cli/explain-error.js';
import { runProgram } from '../../client/cli/program.js';
import { programArguments } from '../built.js';

export interface Ended {
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** A real process of jobctl. `env` stands alone beside PATH: nothing of the developer's own stack reaches it. */
export function jobctl(args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<Ended> {
  const child = spawn(process.execPath, [...programArguments('client/cli/main'), ...args], {
    env: { PATH: process.env['PATH'] ?? '', LANG: 'C.UTF-8', JOBCTL_HOME: '/nonexistent/jobctl', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const stdout: Buffer[] = [];
  const stderr: Buffer[] = [];
  child.stdout.on('data', (chunk: Buffer) => stdout.push(chunk));
  child.stderr.on('data', (chunk: Buffer) => stderr.push(chunk));
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (exitCode) =>
      resolve({ exitCode, stdout: Buffer.concat(stdout).toString(), stderr: Buffer.concat(stderr).toString() }),
    );
  });
}

/** The same in this process, for command lines that are refused: what main.ts would print, and exit with. */
export async function refusalOf(
  args: readonly string[],
): Promise<{ readonly exitCode: number; readonly text: string }> {
  try {
    return { exitCode: await runProgram(args), text: '' };
  } catch (error) {
    return explainError(error, false);
  }
}
