import assert from 'node:assert/strict';
import { grantedSignal, restateSignal, revokedSignal } from '../../contract/job.js';
import type { Deliveries, QuotaActivities } from '../../contract/quota-activities.js';
import { leaseMessagesSignal } from '../../contract/quota.js';
import { leaseAnswerSignal, releaseSliceSignal } from '../../contract/slice.js';
import { quotaWorkflowId, sliceWorkflowId, WorkflowType } from '../../contract/workflow-ids.js';
import type { AttemptEnd, AttemptInput } from '../../contract/job-activities.js';
import type { LeaseMessage } from '../../domain/lease.js';
import type { MachineRef } from '../../domain/machines.js';
import type { Condition, CreateAnswer } from '../../domain/slice.js';
import { DEFAULT_TIMINGS } from '../../domain/timings.js';
import type { LimitedQuota } from '../../quota/quota-config.js';
import { Draws } from '../../chaos/random.js';
import { READY } from '../virtual-clock/plain-activities.js';
import { Sandboxes } from '../virtual-clock/sandboxes.js';
import { virtualActivities, type VirtualCloud } from '../virtual-clock/virtual-activities.js';
import { VirtualServer } from '../virtual-clock/virtual-server.js';

const SEED = Number(process.env['JOBCTL_TEST_SEED'] ?? 29);
const RACES = Number(process.env['JOBCTL_TEST_RACES'] ?? 6);
const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const DAY = 24 * 60 * MINUTE;
const START = Date.UTC(2026, 10, 1);
const ZONES = ['us-central1-a', 'us-west4-a', 'us-south1-a'];
const POOL = 'default';
/** A loser is told to go as soon as the winner is ready; messages are repeated after seconds, and a deletion takes a minute. */
const GIVEN_BACK_MS = 5 * MINUTE;
const SLICE_UNITS = 8;

interface Slice {
  readonly zone: string;
  readonly job: string;
  isReady: boolean;
}

/** All slices of a race become ready within seconds of one another, if they are there then. */
class Finish implements VirtualCloud {
  readonly slices = new Map<string, Slice>();
  /** Units of all requests that the provider has, granted or not: the most at a time. */
  most = 0;
  /** Times at which one job had all of its slices ready in two zones. */
  ties = 0;
  /** What a job has beside its slices that run when it must have given it back. */
  readonly losersLeft: string[] = [];
  /** Zones in which the command of a job began. */
  readonly ran = new Map<string, string[]>();
  readonly #server: VirtualServer;
  readonly #draws: Draws;
  readonly #gang: number;
  readonly #readyAt: number;

  constructor(server: VirtualServer, draws: Draws, gang: number) {
    this.#server = server;
    this.#draws = draws;
    this.#gang = gang;
    this.#readyAt = START + draws.between(1, 40) * MINUTE;
  }

