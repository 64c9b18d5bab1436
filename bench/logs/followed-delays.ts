import { execFile, spawn } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { JOBCTL } from '../start/local-stack.js';

/** A line that its host printed at `printed`, in ms of this computer's clock, and that arrived `late` ms later. */
export interface Delay {
  readonly printed: number;
  readonly late: number;
}

/** A shell command that prints the time twice a second. */
export const clockFor = (seconds: number): string =>
  `end=$(( $(date +%s) + ${seconds} )); while [ $(date +%s) -lt $end ]; do date +%s%3N; sleep 0.5; done`;

const jobFile = (seconds: number): string => `name: late
tpu: {allocation_mode: queued-resources, accelerator: v5litepod-8, zone: us-central1-a, pricing: spot}
command: {run: '${clockFor(seconds)}'}
`;

/** Submits a job that prints the time for so long, and follows its log to the end, on the stack of `env`. */
export async function followedDelays(env: NodeJS.ProcessEnv, seconds: number): Promise<readonly Delay[]> {
  const file = join(tmpdir(), `jobctl-bench-logs-${process.pid}.yaml`);
  writeFileSync(file, jobFile(seconds));
  try {
    await promisify(execFile)(process.execPath, [JOBCTL, 'submit', '--name', 'late', file], { env });
  } finally {
    rmSync(file);
  }
  return delaysOf([process.execPath, JOBCTL, 'logs', 'late', '--follow'], env);
}

/** Delays of the times that a program's output shows, until it ends. */
export async function delaysOf(
  [program = '', ...args]: readonly string[],
  env: NodeJS.ProcessEnv = process.env,
): Promise<readonly Delay[]> {
  const child = spawn(program, args, { env, stdio: ['ignore', 'pipe', 'ignore'] });
  const failed = new Promise<never>((_, reject) => child.once('error', reject));
  return Promise.race([failed, read(child.stdout)]);
}

async function read(output: NodeJS.ReadableStream): Promise<readonly Delay[]> {
  const seen: Delay[] = [];
  for await (const line of createInterface({ input: output })) {
    const printed = Number(/\d{13}/.exec(line)?.[0]);
    if (!Number.isNaN(printed)) seen.push({ printed, late: Date.now() - printed });
  }
  return seen;
}
