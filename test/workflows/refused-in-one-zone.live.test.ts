import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { type ApiError, classifyCreateError } from '../../cloud/machines/cloud-tpu/classify-error.js';
import { conditionOf } from '../../cloud/machines/cloud-tpu/condition.js';
import type { Condition } from '../../domain/slice.js';
import { DEFAULT_TIMINGS } from '../../domain/timings.js';
import { Refusals } from '../../workflows/job/refusals.js';
import { ownership } from '../cloud/cloud-tpu-plan.js';
import { GOOGLE_REFUSALS } from '../cloud/google-refusals.js';
import { jobFile } from '../end-to-end/job-files.js';
import { TEMPORAL_START_MS } from '../temporal-server.js';
import { until } from '../until.js';
import { READY } from '../virtual-clock/plain-activities.js';
import { type Created, type ScriptedCloud, ScriptedClouds } from './scripted-clouds.js';

const CLOSED = 'us-central1-a';
const OPEN = 'us-west4-a';
const WAYS = ['call', 'operation', 'request'] as const;
type Way = (typeof WAYS)[number];
/** Their workflows stay in the worker's cache: zone-race.live.test.ts has those that are replayed all the time. */
const AT_ONCE = 8;

/** Texts that nobody has reported, of every code that a refusal has; and some that Google says of the whole installation. */
const OTHERS: Readonly<Record<string, ApiError & { code: number }>> = {
  ...Object.fromEntries(
    [2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 14, 16, 99].map((code) => [
      `code ${code} in new words`,
      { code, message: `The moon is in house ${code}` },
    ]),
  ),
  'a missing right, by its name': {
    code: 7,
    message: "Permission 'tpu.nodes.create' denied on resource '//tpu.googleapis.com/projects/p/locations/Z'",
  },
  'billing that is off': {
    code: 7,
    message: 'This API method requires billing to be enabled',
    reason: 'BILLING_DISABLED',
  },
};

/** One of two zones answers each request with the same error, in one way; the other has chips. */
class HalfClosed implements ScriptedCloud {
  readonly created = new Set<string>();
  readonly deleted = new Set<string>();
  /** The zone that each generation of the slice was asked of: their order is the workflow's own, that of calls is not. */
  readonly #asked = new Map<number, string>();
  readonly #error: ApiError & { code: number };
  readonly #way: Way;

  constructor(error: ApiError & { code: number }, way: Way) {
    this.#error = error;
    this.#way = way;
  }

  /** How often the closed zone was asked before the other. */
  get askedFirst(): number {
    const zones = [...this.#asked].sort(([a], [b]) => a - b).map(([, zone]) => zone);
    return zones.indexOf(OPEN);
  }

  hasRoom(): boolean {
    return true;
  }

  create(name: string, zone: string): Created {
    this.#asked.set(generationOf(name), zone);
    const answer = zone === CLOSED && this.#way === 'call' ? classifyCreateError(this.#error) : undefined;
    if (answer?.kind === 'refused') return answer;
    this.created.add(name);
    return { kind: 'accepted' };
  }

  async wait(_name: string, zone: string, signal: AbortSignal): Promise<Condition> {
    if (zone === OPEN) return READY;
    const error = this.#error;
    const now = { at: 0, node: 'not-found' } as const;
    if (this.#way === 'operation')
      return conditionOf({ ...now, queuedResource: 'unused', operation: { isDone: true, error } }, ownership());
    if (this.#way === 'request')
      return conditionOf({ ...now, queuedResource: { state: 'FAILED', error, ownership: ownership() } }, ownership());
    await sleep(600_000, undefined, { signal });
    return READY;
  }

  async delete(name: string): Promise<void> {
    this.deleted.add(name);
  }
}

describe('a zone that has chips beside one that refuses', function () {
  this.timeout(60_000);
  let clouds: ScriptedClouds;
  let number = 0;

  before(async function () {
    this.timeout(TEMPORAL_START_MS);
    clouds = await ScriptedClouds.start();
  });
  after(() => clouds.end());

  const texts = Object.entries({ ...GOOGLE_REFUSALS, ...OTHERS });
  for (const way of WAYS)
    it(`is asked within a minute, whatever the other says: ${texts.length} texts, as ${way}`, async () => {
      await inTurns(AT_ONCE, texts, async ([name, error]) => {
        const cloud = new HalfClosed(error, way);
        const retries = { preemption: 0, infrastructure: 0, task: 0 };
        const file = jobFile('train', { retries, tpu: { zone: undefined, zones: [CLOSED, OPEN] } });
        const job = await clouds.submit(`refused-${process.pid}-${++number}`, file, cloud);
        const what = `${name}, as ${way}`;
        assert.equal((await job.outcome()).result, 'succeeded', what);
        assert.deepEqual(
          (await job.view()).slices.map(({ ref }) => ref.zone),
          [OPEN],
          what,
        );
        assert.ok(waitedMs(cloud.askedFirst) <= 60_000, `${what}: ${cloud.askedFirst} requests came first`);
        await until(`${what}: all is given back`, async () =>
          [...cloud.created].every((each) => cloud.deleted.has(each)),
        );
      });
    });
});

function generationOf(name: string): number {
  const number = /-g(\d+)$/.exec(name)?.[1];
  assert.ok(number, name);
  return Number(number);
}

async function inTurns<T>(atOnce: number, items: readonly T[], live: (item: T) => Promise<void>): Promise<void> {
  const rest = items.values();
  await Promise.all(
    Array.from({ length: atOnce }, async () => {
      for (const item of rest) await live(item);
    }),
  );
}

/** What `times` refusals in one zone cost before the next is asked, at the usual pace: a pause after each but the last. */
function waitedMs(times: number): number {
  const refusals = new Refusals(DEFAULT_TIMINGS);
  let ms = 0;
  for (let at = 1; at < times; at += 1) {
    refusals.note(CLOSED, 'moment');
    ms += refusals.pauseHereMs;
  }
  return ms;
}
