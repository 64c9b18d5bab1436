import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { programArguments } from '../built.js';
import type { Ended } from './command-line.js';

/** A process of jobctl whose output is read while it goes on. */
export interface Started {
  readonly child: ChildProcess;
  readonly out: { stdout: string; stderr: string };
}

/** As `jobctl` of command-line.ts. */
export function started(args: readonly string[], env: Readonly<Record<string, string>>): Started {
  const child = spawn(process.execPath, [...programArguments('cli/main'), ...args], {
    env: { PATH: process.env['PATH'] ?? '', LANG: 'C.UTF-8', JOBCTL_HOME: '/nonexistent/jobctl', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const out = { stdout: '', stderr: '' };
  child.stdout?.on('data', (chunk: Buffer) => (out.stdout += chunk.toString()));
  child.stderr?.on('data', (chunk: Buffer) => (out.stderr += chunk.toString()));
  return { child, out };
}

export async function ended({ child, out }: Started): Promise<Ended> {
  if (child.exitCode === null && child.signalCode === null) await once(child, 'close');
  return { exitCode: child.exitCode, ...out };
}
