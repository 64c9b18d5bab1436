import assert from 'node:assert/strict';
import { isDeepStrictEqual } from 'node:util';
import type { JobView } from '../../contract/job.js';
import { everybodysQuota } from '../quota/quota-file-text.js';
import { jobctl } from '../cli/command-line.js';
import { TEMPORAL_START_MS } from '../temporal-server.js';
import { until } from '../until.js';
import { jobFile } from './job-files.js';
import { cliEnvironment } from './jobctl-process.js';
import { cloudIsEmpty } from './nothing-left.js';
import { mostChipsAtOnce, RehearsalAdmin } from './rehearsal-admin.js';
import { TestStack } from './test-stack.js';
import { cloudNow, untrueSentences, zonesIn } from './why-truth.js';

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

  /** Zones that `why` said would be asked next, and how many creates there had been. */
  const promised: { readonly zone: string; readonly creates: number }[] = [];

  /** Until every sentence is so as the cloud has it now; none may ever be anything but what was so a moment ago. */
  async function whyHolds(id: string, hour: number): Promise<void> {
    const lies: string[] = [];
    let last = '';
    const isAllTrue = async (): Promise<boolean> => {
      const before = await admin.journal();
      const { exitCode, stdout, stderr } = await jobctl(['why', id], cliEnvironment(stack));
      const { slices, rivals = [] } = await stack.jobs.describe(id);
      const after = await admin.journal();
      if (exitCode !== 0) lies.push(stderr);
      const [then, now] = [cloudNow(before, id), cloudNow(after, id)];
      // What changed while it was asked is judged the next time.
      if (!isDeepStrictEqual(then, now) || !/is provisioning/.test(stdout)) return false;
      // A request that the job has begun and the cloud has not heard of comes before the next one that is told.
      if (![...slices, ...rivals].every(({ ref }) => now.created.has(ref.name))) return false;
      for (const line of untrueSentences(stdout, now, false)) {
        // A zone that was not asked yet: then it is the next one, a moment later.
        const zones = zonesIn(line).filter((zone) => !now.asked.includes(zone));
        if (zones.length === 0) lies.push(line);
        promised.push(...zones.map((zone) => ({ zone, creates: now.asked.length })));
      }
      last = untrueSentences(stdout, now, true).join('\n');
      if (last !== '') return false;
      const zone = /before, (\S+) is asked/.exec(stdout)?.[1];
      if (zone !== undefined) promised.push({ zone, creates: now.asked.length });
      return true;
    };
    await until(`\`why\` says what the cloud says, in hour ${hour}`, isAllTrue, 60_000).catch((error: Error) => {
      throw new Error(`${error.message}\n${last}`);
    });
    assert.deepEqual(lies, []);
  }

  async function nextZonesHold(id: string): Promise<void> {
    const { asked: zones } = cloudNow(await admin.journal(), id);
    for (const { zone, creates } of promised.splice(0))
      if (zones.length > creates) assert.equal(zones[creates], zone, `create ${creates} of ${zones.join(', ')}`);
  }

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
        await whyHolds(id, hour);
        const { phase, outcome, slices, rivals = [] } = await view();
        assert.equal(outcome, undefined, stack.tail());
        assert.ok(['provisioning', 'evicting'].includes(phase), phase);
        assert.ok([...slices, ...rivals].every(({ ref }) => isNamed(ref.zone)));
      }

      await until('it has asked in each zone, and again', async () => (await asked()) > before + ZONES.length, 90_000);
      await nextZonesHold(id);
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
