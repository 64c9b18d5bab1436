import assert from 'node:assert/strict';
import { quotaFileText } from '../quota/quota-file-text.js';
import { TEMPORAL_START_MS } from '../temporal-server.js';
import { until } from '../until.js';
import { jobFile } from './job-files.js';
import { cloudIsEmpty } from './nothing-left.js';
import { mostChipsAtOnce, RehearsalAdmin } from './rehearsal-admin.js';
import { TestStack } from './test-stack.js';

const A = 'us-central1-a';
const B = 'us-west4-a';
const C = 'us-south1-a';
/** Room for one v5litepod-8 and, in `roomy`, for two. */
const POOLS = { tight: 8, roomy: 16 };
const SLICE = 8;

describe('a job whose zones have no chips', function () {
  this.timeout(120_000);
  let stack: TestStack;
  let admin: RehearsalAdmin;

  before(async function () {
    this.timeout(TEMPORAL_START_MS);
    stack = await TestStack.start({ timings: { zonePatienceMs: 2_000, zonePatiencePreemptedMs: 1_000 } });
    admin = new RehearsalAdmin(stack.rehearsal.endpoints.admin);
    for (const [pool, v5litepod] of Object.entries(POOLS)) {
      const text = quotaFileText({ v5litepod }, { a: { members: ['alice'], share: 1 } });
      await stack.jobs.quota(pool).apply({ quotaFile: { name: 'quota.toml', text } }, 'ann');
    }
  });
  after(() => stack.stop());
  afterEach(async () => {
    await admin.post('configure', { capacity: {} });
    await cloudIsEmpty(admin, 60_000);
  });

  const capacity = (of: Readonly<Record<string, number>>): Promise<void> =>
    admin.post('configure', {
      capacity: Object.fromEntries(Object.entries(of).map(([zone, chips]) => [`${zone}/v5litepod`, chips])),
    });

  async function submit(
    command: string,
    zones: readonly string[],
    more: object = {},
    tpu: object = {},
  ): Promise<string> {
    const retries = { preemption: 1, infrastructure: 0 };
    const job = jobFile(command, {
      tpu: { accelerator: 'v5litepod-8', zone: undefined, zones, ...tpu },
      retries,
      ...more,
    });
    return (await stack.jobs.submit({ job, user: 'alice' })).id;
  }

  const told = async (id: string): Promise<string> =>
    (await stack.jobs.describe(id)).events.map(({ text }) => text).join('\n');

  const states = async (): Promise<string> =>
    (await admin.status()).queuedResources.map(({ name, state }) => `${name} ${state}`).join(', ');

  it('runs in the zone that has some, beside the first that has none, and leaves no request there', async () => {
    await capacity({ [A]: 0 });
    const id = await submit('sleep 1', [A, B]);
    const { result, attempts } = await stack.jobs.wait(id);
    assert.deepEqual([result, attempts], ['succeeded', 1], stack.tail());
    const [slice, ...others] = (await stack.jobs.describe(id)).slices;
    assert.deepEqual([slice?.ref.zone, others.length], [B, 0]);
    assert.match(await told(id), new RegExp(`${B} is asked beside ${A}`));
    assert.match(await told(id), new RegExp(`all slices are ready in ${B}: its requests in ${A} are given up`));
  });

  it('goes on where it is when its first zone has chips first, and gives the others up', async () => {
    await capacity({ [A]: 0, [B]: 0 });
    const id = await submit('sleep 1', [A, B]);
    await until('both are asked', async () => (await admin.status()).queuedResources.length === 2);
    await capacity({ [B]: 0 });
    assert.equal((await stack.jobs.wait(id)).result, 'succeeded', stack.tail());
    assert.equal((await stack.jobs.describe(id)).slices[0]?.ref.zone, A);
    assert.match(await told(id), new RegExp(`all slices are ready in ${A}: ${B} is given up`));
  });

  it('uses one alone of two that become ready at once, of a gang of two slices too', async () => {
    await capacity({ [A]: 0, [B]: 0 });
    const id = await submit('sleep 1', [A, B], { slices: 2 });
    await until('both are asked for both slices', async () => (await admin.status()).queuedResources.length === 4);
    await capacity({});
    const { result, attempts } = await stack.jobs.wait(id);
    assert.deepEqual([result, attempts], ['succeeded', 1], stack.tail());
    const zones = new Set((await stack.jobs.describe(id)).slices.map(({ ref }) => ref.zone));
    assert.equal(zones.size, 1, 'a gang lies in one zone');
  });

  it('asks each of three zones in turn, two at a time', async () => {
    await capacity({ [A]: 0, [B]: 0, [C]: 0 });
    const id = await submit('sleep 1', [A, B, C]);
    await until('the third is asked', async () => (await told(id)).includes(`${C} is asked beside ${B}`), 30_000);
    await until('the first one has gone', async () => (await admin.status()).queuedResources.length <= 2, 30_000);
    await until('the first is asked again', async () => (await told(id)).includes(`${A} is asked beside ${C}`), 30_000);
    await capacity({ [B]: 0, [C]: 0 });
    assert.equal((await stack.jobs.wait(id)).result, 'succeeded', stack.tail());
    assert.equal((await stack.jobs.describe(id)).slices[0]?.ref.zone, A);
  });

  it('is asked for elsewhere first after a preemption, and costs that one retry alone', async () => {
    const id = await submit('if [ "$JOBCTL_ATTEMPT" = 1 ]; then sleep 300; fi', [A, B]);
    await until('it runs', async () => (await stack.jobs.describe(id)).phase === 'running', 60_000);
    await capacity({ [A]: 0 });
    const { ref } = (await stack.jobs.describe(id)).slices[0] ?? {};
    await admin.post('preempt', { name: ref?.name });
    const { result, attempts, preemptions } = await stack.jobs.wait(id);
    assert.deepEqual([result, attempts, preemptions], ['succeeded', 2, 1], stack.tail());
    assert.equal((await stack.jobs.describe(id)).slices[0]?.ref.zone, B);
    assert.doesNotMatch(await told(id), /beside/);
  });

  it('may be forbidden, and then goes from one zone to the next alone', async () => {
    await capacity({ [A]: 0 });
    const id = await submit('sleep 1', [A, B], {}, { hedge: 1 });
    assert.equal((await stack.jobs.wait(id)).result, 'succeeded', stack.tail());
    assert.equal((await stack.jobs.describe(id)).slices[0]?.ref.zone, B);
    assert.doesNotMatch(await told(id), /beside/);
  });

  it('takes no chip that its pool does not have: where there is no room for two requests it goes on alone', async () => {
    await capacity({ [A]: 0 });
    const { length } = await admin.journal();
    const id = await submit('sleep 1', [A, B], { pool: 'tight' });
    assert.equal((await stack.jobs.wait(id)).result, 'succeeded', stack.tail());
    assert.equal((await stack.jobs.describe(id)).slices[0]?.ref.zone, B);
    assert.match(
      await told(id),
      new RegExp(`${B} is not asked beside ${A}: its pool has no room for a second request`),
    );
    const own = (await admin.journal()).slice(length);
    assert.equal(mostChipsAtOnce(own), SLICE);
  });

  it('says what it waits for and what comes next, and ends when all its waiting is over (timeouts.queue)', async () => {
    await capacity({ [A]: 0, [B]: 0, [C]: 0 });
    const id = await submit('sleep 1', [A, B, C], { timeouts: { queue: '8s' } });
    const next = async (): Promise<string | undefined> => (await stack.jobs.describe(id)).nextZone?.zone;
    await until('it says which zone is next', async () => (await next()) === B);
    const { submittedAt } = await stack.jobs.row(id);
    await until(
      'lists say until when it waits',
      async () => (await stack.jobs.row(id)).waitsUntil === submittedAt + 8_000,
    );
    await until('it shows the second request', async () => (await stack.jobs.describe(id)).rivals?.length === 1);
    const { result, cause, attempts } = await stack.jobs.wait(id);
    assert.deepEqual([result, attempts], ['failed', 0]);
    const { message = '' } = cause ?? {};
    assert.match(message, /^its zones gave no chips for 8 s \(timeouts\.queue\): /);
    assert.match(message, /: Google has queued it until there are chips|: asking /);
    assert.equal((await stack.jobs.row(id)).waitsUntil, undefined);
  });

  it('says how often its request was PROVISIONING and went back into the queue', async () => {
    await admin.post('hold', { state: 'PROVISIONING' });
    const id = await submit('sleep 1', [A]);
    const request = (): Promise<string | undefined> =>
      admin.status().then(({ queuedResources }) => queuedResources[0]?.state);
    const detail = async (): Promise<string> => (await stack.jobs.describe(id)).slices[0]?.detail ?? '';
    try {
      for (const times of ['once', 'twice']) {
        const name = (await until('there is one', async () => (await admin.status()).queuedResources[0])).name;
        await until('it is PROVISIONING', async () => (await request()) === 'PROVISIONING', 30_000);
        await until('that is seen', async () => /PROVISIONING\)/.test(await detail()), 60_000);
        await admin.post('hold', { state: 'WAITING_FOR_RESOURCES' });
        await admin.post('send-back', { name });
        const want = `it has been PROVISIONING and gone back ${times}`;
        await until(want, async () => (await detail()).endsWith(`(WAITING_FOR_RESOURCES); ${want}`), 60_000);
        await admin.post('release', { state: 'WAITING_FOR_RESOURCES' });
      }
    } finally {
      await admin.post('release', { state: 'PROVISIONING' });
    }
    assert.equal((await stack.jobs.wait(id)).result, 'succeeded', stack.tail());
  });

  it('gives the second request up when another job wants its chips', async () => {
    await capacity({ [A]: 0, [B]: 0 });
    const { length } = await admin.journal();
    const first = await submit('sleep 1', [A, B], { pool: 'roomy' });
    await until('both are asked', async () => (await admin.status()).queuedResources.length === 2);
    const second = await submit('sleep 1', [C], { pool: 'roomy' });
    assert.equal((await stack.jobs.wait(second)).result, 'succeeded', stack.tail());
    assert.match(
      await told(first),
      new RegExp(`its pool has no room for a second request: ${B} is given up`),
      await states(),
    );
    await capacity({});
    assert.equal((await stack.jobs.wait(first)).result, 'succeeded', stack.tail());
    assert.ok(mostChipsAtOnce((await admin.journal()).slice(length)) <= POOLS.roomy);
  });
});
