import { execFile } from 'node:child_process';
import { performance } from 'node:perf_hooks';
import { promisify } from 'node:util';
import { JOBCTL } from '../start/local-stack.js';
import { median } from '../start/statistics.js';
import type { LoadStack } from './load-stack.js';

const ROUNDS = 5;

/** Medians in milliseconds. */
export interface ListTimes {
  /** Wall time of a `jobctl list` process. */
  readonly processMs: number;
  /** Time of the same list and counts, read by a connected client. */
  readonly callMs: number;
  /** Wall time of `node -e 0`: the cost of any Node process on this machine at this moment. */
  readonly bareNodeMs: number;
}

/** Measures the first page and the counts, five times in turn after a warm-up. */
export async function listTimes({ env, jobs }: LoadStack): Promise<ListTimes> {
  const times = { list: [] as number[], call: [] as number[], node: [] as number[] };
  for (let round = 0; round <= ROUNDS; round++) {
    const list = await wall(() => promisify(execFile)(process.execPath, [JOBCTL, 'list'], { env, maxBuffer: 1 << 24 }));
    const call = await wall(() => jobs.list());
    const node = await wall(() => promisify(execFile)(process.execPath, ['-e', '0']));
    if (round === 0) continue;
    times.list.push(list);
    times.call.push(call);
    times.node.push(node);
  }
  return { processMs: median(times.list), callMs: median(times.call), bareNodeMs: median(times.node) };
}

async function wall(act: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await act();
  return performance.now() - start;
}