  async create({ ref: { name, zone }, ownership }: Parameters<VirtualCloud['create']>[0]): Promise<CreateAnswer> {
    await this.#pass(3);
    const isLost = this.#draws.chance(0.2);
    if (isLost && this.#draws.chance(0.5)) return { kind: 'unanswered', message: 'it never came' };
    this.slices.set(name, { zone, job: ownership.job, isReady: false });
    this.most = Math.max(this.most, this.slices.size * SLICE_UNITS);
    return isLost ? { kind: 'unanswered', message: 'its answer is lost' } : { kind: 'accepted' };
  }

  async inspect({ name }: MachineRef): Promise<Condition> {
    return this.slices.has(name) ? { kind: 'waiting', detail: 'ACCEPTED' } : { kind: 'missing' };
  }

  async wait({ name }: MachineRef, signal: AbortSignal): Promise<Condition> {
    await this.#server.sleep(Math.max(0, this.#readyAt - this.#server.now), signal);
    await this.#pass(4, signal);
    const slice = this.slices.get(name);
    if (!slice) return { kind: 'missing' };
    slice.isReady = true;
    const zones = ZONES.filter((zone) => this.#readyIn(slice.job, zone) === this.#gang);
    if (zones.length > 1) this.ties += 1;
    return READY;
  }

  #readyIn(job: string, zone: string): number {
    return [...this.slices.values()].filter((each) => each.job === job && each.zone === zone && each.isReady).length;
  }

  async remove({ name }: MachineRef): Promise<void> {
    await this.#pass(60);
    this.slices.delete(name);
  }

  async run({ job, slices }: AttemptInput, signal: AbortSignal): Promise<AttemptEnd> {
    const zones = [...new Set(slices.map(({ ref }) => ref.zone))];
    this.ran.set(job.id, [...(this.ran.get(job.id) ?? []), zones.join(' and ')]);
    assert.equal(slices.length, this.#gang);
    for (const { ref } of slices) assert.ok(this.slices.get(ref.name)?.isReady, `${ref.name} is not ready`);
    await this.#server.sleep(GIVEN_BACK_MS, signal);
    const left = [...this.slices].filter(
      ([name, each]) => each.job === job.id && !slices.some(({ ref }) => ref.name === name),
    );
    this.losersLeft.push(...left.map(([name]) => name));
    await this.#server.sleep(20 * MINUTE, signal);
    return { kind: 'exited', code: 0, at: { slice: 0, host: 0 }, startedAt: 0 };
  }

  #pass(seconds: number, signal?: AbortSignal): Promise<void> {
    return this.#server.sleep(this.#draws.between(0, seconds * SECOND), signal);
  }
}

/** The activities of a pool, as activities/quota.ts carries them out, between workflows of a virtual server. */
function poolActivities(server: VirtualServer, draws: Draws, config: LimitedQuota): Partial<QuotaActivities> {
  return {
    sendLease: async (message: LeaseMessage) => {
      server.signal(quotaWorkflowId(POOL), leaseMessagesSignal.name, [message]);
      // Who sent it does not hear that it came, and sends it again.
      if (draws.chance(0.1)) throw new Error('its answer is lost');
    },
    deliver: async ({ epoch, grants, revocations, answers, releases, restate }: Deliveries) => {
      const { signal } = server;
      const tell = signal.bind(server);
      const closedJobs = [
        ...grants.filter(({ job, ...grant }) => !tell(job, grantedSignal.name, { epoch, ...grant })),
        ...revocations.flatMap(({ lease, reason, cause }) => {
          const { job, run, number } = lease;
          return tell(job, revokedSignal.name, { run, number, epoch, reason, cause }) ? [] : [lease];
        }),
      ];
      for (const { slice, isHeld } of answers) tell(sliceWorkflowId(slice), leaseAnswerSignal.name, { epoch, isHeld });
      for (const { slice, reason } of releases) tell(sliceWorkflowId(slice), releaseSliceSignal.name, { reason });
      for (const { id } of restate) tell(id, restateSignal.name, { epoch });
      if (draws.chance(0.1)) throw new Error('its answer is lost');
      return { closedJobs };
    },
    loadPool: async () => ({ config, timings: DEFAULT_TIMINGS, mark: 'the same' }),
    readOpenWork: async () => ({ jobs: [], slices: [] }),
    findStrays: async () => ({ closedJobs: [], lostSlices: [] }),
    writeHistory: async () => undefined,
  };
}

describe(`${RACES} races of zones under a quota (model, seed ${SEED})`, function () {
  this.timeout(60_000 + RACES * 5_000);
  const seen = { ties: 0, beside: 0 };
  let sandboxes: Sandboxes;
  before(async () => {
    sandboxes = await Sandboxes.ofThisProcess();
  });

  async function race(number: number): Promise<void> {
    const draws = new Draws(SEED).part(number);
    const what = `race ${number} of seed ${SEED}`;
    const delayMs = (): number => draws.between(20, 2 * SECOND);
    const server = new VirtualServer(sandboxes, { startAt: START, delayMs });
    const gang = draws.between(1, 2);
    const jobs = draws.between(1, 2);
    // Room for one gang of each job, and for one or two beside; or for none.
    const units = gang * SLICE_UNITS * (jobs + draws.between(0, 2));
    const config: LimitedQuota = {
      kind: 'limited',
      tiers: [{ v5litepod: units }],
      projects: [{ name: 'p', shares: { v5litepod: 100 }, members: ['.*'] }] as never,
    };
    const cloud = new Finish(server, draws.part(1), gang);
    const pool = poolActivities(server, draws.part(2), config);
    const activities = virtualActivities(server, cloud, DEFAULT_TIMINGS, pool as QuotaActivities);
    server.serve(activities);
    void server.start(WorkflowType.Quota, quotaWorkflowId(POOL), { v: 1, pool: POOL });
    const tpu = {
      accelerator: `v5litepod-${SLICE_UNITS}`,
      zones: ZONES,
      hedge: draws.between(2, 3),
      allocation_mode: 'queued-resources',
      pricing: 'spot',
    };
    const retries = { preemption: 0, infrastructure: 0 };
    const ends = new Map<string, string>();
    for (let index = 0; index < jobs; index += 1) {
      const id = `race-${number}-${index}`;
      const job = { name: 'train', slices: gang, tpu, retries, command: { run: 'train' } };
      void server
        .start(WorkflowType.Job, id, { v: 1, job })
        .then(({ kind, error }) => ends.set(id, error?.message ?? kind));
    }
    await server.run(START + DAY);
    assert.deepEqual([...ends.values()], Array(jobs).fill('completed'), what);
    for (const [id, ran] of cloud.ran) assert.equal(ran.length, 1, `${what}: ${id} ran in ${ran.join(', then ')}`);
    for (const [id, [zones]] of cloud.ran) assert.ok(!zones?.includes(' and '), `${what}: ${id} lies in ${zones}`);
    assert.deepEqual(cloud.losersLeft, [], `${what}: losers are there ${GIVEN_BACK_MS / MINUTE} min after the winner`);
    assert.deepEqual([...cloud.slices.keys()], [], `${what}: what did not win is there still`);
    assert.ok(cloud.most <= units, `${what}: ${cloud.most} units were asked for, and the pool has ${units}`);
    seen.ties += cloud.ties;
    if (cloud.most > jobs * gang * SLICE_UNITS) seen.beside += 1;
  }

  it('each has one winner, gives the others back, and the quota of the pool is never exceeded', async () => {
    for (let number = 0; number < RACES; number += 1) await race(number);
    assert.ok(seen.ties >= RACES / 20 && seen.beside >= RACES / 4, JSON.stringify(seen));
  });
});
