import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Condition, RefusalScope } from '../../domain/slice.js';
import { Draws } from '../../chaos/random.js';
import { slicesIn } from '../end-to-end/bill.js';
import { jobFile } from '../end-to-end/job-files.js';
import { type CloudEvent, mostChipsAtOnce } from '../end-to-end/rehearsal-admin.js';
import { TEMPORAL_START_MS } from '../temporal-server.js';
import { until } from '../until.js';
import { READY } from '../virtual-clock/plain-activities.js';
import { type Created, MOST_CACHED, type ScriptedCloud, ScriptedClouds } from './scripted-clouds.js';

const SEED = Number(process.env['JOBCTL_TEST_SEED'] ?? 29);
const JOBS = Number(process.env['JOBCTL_TEST_RACES'] ?? 25);
const AT_ONCE = 20;
const ZONES = ['us-central1-a', 'us-west4-a', 'us-south1-a', 'us-west1-c'];
/** Of refusals that say nothing of another zone. */
const SCOPES: readonly RefusalScope[] = ['zone', 'zone-lasting', 'permission', 'moment', 'unknown', 'request'];

/** Of one slice, in the journal. */
const CHIPS = 8;

/** One zone gives the job its slices, at some time; the others do whatever providers do. Its journal has the form of the rehearsal's. */
class Cloud implements ScriptedCloud {
  readonly zones: readonly string[];
  readonly slices: number;
  readonly hedge: number;
  readonly journal: CloudEvent[] = [];
  /** The slices on which the command ran, for each time that it did. */
  readonly ran: (readonly string[])[] = [];
  readonly asked = new Set<string>();
  readonly deleted = new Set<string>();
  readonly #free: string;
  readonly #freeAt: number;
  readonly #draws: Draws;

  constructor(draws: Draws) {
    this.#draws = draws;
    this.zones = ZONES.slice(0, draws.between(2, ZONES.length));
    this.slices = draws.between(1, 2);
    this.hedge = draws.between(1, 3);
    this.#free = draws.pick(this.zones);
    this.#freeAt = Date.now() + draws.between(0, 1_500);
  }

  #note(kind: 'queued-resource-state' | 'node-state', name: string, to: string): void {
    const details = { to, chips: CHIPS };
    this.journal.push({ seq: this.journal.length, at: Date.now(), kind, subject: `${kind}/${name}`, details });
  }

  /** A pool with little room says no to what is asked beside the first. */
  hasRoom(isBeside: boolean): boolean {
    return !isBeside || this.#draws.chance(0.8);
  }

  create(name: string, zone: string): Created {
    this.asked.add(name);
    if (zone !== this.#free && !this.#draws.chance(0.6)) {
      const scope = this.#draws.pick(SCOPES);
      return { kind: 'refused', scope, message: `${zone} refuses: ${scope}` };
    }
    this.#note('queued-resource-state', name, 'ACCEPTED');
    return { kind: 'accepted' };
  }

  /** Until the slice is ready, or comes to nothing; in most zones without an end. */
  async wait(name: string, zone: string, signal: AbortSignal): Promise<Condition> {
    if (zone === this.#free) {
      await sleep(Math.max(0, this.#freeAt - Date.now()) + this.#draws.between(0, 200), undefined, { signal });
      if (this.deleted.has(name)) return { kind: 'missing' };
      this.#note('node-state', name, 'READY');
      return READY;
    }
    const isFailed = this.#draws.chance(0.3);
    await sleep(isFailed ? this.#draws.between(0, 400) : 600_000, undefined, { signal });
    return { kind: 'lost', cause: 'refused', scope: this.#draws.pick(SCOPES), message: `${zone} gives it up` };
  }

  run(names: readonly string[]): void {
    this.ran.push(names);
    this.#note('queued-resource-state', names[0] ?? '', 'RUNS');
  }

  async delete(name: string): Promise<void> {
    await sleep(this.slices * 50);
    this.deleted.add(name);
    const known = (kind: string) => this.journal.some(({ subject }) => subject === `${kind}/${name}`);
    if (known('node-state')) this.#note('node-state', name, 'gone');
    if (known('queued-resource-state')) this.#note('queued-resource-state', name, 'gone');
  }
}

describe(`${JOBS} jobs, each with one zone among others that has chips at some time (seed ${SEED})`, function () {
  this.timeout(JOBS * 10_000);
  let clouds: ScriptedClouds;

  before(async function () {
    this.timeout(TEMPORAL_START_MS);
    clouds = await ScriptedClouds.start();
  });
  after(() => clouds.end());

  const journals: (readonly CloudEvent[])[] = [];

  async function live(number: number): Promise<void> {
    const cloud = new Cloud(new Draws(SEED).part(number));
    const { zones, hedge, slices } = cloud;
    // Nothing that a zone says or does not say may cost a retry.
    const retries = { preemption: 0, infrastructure: 0, task: 0 };
    const file = jobFile('train', { slices, retries, tpu: { zone: undefined, zones, hedge } });
    const job = await clouds.submit(`race-${process.pid}-${number}`, file, cloud);
    const what = `job ${number} of seed ${SEED}`;
    const { result, attempts } = await job.outcome();
    assert.deepEqual([result, attempts], ['succeeded', 1], what);
    const view = await job.view();
    assert.equal(view.slices.length, slices, what);
    assert.equal(new Set(view.slices.map(({ ref }) => ref.zone)).size, 1, `${what}: a gang lies in one zone`);
    await until(`${what}: all that it asked for is given back`, async () =>
      [...cloud.asked].every((name) => cloud.deleted.has(name)),
    );
    assert.deepEqual(
      cloud.ran.map((names) => names.toSorted()),
      [view.slices.map(({ ref }) => ref.name).toSorted()],
      `${what}: one winner`,
    );
    // By the cloud's own journal.
    const { journal } = cloud;
    const ranAt = journal.findIndex(({ details }) => details.to === 'RUNS');
    const lives = slicesIn(journal);
    for (const name of cloud.ran[0] ?? []) {
      const before = journal.slice(0, ranAt).filter(({ subject }) => subject.endsWith(`/${name}`));
      assert.deepEqual(before.map(({ details }) => details.to).slice(0, 2), ['ACCEPTED', 'READY'], `${what}: ${name}`);
      assert.equal(lives.find((life) => life.name === name)?.billed.length, 1, `${what}: ${name} is charged once`);
    }
    const most = mostChipsAtOnce(journal) / CHIPS;
    // One more while the zone that has waited longest goes.
    assert.ok(most <= (hedge + 2) * slices, `${what}: ${most} requests at once, hedge ${hedge}, slices ${slices}`);
    journals.push(journal);
  }

  it('all run in that zone, cost no retry, and give back what they asked for elsewhere', async () => {
    let next = 0;
    await Promise.all(
      Array.from({ length: AT_ONCE }, async () => {
        while (next < JOBS) await live(next++);
      }),
    );
    // Without replays the models say all of this, in less time.
    const all = journals.flat().toSorted((a, b) => a.at - b.at);
    const workflows = mostChipsAtOnce(all) / CHIPS + Math.min(AT_ONCE, JOBS);
    assert.ok(workflows > MOST_CACHED, `${workflows} jobs and slices at once: nothing is replayed`);
  });
});
