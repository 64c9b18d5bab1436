import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import type { UserKey } from './scratch.js';

export interface SshPlace {
  readonly address: string;
  readonly port: number;
  readonly key: UserKey;
  readonly user?: string;
}

export interface SshResult {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Starts OpenSSH's own client. */
export function startSsh(place: SshPlace, command: string, options: readonly string[] = []): ChildProcess {
  const fixed = [
    'StrictHostKeyChecking=no',
    'UserKnownHostsFile=/dev/null',
    'LogLevel=ERROR',
    'ConnectTimeout=60',
    'BatchMode=yes',
  ];
  const flags = [
    '-F',
    '/dev/null',
    '-i',
    place.key.privateFile,
    '-p',
    String(place.port),
    ...fixed.flatMap((flag) => ['-o', flag]),
  ];
  const target = `${place.user ?? 'alice'}@${place.address}`;
  // The first value of an option counts.
  return spawn('ssh', [...options, ...flags, target, command], { stdio: ['pipe', 'pipe', 'pipe'] });
}

/** Runs a command to its end. 255 is ssh's own failure. */
export async function ssh(
  place: SshPlace,
  command: string,
  options: readonly string[] = [],
  input = '',
): Promise<SshResult> {
  const child = startSsh(place, command, options);
  let [stdout, stderr] = ['', ''];
  child.stdout?.on('data', (chunk: Buffer) => (stdout += chunk.toString()));
  child.stderr?.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
  // It may have ended before: its code tells.
  child.stdin?.on('error', () => undefined).end(input);
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve));
  return { code, stdout, stderr };
}
