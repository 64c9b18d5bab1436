import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stringify } from 'yaml';
import type { ShownPhase } from '../../client/job-rows.js';
import { WorkflowType } from '../../contract/workflow-ids.js';
import { jobPrefix } from '../../domain/store-layout.js';
import { TEMPORAL_START_MS } from '../temporal-server.js';
import { until } from '../until.js';
import { jobFile } from './job-files.js';
import { JobctlUser } from './jobctl-process.js';
import { TestStack } from './test-stack.js';

/** Fails in members 2 and 7 of the first round. A member writes its parameters down. */
const COMMAND = `
echo "$JOBCTL_ARRAY_INDEX of $JOBCTL_ARRAY_COUNT: lr \${array.lr} $JOBCTL_ARRAY_SEED" > "$JOBCTL_OUTPUT_DIR/said"
echo "member \${array.index}"
case "$JOBCTL_JOB_ID" in *-r1-*) ;; *-2|*-7) exit 3;; esac
sleep 1`;

interface Status {
  readonly counts: Readonly<Record<string, number>>;
  readonly members: readonly { index: number; id: string; phase: string; exitCode?: number; parameters: object }[];
}

describe('an array of twelve, on the local stack', function () {
  this.timeout(300_000);
  let stack: TestStack;
  let user: JobctlUser;
  const folder = mkdtempSync(join(tmpdir(), 'jobctl-array-'));
  const file = join(folder, 'sweep.yaml');

  before(async function () {
    this.timeout(TEMPORAL_START_MS);
    stack = await TestStack.start();
    user = JobctlUser.of(stack);
    const tpu = { accelerator: 'v5litepod-1' };
    writeFileSync(file, stringify(jobFile(COMMAND, { name: 'exp', tpu, retries: { task: 0 } })));
  });
  after(async () => {
    await user.leave();
    await stack.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  const statusOf = async (id: string): Promise<Status> => {
    const { stdout, stderr } = await user.here('status', id, '--output', 'json');
    assert.ok(stdout.startsWith('{'), stderr);
    return JSON.parse(stdout) as Status;
  };
  /** Members whose outcome is not known. A workflow closes a moment after its group was told. */
  const open = async (id: string): Promise<number> =>
    (await stack.jobs.find({ group: id })).filter(
      ({ endedAt, outcome }) => endedAt === undefined && outcome === undefined,
    ).length;

  it('runs three at a time, tells which failed, and retries those two', async () => {
    const sweep = ['--sweep', 'array.lr=1', '--sweep', 'env.SEED=1..6'];
    const refused = await user.here('submit', file, ...sweep);
    assert.equal(refused.code, 2);
    assert.match(refused.stderr, /--sweep array\.lr=1: 'array\.lr' is not a key of a job/);

    const flags = ['--sweep', 'env.lr=0.1,0.01', '--sweep', 'env.SEED=1..6', '--set', 'array.max_parallel=3'];
    const submitted = await user.here('submit', file, ...flags);
    assert.equal(submitted.code, 0, submitted.stderr);
    const id = submitted.stdout.trim();
    assert.match(id, /^exp-[a-z0-9]{4}$/);
    let most = 0;
    await until(
      'all have ended',
      async () => {
        most = Math.max(most, await open(id));
        return (await stack.jobs.group(id)).endedAt !== undefined;
      },
      200_000,
    );
    assert.ok(most >= 1 && most <= 3, `${most} were open at once`);
    const waited = await user.here('wait', id);
    assert.equal(waited.code, 1);

    const { counts, members } = await statusOf(id);
    assert.equal(counts['succeeded'], 10);
    assert.equal(counts['failed'], 2);
    assert.deepEqual(
      members
        .filter(({ phase }) => phase === 'failed')
        .map(({ index, exitCode, parameters }) => [index, exitCode, parameters]),
      [
        [2, 3, { lr: 0.1, SEED: 3 }],
        [7, 3, { lr: 0.01, SEED: 2 }],
      ],
    );
    const table = await user.here('status', id);
    assert.match(table.stdout, /INDEX +LR +SEED +PHASE +JOB +WHY/);
    assert.match(table.stdout, new RegExp(`\\n7 +0\\.01 +2 +failed +${id}-7 +`));

    const noLogs = await user.here('logs', id);
    assert.equal(noLogs.code, 2);
    assert.match(noLogs.stderr, /is a group; of which member\?/);
    const logs = await user.here('logs', id, '--member', '4');
    assert.equal(logs.stdout, 'member 4\n', logs.stderr);

    const retried = await user.here('retry', id, '--failed');
    assert.equal(retried.code, 0, retried.stderr);
    assert.match(retried.stdout, new RegExp(`^2 members of group ${id} run again, as ${id}-r1-N`));
    const good = await user.here('wait', id);
    assert.equal(good.code, 0, good.stderr);
    const after = await statusOf(id);
    assert.equal(after.counts['succeeded'], 12);
    const again = after.members.filter((member) => member.id.includes('-r1-')).map((member) => member.id);
    assert.deepEqual(again, [`${id}-r1-2`, `${id}-r1-7`]);
    assert.equal((await stack.jobs.count({ group: id })).total, 14);

    const target = join(folder, 'files');
    const downloaded = await user.here('download', id, target);
    assert.equal(downloaded.code, 0, downloaded.stderr);
    assert.equal(readFileSync(join(target, '7', 'said'), 'utf8'), '7 of 12: lr 0.01 2\n');

    const none = await user.here('list', '--group', 'never-was');
    assert.equal(none.code, 3);
    assert.match(none.stderr, /no group 'never-was'/);

    const ended = await user.here('stop', id);
    assert.equal(ended.code, 4);
    assert.match(ended.stderr, new RegExp(`group ${id} has ended: there is nothing to stop`));

    // A job closes a while after its outcome is known; until then it writes what it keeps.
    await until(
      'all jobs are closed',
      async () => (await stack.jobs.find({ group: id, state: 'open' })).length === 0,
      60_000,
    );
    const purged = await user.here('delete', id, '--purge', '--yes');
    assert.equal(purged.code, 0, purged.stderr);
    assert.equal(purged.stdout.match(/ removed from /g)?.length, 14, purged.stdout);
    const left = await Promise.all(['0', '7', 'r1-7'].map((each) => stack.store.list(jobPrefix(`${id}-${each}`))));
    assert.deepEqual(left.flat(), []);
  });

  it('is stopped as a whole, goes on, and leaves nothing when it is cancelled, with its worker killed each time', async () => {
    const array = { matrix: { i: '1..12' }, max_parallel: 3 };
    const { id, members } = await stack.jobs.submit({
      job: jobFile('sleep 600', { tpu: { accelerator: 'v5litepod-1' }, array }),
    });
    assert.equal(members, 12);
    const inPhase = async (phase: ShownPhase): Promise<number> => (await stack.jobs.find({ group: id, phase })).length;
    await until('three run', async () => (await inPhase('running')) === 3, 60_000);
    const deleted = await user.here('delete', id, '--yes');
    assert.equal(deleted.code, 4);
    assert.match(deleted.stderr, new RegExp(`group ${id} goes on`));
    const stopped = await user.here('stop', id, '--yes');
    assert.equal(stopped.code, 0, stopped.stderr);
    assert.match(stopped.stdout, /3 members stopped, or about to be; 0 had nothing to stop\n$/);
    await stack.killWorker();
    await stack.startWorker();
    await until('three are paused', async () => (await inPhase('paused')) === 3, 60_000);
    assert.match((await user.here('list', '--group', id)).stdout, /stopped by .*: 3 open, 9 waiting$/m);
    // Another would begin in its place.
    await stack.jobs.cancel(`${id}-1`);
    await until('its group knows', async () => (await stack.jobs.group(id)).counts?.['open'] === 2, 60_000);
    assert.equal((await stack.jobs.group(id)).counts?.['waiting'], 9);
    const resumed = await user.here('resume', id, '--output', 'json');
    assert.equal(resumed.code, 0, resumed.stderr);
    const { done, left, failed } = JSON.parse(resumed.stdout) as Record<string, unknown>;
    assert.deepEqual([done, left, failed], [2, 0, []]);
    await until('three run again', async () => (await inPhase('running')) === 3, 60_000);
    await stack.killWorker();
    await stack.startWorker();
    const cancelled = await user.here('cancel', id, '--yes');
    assert.equal(cancelled.code, 0, cancelled.stderr);
    await until('all have ended', async () => (await stack.jobs.group(id)).endedAt !== undefined, 120_000);
    const { counts } = await statusOf(id);
    assert.deepEqual([counts['cancelled'], counts['open'], counts['waiting']], [12, 0, 0]);
    assert.equal((await stack.jobs.count({ group: id })).total, 4);
    const isLeft = async (): Promise<boolean> =>
      (await stack.client.workflow.count(`WorkflowType = '${WorkflowType.Slice}' AND ExecutionStatus = 'Running'`))
        .count > 0;
    await until('no slice is left', async () => !(await isLeft()), 120_000);
  });
});
