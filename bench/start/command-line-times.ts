import { execFile } from 'node:child_process';
import { performance } from 'node:perf_hooks';
import { promisify } from 'node:util';
import { JOBCTL, withLocalStack } from './local-stack.js';

const ROUNDS = 15;

/** Wall times of whole processes in ms, with the three commands in turn. */
export async function commandLineTimes(): Promise<{ node: number[]; help: number[]; list: number[] }> {
  return withLocalStack(async (env) => {
    const times = { node: [] as number[], help: [] as number[], list: [] as number[] };
    for (let round = 0; round <= ROUNDS; round++) {
      const node = await wall([process.execPath, '-e', '0'], env);
      const help = await wall([process.execPath, JOBCTL, '--help'], env);
      const list = await wall([process.execPath, JOBCTL, 'list'], env);
      // The first round warms the file cache.
      if (round === 0) continue;
      times.node.push(node);
      times.help.push(help);
      times.list.push(list);
    }
    return times;
  });
}

/** From the start of a program to its end. @throws Error if its exit code is not 0 */
export async function wall([program = '', ...args]: readonly string[], env: NodeJS.ProcessEnv): Promise<number> {
  const start = performance.now();
  await promisify(execFile)(program, args, { env });
  return performance.now() - start;
}
