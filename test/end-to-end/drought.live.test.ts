import assert from 'node:assert/strict';
import type { JobView } from '../../contract/job.js';
import { everybodysQuota } from '../quota/quota-file-text.js';
import { TEMPORAL_START_MS } from '../temporal-server.js';
import { until } from '../until.js';
import { jobFile } from './job-files.js';
import { cloudIsEmpty } from './nothing-left.js';
import { mostChipsAtOnce, RehearsalAdmin } from './rehearsal-admin.js';
import { TestStack } from './test-stack.js';

const ZONES = ['us-central1-a', 'us-west4-a', 'us-south1-a'] as const;
const [, , C] = ZONES;
const CHIPS = 8;
const HOURS = 12;
const HOUR_MS = 3_600_000;

describe('a running job, preempted, for which no zone has chips for twelve hours of the cloud', function () {
  this.timeout(240_000);
  let stack: TestStack;
  let admin: RehearsalAdmin;

  before(async function () {
    this.timeout(TEMPORAL_START_MS);
    stack = await TestStack.start({ timings: { zonePatienceMs: 8_000, zonePatiencePreemptedMs: 8_000 } });
    admin = new RehearsalAdmin(stack.rehearsal.endpoints.admin);
    const text = everybodysQuota({ v5litepod: 2 * CHIPS });
    await stack.jobs.quota('dry').apply({ quotaFile: { name: 'quota.toml', text } }, 'ann');
  });
  after(() => stack.stop());
  afterEach(async () => {
    await admin.post('configure', { capacity: {} });
    await cloudIsEmpty(admin, 60_000);
  });

  const capacity = (chips: number, zones: readonly string[]): Promise<void> =>
    admin.post('configure', { capacity: Object.fromEntries(zones.map((zone) => [`${zone}/v5litepod`, chips])) });
  /** Create calls so far. */
  const asked = async (): Promise<number> =>
    (await admin.journal()).filter(({ kind, details }) => kind === 'api-call' && details.method?.startsWith('Create'))
      .length;

  const WORDS = {
    'queued-resources': /Google has queued it until there are chips \(WAITING_FOR_RESOURCES\)/,
    'tpu-vm': /There is no more capacity in the zone/,
  };
  for (const [mode, says] of Object.entries(WORDS))
    it(`runs in the one that gets some, by ${mode}; that costs no retry but the preemption's, and leaves nothing`, async () => {
      const { length } = await admin.journal();
      const command = 'if [ "$JOBCTL_ATTEMPT" = 1 ]; then sleep 3000; fi';
      const retries = { preemption: 1, infrastructure: 0, task: 0 };
      const job = jobFile(command, {
        ...{ pool: 'dry', retries },
        tpu: { accelerator: 'v5litepod-8', zone: undefined, zones: ZONES, allocation_mode: mode },
      });
      const { id } = await stack.jobs.submit({ job, user: 'alice' });
      const view = () => stack.jobs.describe(id);
      await until('it runs', async () => (await view()).phase === 'running', 60_000);
      await capacity(0, ZONES);
      await admin.post('preempt', { name: (await view()).slices[0]?.ref.name });

      const before = await asked();
      for (let hour = 1; hour <= HOURS; hour += 1) {
        await admin.post('clock', { stepMs: HOUR_MS });
        await until(`it tells what Google says, in hour ${hour}`, async () => says.test(toldIn(await view())));
        const { phase, outcome, slices, rivals = [] } = await view();
        assert.equal(outcome, undefined, stack.tail());
        assert.ok(['provisioning', 'evicting'].includes(phase), phase);
        assert.ok([...slices, ...rivals].every(({ ref }) => isNamed(ref.zone)));
      }

      await until('it has asked in each zone, and again', async () => (await asked()) > before + ZONES.length, 90_000);
      await capacity(
        0,
        ZONES.filter((zone) => zone !== C),
      );
      const { result, attempts, preemptions } = await stack.jobs.wait(id);
      assert.deepEqual([result, attempts, preemptions], ['succeeded', 2, 1], stack.tail());
      assert.deepEqual(
        (await view()).slices.map(({ ref }) => ref.zone),
        [C],
      );
      assert.ok(mostChipsAtOnce((await admin.journal()).slice(length)) <= 2 * CHIPS);
    });
});

/** What `status`, `why` and the Web UI are made of, as of now: an event of long ago is none. */
const toldIn = ({ slices, rivals = [], why = '', events }: JobView): string =>
  [why, ...[...slices, ...rivals].map(({ detail }) => detail), ...events.slice(-5).map(({ text }) => text)].join('\n');

const isNamed = (zone: string): boolean => ZONES.some((each) => each === zone);
