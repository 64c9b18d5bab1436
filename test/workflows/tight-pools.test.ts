import assert from 'node:assert/strict';
import { Draws } from '../../chaos/random.js';
import { refused, WaitingJob } from './waiting-job.js';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const [A, B, C] = ['us-east1-d', 'europe-west4-a', 'us-east5-a'] as const;
const SEED = Number(process.env['JOBCTL_TEST_SEED'] ?? 29);
const JOBS = Number(process.env['JOBCTL_TEST_RACES'] ?? 4);

const asksOf = ({ asked }: WaitingJob, from: number, zone?: string) =>
  asked.filter((ask) => ask.at > from && (zone === undefined || ask.zone === zone));
const eventsOf = async (job: WaitingJob): Promise<readonly string[]> =>
  (await job.view()).events.map(({ text }) => text);

describe('a job whose pool has no room for a second request', function () {
  this.timeout(60_000);

  for (const [what, zones, hedge] of [
    ['of two zones', [A, B], 2],
    ['of three zones', [A, B, C], 3],
  ] as const)
    it(`asks on in its other zones after the pool took back what was asked in each: ${what}`, async () => {
      const timeouts = { provision: '15s' };
      const job = await WaitingJob.submit({ zones, tpu: { hedge }, timeouts }, {}, {}, { hasRoom: () => true });
      await job.until(2 * MINUTE);
      assert.deepEqual(new Set(job.asked.map(({ zone }) => zone)), new Set(zones), 'all are asked');
      job.withdraw();
      await job.until(3 * MINUTE);
      for (const zone of zones.slice(1))
        assert.ok(asksOf(job, 2 * MINUTE, zone).length > 0, `${zone}: ${JSON.stringify(job.asked)}`);
    });

  it('is told of it once, and of no zone that was not asked', async () => {
    const timeouts = { provision: '15s' };
    let isRoom = false;
    const job = await WaitingJob.submit({ zones: [A, B, C], timeouts }, {}, {}, { hasRoom: () => isRoom });
    await job.until(5 * MINUTE);
    const before = await eventsOf(job);
    assert.equal(before.filter((text) => text.includes('is not asked beside')).length, 1, before.join('\n'));
    assert.ok(!before.some((text) => /whichever|is asked beside/.test(text)), before.join('\n'));
    assert.deepEqual((await job.view()).rivals ?? [], []);
    isRoom = true;
    await job.until(6 * MINUTE);
    const told = (await eventsOf(job)).filter((text) => /(?<!not )asked beside/.test(text));
    assert.ok(told.length > 0);
  });

  it('keeps the turn of the zone for which it gave up a place, while that place is still counted', async () => {
    const timeouts = { provision: '60s' };
    const there = new Set<string>();
    // Room for two: a request counts until it is gone, a minute after it was told to go.
    const hasRoom = (): boolean => there.size < 2;
    const removeMs = (zone: string): number => {
      job.server.at(job.server.now + MINUTE, () => void there.delete(zone));
      return MINUTE;
    };
    const create = (zone: string) => (there.add(zone), { kind: 'accepted' as const });
    const job = await WaitingJob.submit({ zones: [A, B, C], timeouts }, { create, removeMs }, {}, { hasRoom });
    await job.until(20 * MINUTE);
    // The zone that is left has its next turn after the one that took its place.
    const zones = job.asked.map(({ zone }) => zone);
    assert.ok(zones.length > 6, zones.join(' '));
    assert.deepEqual(
      zones,
      zones.map((_, at) => [A, B, C][at % 3]),
    );
  });
});

describe(`${JOBS} jobs whose pool has room at times, and takes it back at times (seed ${SEED})`, function () {
  this.timeout(JOBS * 60_000);

  for (let number = 0; number < JOBS; number += 1)
    it(`job ${number} never stops asking`, async () => {
      const draws = new Draws(SEED).part(number);
      const zones = [A, B, C].slice(0, draws.between(2, 3));
      const hedge = draws.between(2, 3);
      const create = () => (draws.chance(0.3) ? refused('zone') : ({ kind: 'accepted' } as const));
      const job = await WaitingJob.submit(
        { zones, tpu: { hedge }, timeouts: { provision: '1m' } },
        { create, removeMs: () => draws.between(0, 90) * SECOND },
        {},
        { hasRoom: () => draws.chance(0.5) },
      );
      const end = 120 * MINUTE;
      const open: { readonly zone: string; readonly at: number }[] = [];
      for (let at = MINUTE; at < end; at += draws.between(20, 200) * SECOND) {
        await job.until(at);
        const { slices, rivals = [] } = await job.view();
        for (const { ref, state } of [...slices, ...rivals])
          if (state === 'starting') open.push({ zone: ref.zone, at });
        if (draws.chance(0.3)) job.withdraw();
      }
      await job.until(end);
      for (const zone of zones)
        for (let from = 0; from + 15 * MINUTE <= end; from += 5 * MINUTE) {
          const isAsked = [...job.asked, ...open].some(
            (ask) => ask.zone === zone && ask.at > from && ask.at <= from + 15 * MINUTE,
          );
          assert.ok(isAsked, `${zone} from ${from / MINUTE} min: ${JSON.stringify(job.asked)}`);
        }
    });
});
