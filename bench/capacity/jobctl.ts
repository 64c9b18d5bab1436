import type { AttemptEnd } from '../../contract/job-activities.js';
import { WorkflowType } from '../../contract/workflow-ids.js';
import type { MachineRef } from '../../domain/machines.js';
import type { Condition } from '../../domain/slice.js';
import type { Timings } from '../../domain/timings.js';
import { READY } from '../../test/virtual-clock/plain-activities.js';
import type { Sandboxes } from '../../test/virtual-clock/sandboxes.js';
import { virtualActivities, type VirtualCloud } from '../../test/virtual-clock/virtual-activities.js';
import { VirtualServer } from '../../test/virtual-clock/virtual-server.js';
import type { AskedJob, Zone } from './availability.js';
import type { Clock, Provider, Request, State } from './provider.js';
import { REMOVE_MS } from './rules.js';

const SECOND = 1000;
/** Delay of each activity and message, in place of a real server and worker. */
const DELAY_MS = 200;
/** Delay until a worker notices a new state: it looks at its slices every few seconds. */
const NOTICE_MS = 5 * SECOND;

export interface Manner {
  readonly zones: readonly Zone[];
  readonly hedge: number;
  readonly timings: Timings;
}

/**
 * Runs one job by jobctl's shipped workflows on a simulated provider, until the month ends.
 * @throws Error if the job ends before that
 */
export async function liveByJobctl(
  sandboxes: Sandboxes,
  { submitAt, number, accelerator }: AskedJob,
  { zones, hedge, timings }: Manner,
  month: { readonly endMs: number; readonly provider: (clock: Clock) => Provider },
): Promise<Provider> {
  const server = new VirtualServer(sandboxes, { startAt: MONTH + submitAt, delayMs: () => DELAY_MS });
  const provider = month.provider({
    get now() {
      return server.now - MONTH;
    },
    at: (time, what) => server.at(MONTH + time, what),
  });
  server.serve(virtualActivities(server, new ProviderCloud(server, provider), timings));
  const tpu = { accelerator, zones, hedge, allocation_mode: 'queued-resources', pricing: 'spot' };
  const job = { name: 'train', tpu, retries: { preemption: 10_000 }, command: { run: 'train' } };
  const ended = server.start(WorkflowType.Job, `job-${number}`, { v: 1, job });
  void ended.then(({ error }) => {
    throw new Error(`job ${number} has ended: ${error?.message}`, { cause: error });
  });
  await server.run(MONTH + month.endMs);
  return provider;
}
const MONTH = Date.UTC(2026, 10, 1);

class ProviderCloud implements VirtualCloud {
  readonly #server: VirtualServer;
  readonly #provider: Provider;
  readonly #requests = new Map<string, Request>();

  constructor(server: VirtualServer, provider: Provider) {
    this.#server = server;
    this.#provider = provider;
  }

  readonly create: VirtualCloud['create'] = async ({ ref }) => {
    await this.#server.sleep(SECOND);
    this.#requests.set(ref.name, this.#provider.ask(ref.zone as Zone));
    return { kind: 'accepted' };
  };

  readonly inspect: VirtualCloud['inspect'] = async () => ({ kind: 'waiting', detail: 'WAITING_FOR_RESOURCES' });

  readonly wait: VirtualCloud['wait'] = async ({ name }, signal) => {
    const state = await this.#until(name, ['ready', 'lost'], signal);
    return state === 'ready' ? READY : (TAKEN satisfies Condition);
  };

  readonly remove = async ({ name }: MachineRef): Promise<void> => {
    this.#requests.get(name)?.remove();
    await this.#server.sleep(REMOVE_MS);
  };

  readonly run: VirtualCloud['run'] = async ({ slices: [slice] }, signal): Promise<AttemptEnd> => {
    await this.#until(slice?.ref.name ?? '', ['lost'], signal);
    return { kind: 'slices-lost', slices: [{ index: 0, cause: TAKEN.cause, message: TAKEN.message }] };
  };

  async #until(name: string, wanted: readonly State[], signal: AbortSignal): Promise<State> {
    const request = this.#requests.get(name);
    if (request === undefined) throw new TypeError(`no request ${name}`);
    const state = await new Promise<State>((resolve, reject) => {
      if (wanted.includes(request.state)) resolve(request.state);
      request.onChange = (now) => wanted.includes(now) && resolve(now);
      signal.addEventListener('abort', () => reject(signal.reason as Error));
    });
    await this.#server.sleep(NOTICE_MS, signal);
    return state;
  }
}

const TAKEN = { kind: 'lost', cause: 'preempted', message: 'PREEMPTED' } as const;
