import { spawn } from 'node:child_process';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { createInterface } from 'node:readline';
import { JOBCTL, withLocalStack } from './local-stack.js';

const ROUNDS = 5;
const JOB = `name: first-line
tpu: {allocation_mode: queued-resources, accelerator: v5litepod-16, zone: us-central1-a, pricing: spot}
command: {run: 'echo "from host $JOBCTL_HOST_INDEX"'}
`;

/** Milliseconds from the start of `jobctl submit --wait` to the first line that a host printed, on a stack that is up. */
export async function firstOutputTimes(): Promise<number[]> {
  const file = firstOutputFile();
  return withLocalStack(async (env) => {
    await firstOutput(file, env);
    const times: number[] = [];
    for (let round = 0; round < ROUNDS; round++) times.push(await firstOutput(file, env));
    return times;
  });
}

/** Writes the job file into a new folder of the system's temporary folder. @returns its path */
export function firstOutputFile(): string {
  const file = join(mkdtempSync(join(tmpdir(), 'jobctl-bench-job-')), 'job.yaml');
  writeFileSync(file, JOB);
  return file;
}

export async function firstOutput(file: string, env: NodeJS.ProcessEnv): Promise<number> {
  const start = performance.now();
  const child = spawn(process.execPath, [JOBCTL, 'submit', '--wait', file], {
    env,
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  let first: number | undefined;
  for await (const line of createInterface({ input: child.stdout })) {
    if (first === undefined && line.includes('from host')) first = performance.now() - start;
  }
  if (first === undefined) throw new Error(`${file}: the job printed nothing`);
  return first;
}
