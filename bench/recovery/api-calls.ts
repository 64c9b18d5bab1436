import { setMaxListeners } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { MockActivityEnvironment } from '@temporalio/testing';
import { SliceGuard } from '../../activities/attempt/slice-guard.js';
import { RehearsalAdmin } from '../../cli/local/rehearsal/rehearsal-admin.js';
import { createCloudTpu, DEFAULT_API_SETTINGS } from '../../cloud/machines/cloud-tpu/google-tpu.js';
import type { Machines } from '../../cloud/machines/port.js';
import type { ReadySlice } from '../../contract/job-activities.js';
import type { CloudTpuPlan } from '../../domain/machine-kinds/cloud-tpu/words.js';
import { DEFAULT_TIMINGS } from '../../domain/timings.js';
import { ownership, slicePlan } from '../../test/cloud/cloud-tpu-plan.js';
import { until } from '../../test/until.js';
import { type BenchRehearsal, startBenchRehearsal } from '../rehearsal/rehearsal-process.js';
import { CloudJournal } from './cloud-journal.js';
import { CLOUD } from './kinds.js';

export interface ApiFigures {
  readonly jobs: number;
  /** Time over which calls were counted. */
  readonly seconds: number;
  /** Number of calls by method. */
  readonly calls: ReadonlyMap<string, number>;
}

const JOBS = [1, 100, 1_000];
/** Twelve periods of a quiet zone's listing. */
const COUNTED_MS = 120_000;
const SETTLE_MS = 15_000;
const CREATES_AT_ONCE = 20;

/**
 * Counts API calls of running jobs. The slices exist in the rehearsed cloud. Each is watched by the guard that a worker has for a
 * running job, with the adapter, the periods and the budget of production. Workflows and SSH are left out: they call no API while
 * a job runs.
 */
export async function apiFigures(tell: (step: string) => void): Promise<readonly ApiFigures[]> {
  const rehearsal = await startBenchRehearsal({ ...CLOUD });
  try {
    const figures: ApiFigures[] = [];
    for (const jobs of JOBS) {
      tell(`${jobs} jobs`);
      await create(rehearsal, figures.at(-1)?.jobs ?? 0, jobs);
      figures.push(await count(rehearsal, jobs));
    }
    return figures;
  } finally {
    await rehearsal.stop();
  }
}

async function create({ endpoints }: BenchRehearsal, from: number, to: number): Promise<void> {
  const machines = createCloudTpu({
    endpoint: endpointOf(endpoints.tpu),
    budget: { callsPerSecond: 1_000, burst: 100 },
  });
  try {
    for (let first = from; first < to; first += CREATES_AT_ONCE) {
      const some = Array.from({ length: Math.min(CREATES_AT_ONCE, to - first) }, (_, index) => planOf(first + index));
      const answers = await Promise.all(some.map((plan) => machines.create(plan)));
      const refused = answers.find(({ kind }) => kind !== 'accepted');
      if (refused) throw new Error(`a slice was not created: ${JSON.stringify(refused)}`);
    }
    const last = planOf(to - 1);
    await until('the last slice is ready', async () => (await machines.observe(last)).kind === 'ready', 60_000);
  } finally {
    await machines.close();
  }
}

async function count({ endpoints }: BenchRehearsal, jobs: number): Promise<ApiFigures> {
  const journal = new CloudJournal(new RehearsalAdmin(endpoints.admin));
  const machines = createCloudTpu({ endpoint: endpointOf(endpoints.tpu), ...DEFAULT_API_SETTINGS });
  const end = new AbortController();
  setMaxListeners(0, end.signal);
  try {
    return await new MockActivityEnvironment().run(async () => {
      for (let index = 0; index < jobs; index++) watch(machines, index, end.signal);
      // A guard that started after the first listing began takes part from the next listing on.
      await sleep(SETTLE_MS);
      await journal.read();
      const before = new Map(journal.calls);
      await sleep(COUNTED_MS);
      await journal.read();
      const calls = [...journal.calls].map(([method, n]) => [method, n - (before.get(method) ?? 0)] as const);
      return { jobs, seconds: COUNTED_MS / 1000, calls: new Map(calls.filter(([, n]) => n > 0)) };
    });
  } finally {
    end.abort();
    await machines.close();
  }
}

/** @throws Error if a slice is taken for lost: then the count is not of running jobs */
function watch(machines: Machines<'cloud-tpu'>, index: number, signal: AbortSignal): void {
  const slice: ReadySlice = { index: 0, ...planOf(index), uid: '', hosts: [] };
  const guard = new SliceGuard(() => machines, [slice], DEFAULT_TIMINGS.notFoundApartMs, signal);
  void guard.lost.then((lost) => {
    throw new Error(`a slice that runs was taken for lost: ${JSON.stringify(lost)}`);
  });
}

export function endpointOf(address: string) {
  const [host = '', port] = address.split(':');
  return { host, port: Number(port), insecure: true } as const;
}

const planOf = (index: number): CloudTpuPlan =>
  slicePlan(`jc-job-${index}-g1`, 'queued-resources', {
    ownership: ownership({ job: `job-${index}` }),
    accelerator: 'v5litepod-4',
  });
