import assert from 'node:assert/strict';
import { type GaugesOptions, PoolGauges, type PoolMeter } from '../../activities/quota-publisher.js';
import { poolCounts } from '../../quota/pool-accounts.js';
import { packState, type PoolSnapshot } from '../../quota/published-state.js';
import type { QuotaLease } from '../../quota/quota-config.js';
import { lease, pool, project, request } from '../quota/builders.js';
import { until } from '../until.js';

const AT = 1_795_000_000_000;

const snapshot = (leases: readonly QuotaLease[], waiting = 0): PoolSnapshot => ({
  pool: 'default',
  at: AT,
  epoch: 1,
  admission: 'open',
  view: {
    config: pool({ v4: 64 }, project('a', { v4: 32 })),
    requests: Array.from({ length: waiting }, (_, index) => request(`w${index}`, { v4: 8 })),
    leases,
  },
});

/** The last value of each series that is not 0. */
class Page implements PoolMeter {
  readonly series = new Map<string, number>();
  waitingJobs(name: string, count: number): void {
    this.#set(`${name} waiting`, count);
  }
  stuckDeletions(name: string, count: number): void {
    this.#set(`${name} stuck`, count);
  }
  leasedUnits(name: string, { project: one, type, state, units }: Parameters<PoolMeter['leasedUnits']>[1]): void {
    this.#set(`${name} ${one} ${type} ${state}`, units);
  }
  #set(key: string, value: number): void {
    if (value === 0) this.series.delete(key);
    else this.series.set(key, value);
  }
  get values(): Readonly<Record<string, number>> {
    return Object.fromEntries(this.series);
  }
}

const OURS: GaugesOptions = { isNewest: async () => true, keepMs: 600_000, forgetAfterMs: 1 };
const OTHERS: GaugesOptions = { ...OURS, isNewest: async () => false };

describe('the gauges of a pool', () => {
  const some = [
    lease('a1', { v4: 8, v6e: 4 }, { project: 'a', state: 'held' }),
    lease('a2', { v4: 16 }, { project: 'a', state: 'held', tier: 1 }),
    lease('a3', { v4: 8 }, { project: 'a', state: 'draining' }),
    lease('b1', { v4: 8 }, { project: 'b', state: 'asking' }),
  ];

  it('are who waits, and what each project has leased of each type in each state', () => {
    const page = new Page();
    new PoolGauges(page, 'default', OURS).show(packState(snapshot(some, 3)));
    assert.deepEqual(page.values, {
      'default waiting': 3,
      'default a v4 held': 24,
      'default a v6e held': 4,
      'default a v4 draining': 8,
      'default b v4 asking': 8,
    });
  });

  it('count the slices whose deletion does not end', () => {
    const page = new Page();
    const stuck = [{ id: 'a3', slice: 's1', since: AT, answer: 'no such project' }];
    new PoolGauges(page, 'default', OURS).show(packState({ ...snapshot(some), stuck }));
    assert.equal(page.values['default stuck'], 1);
  });

  it('are 0 where nothing is any more, and when another worker publishes instead', async () => {
    const page = new Page();
    const gauges = new PoolGauges(page, 'default', OTHERS);
    gauges.show(packState(snapshot(some, 3)));
    gauges.show(packState(snapshot([])));
    assert.deepEqual(page.values, {});
    const others = new PoolGauges(page, 'default', OTHERS);
    others.show(packState(snapshot(some, 3)));
    assert.equal(page.values['default waiting'], 3);
    await until('it is forgotten', () => page.series.size === 0);
  });

  it('stay while nobody has published since, and end when somebody has', async () => {
    const page = new Page();
    let [looks, answer] = [0, (): Promise<boolean> => Promise.resolve(true)];
    const isNewest = (): Promise<boolean> => {
      looks++;
      return answer();
    };
    new PoolGauges(page, 'default', { ...OURS, isNewest }).show(packState(snapshot(some, 3)));
    await until('some looks', () => looks > 3);
    assert.equal(page.values['default waiting'], 3);
    answer = () => Promise.resolve(false);
    await until('it is forgotten', () => page.series.size === 0);
  });

  it('are shown by one worker while the store cannot tell which, and by the last one afterwards', async () => {
    const pages = [new Page(), new Page()];
    let looks = 0;
    let answer = (_: number): Promise<boolean> => Promise.reject(new Error('the store is away'));
    const isNewest = (worker: number) => (): Promise<boolean> => {
      looks++;
      return answer(worker);
    };
    const [before, since] = pages.map(
      (page, worker) => new PoolGauges(page, 'default', { ...OURS, isNewest: isNewest(worker) }),
    );
    before?.show(packState({ ...snapshot(some, 3), stuck: [{ id: 'a3', slice: 's1', since: AT, answer: 'no' }] }));
    await until('the store was asked', () => looks > 1);
    // Each try to publish shows the state.
    since?.show(packState(snapshot(some, 1)));
    assert.deepEqual(
      pages.map(({ values }) => values['default waiting']),
      [undefined, 1],
    );
    answer = async (worker) => worker === 0;
    await until('the last one that was stored is shown', () => pages[0]?.values['default stuck'] === 1);
    await until('the other is not', () => pages[1]?.series.size === 0);
  });

  it('end with a pool that nobody publishes any more', async () => {
    const page = new Page();
    new PoolGauges(page, 'default', { ...OURS, keepMs: 20 }).show(packState(snapshot(some, 3)));
    assert.equal(page.values['default waiting'], 3);
    await until('it is forgotten', () => page.series.size === 0);
  });

  it('show the last of several states that come at once, though each costs time', async () => {
    const page = new Page();
    const gauges = new PoolGauges(page, 'default', OURS);
    for (const waiting of [3, 2, 1]) gauges.show(packState(snapshot(some, waiting)));
    await until('the last one', () => page.values['default waiting'] === 1);
  });

  it('name the projects with the most leases, so that no pool makes series without end', () => {
    const many = Array.from({ length: 40 }, (_, index) =>
      lease(`l${index}`, { v4: 1 }, { project: index % 2 === 0 ? 'large' : `small-${index}`, state: 'held' }),
    );
    const { leased } = poolCounts(snapshot(many), 3);
    assert.deepEqual(Object.fromEntries(leased.map(({ project: one, units }) => [one, units])), {
      large: 20,
      other: 18,
      'small-1': 1,
      'small-11': 1,
    });
  });
});
