import assert from 'node:assert/strict';
import type { TierTurns } from '../../quota/explanation/tier-turns.js';
import { everybodysQuota } from '../quota/quota-file-text.js';
import { jobctl } from '../cli/command-line.js';
import { TEMPORAL_START_MS } from '../temporal-server.js';
import { until } from '../until.js';
import { jobFile } from './job-files.js';
import { cliEnvironment } from './jobctl-process.js';
import { cloudIsEmpty } from './nothing-left.js';
import { mostChipsAtOnce, RehearsalAdmin } from './rehearsal-admin.js';
import { TestStack } from './test-stack.js';

const A = 'us-central1-a';
const B = 'us-west4-a';
const CHIPS = 8;
const TIER = `[[total_resources]]\nv5litepod = ${CHIPS}`;
const QUOTA = everybodysQuota({ v5litepod: CHIPS }).replace(
  `[total_resources]\nv5litepod = ${CHIPS}`,
  `${TIER}\n${TIER}`,
);
const POOL_FILE = `[[tiers]]\npricing = "ondemand"\n[[tiers]]\npricing = "spot"\n[quota]\nasking_timeout = "4s"\ncool_down = "4s"\n`;

describe('a job that may use two tiers of its pool', function () {
  this.timeout(120_000);
  let stack: TestStack;
  let admin: RehearsalAdmin;

  before(async function () {
    this.timeout(TEMPORAL_START_MS);
    stack = await TestStack.start({ timings: { zonePatienceMs: 1_000, zonePatiencePreemptedMs: 1_000 } });
    admin = new RehearsalAdmin(stack.rehearsal.endpoints.admin);
  });
  after(() => stack.stop());
  afterEach(async () => {
    await admin.post('configure', { capacity: {} });
    await cloudIsEmpty(admin, 60_000);
  });

  let pools = 0;
  /** A pool of its own, without cool-downs of other cases. */
  async function submit(tpu: object, more: object = {}): Promise<string> {
    const pool = `tiered-${++pools}`;
    const files = {
      quotaFile: { name: 'quota.toml', text: QUOTA },
      poolFile: { name: 'pool.toml', text: POOL_FILE },
    };
    await stack.jobs.quota(pool).apply(files, 'ann');
    const job = jobFile('true', {
      pool,
      tpu: { accelerator: 'v5litepod-8', zone: undefined, pricing: 'any', ...tpu },
      ...more,
    });
    return (await stack.jobs.submit({ job, user: 'alice' })).id;
  }
  async function ended(id: string) {
    await until('it has ended', async () => (await stack.jobs.describe(id)).outcome !== undefined, 60_000);
    const { outcome, granted, events } = await stack.jobs.describe(id);
    return { outcome, granted, told: events.map(({ text }) => text).join('\n') };
  }

  // Each two of the three that matter meet: mode, number of zones, and the tier that has no chips.
  for (const [mode, zones, first, second] of [
    ['tpu-vm', [A], 'on-demand', 'spot'],
    ['tpu-vm', [A, B], 'spot', 'on-demand'],
    ['queued-resources', [A], 'spot', 'on-demand'],
    ['queued-resources', [A, B], 'on-demand', 'spot'],
  ] as const)
    it(`runs in the one that has chips, ${second}, in ${zones.length} zones by ${mode}, and spends no retry`, async () => {
      const capacity: Record<string, number> = {};
      for (const zone of zones) {
        capacity[`${zone}/v5litepod/${first}`] = 0;
        capacity[`${zone}/v5litepod/${second}`] = CHIPS;
      }
      await admin.post('configure', { capacity });
      const retries = { preemption: 0, infrastructure: 0, task: 0 };
      const { outcome, granted, told } = await ended(await submit({ zones, allocation_mode: mode }, { retries }));
      assert.equal(outcome?.result, 'succeeded', told);
      assert.equal(granted?.pricing, second === 'spot' ? 'spot' : 'ondemand');
      const change = /goes back to the pool: it got no chips in tier 1, and there is room for it in another/;
      assert.equal(change.test(told), second === 'spot', told);
    });

  it('runs in the other where every zone calls its request wrong in itself, as it was bought in the first', async () => {
    const wrong = { code: 3, message: 'Invalid value for a field: on-demand is not offered' };
    await admin.post('refuse', { method: 'CreateQueuedResource', ...wrong, nameMatches: 'once', times: 2 });
    const { outcome, granted, told } = await ended(await submit({ zones: [A, B] }, { name: 'once' }));
    assert.equal(outcome?.result, 'succeeded', told);
    assert.equal(granted?.pricing, 'spot');
  });

  it('ends where every zone calls it wrong in both', async () => {
    const wrong = { code: 3, message: 'Invalid value for a field: network' };
    await admin.post('refuse', { method: 'CreateQueuedResource', ...wrong, nameMatches: 'never', times: 1_000 });
    const { outcome, told } = await ended(await submit({ zones: [A, B] }, { name: 'never' }));
    assert.match(outcome?.cause?.message ?? '', /Invalid value for a field: network/, told);
    assert.match(told, /got no chips in tier 1/);
  });

  describe('without chips in any of them', () => {
    const toldBy = async (verb: string, ...args: readonly string[]): Promise<string> => {
      const { exitCode, stdout, stderr } = await jobctl([verb, ...args], cliEnvironment(stack));
      assert.equal(exitCode, 0, stderr);
      return stdout;
    };
    const tiersTold = async (id: string): Promise<TierTurns | undefined> =>
      (JSON.parse(await toldBy('why', id, '--output', 'json')) as { asking?: { tiers?: TierTurns } }).asking?.tiers;
    /** Requests that the cloud has of a job, by its own journal. */
    async function requests(id: string) {
      const made = (await admin.journal()).filter(
        ({ kind, subject }) => kind === 'queued-resource-state' && subject.includes(`jc-${id}-`),
      );
      const open = new Map<string, string>();
      for (const { subject, details } of made)
        if (details.to === 'gone') open.delete(subject);
        else open.set(subject, details.resource?.spot === undefined ? 'ondemand' : 'spot');
      return { made, open: [...open] };
    }

    it('`why`, `status` and `list` name the tier that Google is asked in, and when the other one is asked keeps to it', async () => {
      await admin.post('configure', { capacity: { [`${A}/v5litepod`]: 0 } });
      const id = await submit({ zones: [A] }, { name: 'dry' });
      const promises: { readonly pricing: string; readonly from: number; readonly after: number }[] = [];
      const seen = new Set<string>();
      const wrong: string[] = [];
      await until(
        'each tier was asked, and the first again',
        async () => {
          const before = await requests(id);
          const told = await tiersTold(id);
          const after = await requests(id);
          if (told === undefined || after.open.length !== 1 || after.open.join() !== before.open.join()) return false;
          if (told.pricing !== after.open[0]?.[1])
            wrong.push(`${told.pricing}, and Google has ${after.open.join(' ')}`);
          // A request that Google queues is refused by no zone.
          for (const { pricing = '', at, isCooling } of told.others) {
            promises.push({ pricing, from: at, after: after.made.length });
            if (isCooling) seen.add(`${told.pricing} after ${pricing}`);
          }
          return seen.size === 2;
        },
        90_000,
      );
      assert.deepEqual(wrong, []);
      const words =
        /[Ii]t asks in tier [12] \((?:spot|ondemand)\) of the pool, for .*Tier [12] \((?:spot|ondemand)\) gave nothing, and is asked again from \d\d:\d\d on/s;
      await until(
        '`status` says it',
        async () => words.test((await toldBy('status', id)).replaceAll(/\s+/g, ' ')),
        30_000,
      );
      await until('`why` says it', async () => words.test((await toldBy('why', id)).replaceAll('\n', ' ')), 30_000);
      await until(
        '`list` names the tier',
        async () => /in tier [12] of its pool \((?:spot|ondemand)\)/.test(await toldBy('list', '--all')),
        30_000,
      );
      const { made } = await requests(id);
      for (const { pricing, from, after } of promises) {
        const next = made.slice(after).find(({ details: { from: state, resource } }) => {
          return state === 'absent' && (resource?.spot === undefined ? 'ondemand' : 'spot') === pricing;
        });
        assert.ok(next === undefined || next.at >= from, `${pricing} was asked ${from - (next?.at ?? 0)} ms too soon`);
      }
      assert.ok(promises.length > 0);
      await stack.jobs.cancel(id);
      await ended(id);
    });

    it('`why` quotes what the first answered, in the words of the cloud', async () => {
      await admin.post('configure', { capacity: { [`${A}/v5litepod`]: 0 } });
      const id = await submit({ zones: [A], allocation_mode: 'tpu-vm' }, { name: 'refused' });
      const answer = await until(
        'it asks in the second tier',
        async () => {
          const told = await tiersTold(id);
          return told?.pricing === 'spot' && told.others[0]?.answers[0]?.text;
        },
        60_000,
      );
      const told = (await admin.journal()).flatMap(({ details }) => [details.message, details.error?.message]);
      assert.ok(told.includes(answer), answer);
      await stack.jobs.cancel(id);
      await ended(id);
    });
  });

  it('never has more chips than one tier at a time', async () => {
    assert.ok(mostChipsAtOnce(await admin.journal()) <= CHIPS);
  });
});
