import assert from 'node:assert/strict';
import { everybodysQuota } from '../quota/quota-file-text.js';
import { TEMPORAL_START_MS } from '../temporal-server.js';
import { until } from '../until.js';
import { jobFile } from './job-files.js';
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

  it('never has more chips than one tier at a time', async () => {
    assert.ok(mostChipsAtOnce(await admin.journal()) <= CHIPS);
  });
});
