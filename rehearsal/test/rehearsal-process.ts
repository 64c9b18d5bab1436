import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import type { RehearsalEndpoints } from '../index.js';
import { programArguments } from '../../test/built.js';
import { firstOutput } from '../../test/first-output.js';
import { SUBNET_OCTET } from './scratch.js';

export interface RehearsalProcess {
  readonly child: ChildProcess;
  readonly endpoints: RehearsalEndpoints;
  /** Resolves when the process has ended. */
  end(signal: 'SIGTERM' | 'SIGKILL'): Promise<number | null>;
}

export interface EndedProcess {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Starts rehearsal/main.ts as users' stacks do, in a process of its own; ready when it has printed its endpoints. Without `more` its tests need no token. */
export async function startRehearsalProcess(
  stateDir: string,
  sshPort: number,
  more: readonly string[] = ['--callers', 'login'],
): Promise<RehearsalProcess> {
  const child = spawnMain([
    '--state-dir',
    stateDir,
    '--ssh-port',
    String(sshPort),
    '--subnet-octet',
    String(SUBNET_OCTET),
    ...more,
  ]);
  const line = await firstOutput(child);
  return {
    child,
    endpoints: JSON.parse(line) as RehearsalEndpoints,
    async end(signal) {
      const ended = new Promise<number | null>((resolve) => child.once('exit', resolve));
      child.kill(signal);
      return ended;
    },
  };
}

/** Runs it to its end: for starts that fail. */
export async function runRehearsalProcess(args: readonly string[]): Promise<EndedProcess> {
  const child = spawnMain(args);
  let [stdout, stderr] = ['', ''];
  child.stdout?.on('data', (chunk: Buffer) => (stdout += chunk.toString()));
  child.stderr?.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve));
  return { code, stdout, stderr };
}

function spawnMain(args: readonly string[]): ChildProcess {
  return spawn(process.execPath, [...programArguments('rehearsal/main'), ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
}
