import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { JanitorInput, JanitorReport } from '../../contract/janitor.js';
import type { PoolSnapshot } from '../../quota/published-state.js';
import { readPoolState } from '../../client/pool-state.js';
import { jobOfLeaseKey } from '../../domain/lease.js';
import { jobctl } from '../cli/command-line.js';
import { jobFile } from '../end-to-end/job-files.js';
import { nothingIsLeft } from '../end-to-end/nothing-left.js';
import { Poison } from '../end-to-end/poison.js';
import { mostChipsAtOnce, RehearsalAdmin } from '../end-to-end/rehearsal-admin.js';
import { TestStack } from '../end-to-end/test-stack.js';
import { homesWith } from '../end-to-end/vm-homes.js';
import { everybodysQuota } from '../quota/quota-file-text.js';
import { environmentOf } from './audit-leaks.js';
import { TEMPORAL_START_MS } from '../temporal-server.js';
import { until } from '../until.js';

const POOL = 'wedged';
const CHIPS = 16;
const REBUILD_BOUND_MS = 5_000;
/** Room for four jobs. */
const QUOTA = everybodysQuota({ v5litepod: CHIPS });
const COMMAND = 'echo "$JOBCTL_JOB_ID" >> ~/begins; echo begin; while [ ! -e ~/enough ]; do sleep 0.2; done; echo end';

/** docs/design.md, "Nothing wedges": docs/adr/0035 with real jobs, whose workflow tasks really fail. */
describe('jobs whose workflow task fails on every try, beside a terminated quota workflow', function () {
  this.timeout(240_000);
  let stack: TestStack;
  let admin: RehearsalAdmin;
  let poison: Poison;

  before(async function () {
    this.timeout(TEMPORAL_START_MS);
    stack = await TestStack.start({ quota: QUOTA, pool: POOL, timings: { rebuildBoundMs: REBUILD_BOUND_MS } });
    admin = new RehearsalAdmin(stack.rehearsal.endpoints.admin);
    poison = await Poison.for(stack);
  });
  after(() => stack?.stop());

  async function submit(): Promise<string> {
    const job = jobFile(COMMAND, { pool: POOL, grace: 1, tpu: { accelerator: 'v5litepod-4' } });
    return (await stack.jobs.submit({ job, user: 'alice' })).id;
  }

  /** Jobs whose command began, and the home in which it did. */
  function begun(): ReadonlyMap<string, string> {
    const found = new Map<string, string>();
    for (const home of homesWith('begins', stack.rehearsalDirectory)) {
      const lines = readFileSync(join(home, 'begins'), 'utf8').trimEnd().split('\n');
      assert.equal(lines.length, 1, `a command began twice: ${lines.join(' ')}`);
      assert.ok(!found.has(lines[0] as string), `${lines[0]} began on two slices`);
      found.set(lines[0] as string, home);
    }
    return found;
  }
  const runs = (id: string): Promise<unknown> => until(`the command of ${id} runs`, () => begun().has(id), 60_000);
  const end = (id: string): void => writeFileSync(join(begun().get(id) as string, 'enough'), '');

  const published = (accept: (state: PoolSnapshot) => boolean, claim: string): Promise<PoolSnapshot> =>
    until(
      claim,
      async () => {
        const state = await readPoolState(stack.store, POOL);
        return state && accept(state) ? state : undefined;
      },
      60_000,
    );
  const held = ({ view }: PoolSnapshot): readonly string[] =>
    view.leases.flatMap(({ id, state = 'held' }) => (state === 'held' ? [jobOfLeaseKey(id)] : [])).toSorted();

  /** `why` and `status` ask Temporal; `list` asks about the jobs that the janitor's last sweep named. */
  async function saysWhy(id: string): Promise<void> {
    const report = await stack.client.workflow.execute<(input: JanitorInput) => Promise<JanitorReport>>('janitor', {
      workflowId: `sweep-${stack.taskQueue}`,
      taskQueue: stack.taskQueue,
      args: [{ v: 1 }],
    });
    assert.deepEqual([report.failing.length, report.stuck], [2, []]);
    assert.match(report.failing.find((text) => text.startsWith(id)) ?? '', /: attempt [3-9] of its workflow task$/);
    const standsStill = new RegExp(
      `stands still, attempt [3-9] of its workflow task after \\S+.*: ${poison.error.source}`,
    );
    const [why, list, status] = await Promise.all([run('why', id), run('list'), run('status', id)]);
    assert.match(why, standsStill);
    assert.match(why, /docs\/operations\.md, "A workflow that stands still"/);
    assert.match(list.split('\n').find((line) => line.includes(id)) ?? '', standsStill);
    assert.match(status, standsStill);
    assert.match(status, /slices and events are missing: its workflow stands still/);
  }

  async function run(...args: readonly string[]): Promise<string> {
    const { exitCode, stdout, stderr } = await jobctl(args, environmentOf(stack));
    assert.equal(exitCode, 0, stderr);
    return stdout;
  }

  it('hold what they held, others are granted what is free, and all end well', async () => {
    const [wedged, doomed] = [await submit(), await submit()];
    await runs(wedged);
    await runs(doomed);
    const { epoch } = await published((state) => held(state).length === 2, 'both hold a lease');
    await Promise.all([wedged, doomed].map((id) => poison.give(id, 'restate', 3)));
    await saysWhy(wedged);

    await stack.client.workflow.getHandle(`quota/${POOL}`).terminate('its memory is lost');
    const others = [await submit(), await submit(), await submit()];
    const rebuilding = await published(({ rebuilding: now }) => (now?.waitsForCount ?? 0) > 0, 'it says it is rebuilt');
    assert.deepEqual(rebuilding.rebuilding?.waitsFor, [wedged, doomed].toSorted());

    const rebuilt = await published(
      (state) => state.epoch > epoch && state.rebuilding === undefined && held(state).length === 4,
      'it grants again',
    );
    assert.deepEqual(
      [wedged, doomed].filter((id) => !held(rebuilt).includes(id)),
      [],
      'the wedged jobs hold their leases still',
    );
    const waiting = rebuilt.view.requests.map(({ id }) => jobOfLeaseKey(id));
    const granted = others.filter((id) => !waiting.includes(id));
    assert.deepEqual([waiting.length, granted.length], [1, 2]);
    for (const id of granted) await runs(id);
    assert.equal((await admin.status()).nodes.length, 4);

    // What an operator does where nothing else helps: its chips go to who waits for them.
    await stack.client.workflow.getHandle(doomed).terminate('given up');
    await runs(waiting[0] as string);
    assert.ok(!begun().has(doomed), 'the disks of its slice are gone');

    // The command ends while nobody can hear of it.
    end(wedged);
    await poison.cure();
    for (const id of others) end(id);
    for (const id of [wedged, ...others]) {
      const { result, attempts } = await stack.jobs.wait(id);
      assert.deepEqual([id, result, attempts], [id, 'succeeded', 1], stack.tail());
    }
    await nothingIsLeft(stack, admin, [], POOL);
    assert.ok(mostChipsAtOnce(await admin.journal()) <= CHIPS, 'more chips existed than the pool has');
  });
});
