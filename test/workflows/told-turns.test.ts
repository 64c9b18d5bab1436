import assert from 'node:assert/strict';
import { Draws } from '../../chaos/random.js';
import type { RefusalScope } from '../../domain/slice.js';
import { refused, START, WaitingJob } from './waiting-job.js';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const ZONES = ['us-east1-d', 'europe-west4-a', 'us-east5-a', 'us-central1-a'];
const SCOPES: readonly RefusalScope[] = ['zone', 'zone-lasting', 'permission', 'moment', 'unknown'];
const SEED = Number(process.env['JOBCTL_TEST_SEED'] ?? 29);
const JOBS = Number(process.env['JOBCTL_TEST_RACES'] ?? 6);
/** Of the calls and messages between a time and the request that comes of it. */
const SLACK_MS = 3 * SECOND;

/** A prediction, and the moment at which it was made, in ms since the submit. */
interface Told {
  readonly madeAt: number;
  readonly zone: string;
  readonly at?: number;
  readonly after?: string;
}

/** The first request after a moment, in this zone if one is named. */
const nextAsk = ({ asked }: WaitingJob, after: number, zone?: string) =>
  asked.find((ask) => ask.at > after && (zone === undefined || ask.zone === zone));

describe(`what ${JOBS} waiting jobs say of their zones comes so (seed ${SEED})`, function () {
  this.timeout(JOBS * 60_000);

  for (let number = 0; number < JOBS; number += 1)
    it(`job ${number}`, async () => {
      const draws = new Draws(SEED).part(number);
      const zones = ZONES.slice(0, draws.between(2, ZONES.length));
      const hedge = draws.between(1, 3);
      const timeouts = draws.chance(0.5) ? { provision: `${draws.between(1, 4)}m` } : {};
      // Zones say no at once or never answer, so that between two requests nothing changes what was told.
      const create = () => (draws.chance(0.5) ? refused(draws.pick(SCOPES)) : ({ kind: 'accepted' } as const));
      const job = await WaitingJob.submit({ zones, tpu: { hedge }, timeouts }, { create });
      const told: Told[] = [];
      const until = 90 * MINUTE;
      for (let ms = 20 * SECOND; ms <= until; ms += draws.between(20, 90) * SECOND) {
        await job.until(ms);
        const { nextZone, answers = [], phase } = await job.view();
        // While requests go, nothing is told.
        if (phase !== 'provisioning' || job.asked.some(({ at }) => ms - at < SLACK_MS)) continue;
        const what = `job ${number}, ${ms / SECOND} s`;
        if (nextZone !== undefined) told.push({ madeAt: ms, zone: nextZone.zone, at: nextZone.at - START });
        for (const { zone, againAt, againAfter, isAsked } of answers) {
          if (againAt !== undefined) told.push({ madeAt: ms, zone, at: againAt - START });
          if (againAfter !== undefined) told.push({ madeAt: ms, zone, after: againAfter });
          assert.ok(
            isAsked || againAt !== undefined || againAfter !== undefined,
            `${what}: nothing is told of ${zone}`,
          );
          if (isAsked)
            assert.ok(
              job.asked.some((ask) => ask.zone === zone),
              what,
            );
        }
      }
      assert.ok(told.length > 5, `${told.length} told`);
      const asks = job.asked.map(({ zone, at }) => `${zone} at ${Math.round(at / SECOND)}`).join(', ');
      for (const { madeAt, zone, at, after } of told) {
        const what = `at ${madeAt / SECOND} s: ${zone} ${at === undefined ? `after ${after}` : `at ${at / SECOND} s`}; asked: ${asks}`;
        if (at !== undefined && at + SLACK_MS < until) {
          const next = nextAsk(job, madeAt);
          assert.equal(next?.zone, zone, what);
          assert.ok(next.at >= at && next.at <= at + SLACK_MS, what);
        }
        const own = nextAsk(job, madeAt, zone);
        if (after === undefined || own === undefined) continue;
        const before = nextAsk(job, madeAt, after);
        // A zone that is waited in is not asked again before it has given up.
        assert.ok(before === undefined || before.at < own.at, what);
      }
    });
});
