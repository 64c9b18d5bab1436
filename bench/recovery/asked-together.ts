import { MockActivityEnvironment } from '@temporalio/testing';
import { setTimeout as sleep } from 'node:timers/promises';
import { deleteUntilGone } from '../../activities/giving-back.js';
import { awaitSlice } from '../../activities/slice.js';
import { RehearsalAdmin } from '../../cli/local/rehearsal/rehearsal-admin.js';
import { createCloudTpu, DEFAULT_API_SETTINGS } from '../../cloud/machines/cloud-tpu/google-tpu.js';
import type { Machines } from '../../cloud/machines/port.js';
import type { CloudTpuPlan } from '../../domain/machine-kinds/cloud-tpu/words.js';
import { DEFAULT_TIMINGS } from '../../domain/timings.js';
import { ownership, slicePlan } from '../../test/cloud/cloud-tpu-plan.js';
import { type BenchRehearsal, startBenchRehearsal } from '../rehearsal/rehearsal-process.js';
import { endpointOf } from './api-calls.js';
import { CloudJournal } from './cloud-journal.js';
import { CLOUD, ZONES } from './kinds.js';

/** Number of API calls by method. */
export type Calls = ReadonlyMap<string, number>;

export interface DeletionFigures {
  readonly slices: number;
  readonly seconds: number;
  readonly calls: Calls;
}

export interface WaitingFigures {
  readonly jobs: number;
  /** Time over which calls were counted while all jobs waited. */
  readonly seconds: number;
  readonly calls: Calls;
  /** Calls while each job gave up its request in one zone and asked in the third. */
  readonly moving: Calls;
}

const DELETED = [1, 10, 100];
/** Length of a deletion. Google's take minutes. */
const DELETING_MS = 30_000;
const WAITING = [1, 10, 100];
/** Thirty periods of a zone's listing while something waits in it. */
const COUNTED_MS = 60_000;
/** In its first seconds a request is looked up by name; those calls are not counted. */
const SETTLE_MS = 15_000;
const THREE = ZONES.slice(0, 3);

/** Counts API calls of simultaneous deletions, each by the activity of its own workflow, over one worker's adapter. */
export function deletionFigures(tell: (step: string) => void): Promise<readonly DeletionFigures[]> {
  return withCloud({ ...CLOUD, deletingMs: DELETING_MS }, async (cloud) => {
    const figures: DeletionFigures[] = [];
    for (const slices of DELETED) {
      tell(`${slices} deletions`);
      const plans = Array.from({ length: slices }, (_, index) => planOf(`d${slices}-${index}`, ZONES[0]));
      await cloud.make(plans);
      const from = performance.now();
      const calls = await cloud.counted(async (machines) => {
        await Promise.all(plans.map((plan) => gone(machines, plan)));
      });
      figures.push({ slices, seconds: (performance.now() - from) / 1000, calls });
    }
    return figures;
  });
}

/** Counts API calls of jobs that wait for chips in two of three zones (`tpu.hedge: 2`). The pool is left out: it calls no API. */
export function waitingFigures(tell: (step: string) => void): Promise<readonly WaitingFigures[]> {
  const none = Object.fromEntries(THREE.map((zone) => [`${zone}/v5litepod`, 0]));
  return withCloud({ ...CLOUD, capacity: none }, async (cloud) => {
    const figures: WaitingFigures[] = [];
    for (const jobs of WAITING) {
      tell(`${jobs} jobs that wait`);
      const names = Array.from({ length: jobs }, (_, index) => `w${jobs}-${index}`);
      const zoneOf = (index: number, at: number): string => THREE[(index + at) % THREE.length] as string;
      const requests = names.map((name, index) => [0, 1, 2].map((at) => planOf(`${name}-${at}`, zoneOf(index, at))));
      await cloud.make(requests.flatMap((plans) => plans.slice(0, 2)));
      let watches: Watch[] = [];
      let moving: Calls = new Map();
      let calls: Calls = new Map();
      await cloud.counted(async (machines) => {
        watches = requests.map(([first, second]) => [watch(machines, first), watch(machines, second)]).flat();
        await sleep(SETTLE_MS);
        calls = await cloud.during(() => sleep(COUNTED_MS));
        moving = await cloud.during(async () => {
          await Promise.all(
            requests.map(async ([first, , third], index) => {
              watches[2 * index]?.end();
              const answer = await machines.create(third as CloudTpuPlan);
              if (answer.kind !== 'accepted') throw new Error(JSON.stringify(answer));
              watches.push(watch(machines, third));
              await gone(machines, first as CloudTpuPlan);
            }),
          );
        });
        for (const each of watches) each.end();
      });
      figures.push({ jobs, seconds: COUNTED_MS / 1000, calls, moving });
    }
    return figures;
  });
}

