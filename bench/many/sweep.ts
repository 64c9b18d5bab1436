import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { processCost } from '../cli/process-cost.js';
import { untilPoolKnows } from '../load/full-pool.js';
import type { LoadStack } from '../load/load-stack.js';
import { JOBCTL } from '../start/local-stack.js';

const JOB = `tpu: { accelerator: v5litepod-8, zone: us-central1-a, allocation_mode: queued-resources, pricing: spot }
command: { run: 'echo $SEED' }
`;
export const SWEEP = 'sweep';
/** Of each list, after one that warms up. */
const ROUNDS = 7;

/** Milliseconds of one way to submit `jobs` jobs to a full pool. */
export interface Submitted {
  readonly jobs: number;
  /** Until the last process of `jobctl submit` has ended. */
  readonly returnedMs: number;
  /** Until the pool counts the last job among those that wait. It is looked at every 3 s. */
  readonly queuedMs: number;
}

/** One `submit` of an array of `members` members. @param before how many jobs wait in the pool already */
export async function submitSweep(
  stack: LoadStack,
  folder: string,
  members: number,
  before: number,
): Promise<Submitted> {
  const file = join(folder, 'sweep.yaml');
  writeFileSync(file, `${JOB}env: { SEED: '\${array.seed}' }\narray: { matrix: { seed: 1..${members} } }\n`);
  return submitted(stack, members, before, async () => jobctl(stack, 'submit', file, '--name', SWEEP));
}

/** What people write without arrays: a loop of the shell with one `submit` a job. */
export async function submitInLoop(stack: LoadStack, folder: string, jobs: number, before: number): Promise<Submitted> {
  const file = join(folder, 'job.yaml');
  writeFileSync(file, JOB);
  const loop = `for seed in $(seq ${jobs}); do "$0" "$1" submit "$2" --name loop-$seed --set env.SEED=$seed || exit; done`;
  const words = ['-c', loop, process.execPath, JOBCTL, file];
  return submitted(stack, jobs, before, async () => promisify(execFile)('bash', words, { env: stack.env }));
}

async function submitted(
  stack: LoadStack,
  jobs: number,
  before: number,
  submit: () => Promise<unknown>,
): Promise<Submitted> {
  const began = performance.now();
  const isQueued = async (): Promise<number> => {
    await untilPoolKnows(stack, before + jobs);
    return performance.now() - began;
  };
  await submit();
  const returnedMs = performance.now() - began;
  return { jobs, returnedMs, queuedMs: await isQueued() };
}

/** Wall times of one process each, in turn. */
export async function listsOfGroup(stack: LoadStack): Promise<Readonly<Record<string, readonly number[]>>> {
  const ways: Readonly<Record<string, readonly string[]>> = {
    'node -e 0': ['-e', '0'],
    'list --group': [JOBCTL, 'list', '--group', SWEEP],
    list: [JOBCTL, 'list'],
    'status GROUP': [JOBCTL, 'status', SWEEP],
  };
  const times: Record<string, number[]> = Object.fromEntries(Object.keys(ways).map((name) => [name, []]));
  for (let round = 0; round <= ROUNDS; round++)
    for (const [name, words] of Object.entries(ways)) {
      const { wallMs } = await processCost([process.execPath, ...words], stack.env);
      // The first round warms the file cache.
      if (round > 0) times[name]?.push(wallMs);
    }
  return times;
}

/**
 * Verbs on the whole sweep, in the order in which they can be called: the milliseconds of each until its last member has answered
 * or, for a cancel, has ended.
 */
export function actsOnSweep(stack: LoadStack): Readonly<Record<string, () => Promise<number>>> {
  const timed = async (...words: readonly string[]): Promise<number> => {
    const began = performance.now();
    await jobctl(stack, ...words);
    // A stop or resume says after a minute how far it is, and goes on.
    await untilAsked(stack);
    return performance.now() - began;
  };
  return {
    'set-priority': () => timed('quota', 'set-priority', SWEEP, '2'),
    stop: () => timed('stop', SWEEP),
    resume: () => timed('resume', SWEEP),
    cancel: async () => {
      const began = performance.now();
      await jobctl(stack, 'cancel', SWEEP);
      await jobctl(stack, 'wait', SWEEP).catch(() => undefined);
      return performance.now() - began;
    },
  };
}

async function untilAsked({ jobs }: LoadStack): Promise<void> {
  while (((await jobs.describeGroup(SWEEP)).stopRound?.left ?? 0) > 0) await sleep(500);
}

async function jobctl({ env }: LoadStack, ...words: readonly string[]): Promise<void> {
  await promisify(execFile)(process.execPath, [JOBCTL, ...words], { env, maxBuffer: 1 << 26 });
}