interface Watch {
  end(): void;
}

/** Waits for the slice as its workflow does. @throws Error if the wait ends by itself */
function watch(machines: Machines<'cloud-tpu'>, plan: CloudTpuPlan | undefined): Watch {
  const environment = new MockActivityEnvironment();
  let isOver = false;
  const { ref, ownership: own } = plan as CloudTpuPlan;
  const input = { ref, ownership: own, timings: DEFAULT_TIMINGS };
  environment
    .run(() => awaitSlice(machines as Machines, input))
    .then(
      (condition) => {
        throw new Error(`${ref.name}: ${JSON.stringify(condition)}`);
      },
      (error: unknown) => {
        if (!isOver) throw error;
      },
    );
  return {
    end: () => {
      isOver = true;
      environment.cancel();
    },
  };
}

const gone = (machines: Machines<'cloud-tpu'>, { ref, ownership: owner }: CloudTpuPlan): Promise<void> =>
  new MockActivityEnvironment().run(() =>
    deleteUntilGone(machines as Machines, { ref, owner, notBefore: 0, timings: DEFAULT_TIMINGS }),
  );

interface Cloud {
  make(plans: readonly CloudTpuPlan[]): Promise<void>;
  /** Counts calls of an adapter with the budget and the periods of production. */
  counted(use: (machines: Machines<'cloud-tpu'>) => Promise<void>): Promise<Calls>;
  during(use: () => Promise<unknown>): Promise<Calls>;
}

async function withCloud<T>(settings: object, use: (cloud: Cloud) => Promise<T>): Promise<T> {
  const rehearsal = await startBenchRehearsal(settings);
  try {
    return await use(cloudOf(rehearsal));
  } finally {
    await rehearsal.stop();
  }
}

function cloudOf({ endpoints }: BenchRehearsal): Cloud {
  const journal = new CloudJournal(new RehearsalAdmin(endpoints.admin));
  const endpoint = endpointOf(endpoints.tpu);
  const during = async (use: () => Promise<unknown>): Promise<Calls> => {
    await journal.read();
    const before = new Map(journal.calls);
    await use();
    await journal.read();
    const calls = [...journal.calls].map(([method, n]) => [method, n - (before.get(method) ?? 0)] as const);
    return new Map(calls.filter(([, n]) => n > 0));
  };
  return {
    during,
    make: async (plans) => {
      const machines = createCloudTpu({ endpoint, budget: { callsPerSecond: 1_000, burst: 100 } });
      try {
        for (const plan of plans) {
          const answer = await machines.create(plan);
          if (answer.kind !== 'accepted') throw new Error(JSON.stringify(answer));
        }
        await sleep(SETTLED_MS);
      } finally {
        await machines.close();
      }
    },
    counted: async (count) => {
      const machines = createCloudTpu({ endpoint, ...DEFAULT_API_SETTINGS });
      try {
        return await during(() => count(machines));
      } finally {
        await machines.close();
      }
    },
  };
}

/** Time until a request of the rehearsed cloud is ready or waiting. */
const SETTLED_MS = 2_000;

const planOf = (name: string, zone: string): CloudTpuPlan => {
  const plan = slicePlan(`jc-${name}-g1`, 'queued-resources', {
    ownership: ownership({ job: name }),
    accelerator: 'v5litepod-4',
  });
  return { ...plan, ref: { ...plan.ref, zone } };
};
