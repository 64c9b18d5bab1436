import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { writeHistory } from '../../activities/quota.js';
import { readPoolState } from '../../client/pool-state.js';
import type { PoolSnapshot } from '../../quota/published-state.js';
import { TEMPORAL_START_MS } from '../temporal-server.js';
import { until } from '../until.js';
import { type Finished, JobctlUser } from '../end-to-end/jobctl-process.js';
import { quotaFileText } from '../quota/quota-file-text.js';
import { TestStack } from '../end-to-end/test-stack.js';

/** One project with all 8 units of the pool, and root as its admin. */
const QUOTA = quotaFileText({ v5litepod: 8 }, { vision: { members: ['alice'], share: 1 } });
const POOL_FILE = '[quota]\nadmins = ["root"]\n';

describe('the verbs of a pool, on a running stack', function () {
  this.timeout(60_000);
  const pool = `verbs-${randomBytes(3).toString('hex')}`;
  const user = new JobctlUser();
  let stack: TestStack;
  let where: readonly string[];
  const file = (name: string, text: string): string => {
    const path = join(user.home, name);
    writeFileSync(path, text);
    return path;
  };
  const jobctl = (...args: string[]): Promise<Finished> => user.here(...args, ...where);
  const quota = (...args: string[]): Promise<Finished> => jobctl('quota', ...args, '--pool', pool);

  before(async function () {
    this.timeout(TEMPORAL_START_MS + 60_000);
    stack = await TestStack.start();
    const { server, store, rehearsal, taskQueue } = stack;
    const codec = process.env['JOBCTL_TEST_CODEC_KEY'] ? ['--codec-key', 'env:JOBCTL_TEST_CODEC_KEY'] : [];
    where = [
      ...['--temporal-address', server.address, '--namespace', server.namespace, '--task-queue', taskQueue],
      ...['--bucket', store.bucket, '--store-endpoint', rehearsal.endpoints.store, ...codec],
    ];
  });
  after(async () => {
    await stack.stop();
    await user.leave();
  });

  const published = (what: string, is: (state: PoolSnapshot) => boolean): Promise<unknown> =>
    until(`the pool is published ${what}`, async () => {
      const state = await readPoolState(stack.store, pool);
      return state !== undefined && is(state);
    });

  const submit = (name: string): Promise<unknown> =>
    stack.jobs.submit({
      name,
      user: 'alice',
      job: {
        pool,
        project: 'vision',
        tpu: { accelerator: 'v5litepod-8', zone: 'us-central1-a' },
        command: { run: 'sleep 600' },
      },
    });

  it('a pool that never ran is told from one that is there', async () => {
    const [shown, frozen] = await Promise.all([quota('show'), quota('freeze')]);
    assert.equal(shown.code, 3);
    assert.match(shown.stderr, new RegExp(`^no pool '${pool}' in bucket ${stack.store.bucket}: nothing was published`));
    assert.equal(frozen.code, 3);
    assert.match(
      frozen.stderr,
      new RegExp(`^server .*\\nno pool '${pool}' has run in namespace .*\\n  a pool runs from its first job`),
    );
  });

  it('a broken file is refused before anything is done', async () => {
    const { code, stderr } = await quota('apply', file('broken.toml', QUOTA.replace('= 1\n', '= "all"\n')), '--yes');
    assert.equal(code, 2);
    assert.match(stderr, /broken\.toml:8:13: v5litepod: 'all' is not a share/);
    assert.equal((await quota('show')).code, 3);
  });

  it('the first apply starts the pool, and says what it changes', async () => {
    const files = [file('quota.toml', QUOTA), '--pool-file', file('pool.toml', POOL_FILE)];
    const { code, stdout, stderr } = await quota('apply', ...files, '--yes', '--by', 'root');
    assert.equal(code, 0, stderr);
    assert.match(stdout, /\n {2}tier 1: v5litepod +- +-> +8\n[^]*it never ran: this starts it\n[^]*in force in pool/);
    await published('under the files', ({ source }) => source === 'applied by root');
    const shown = JSON.parse((await quota('show', '--output', 'json')).stdout) as { source?: string; tiers: object[] };
    assert.equal(shown.source, 'applied by root');
    assert.deepEqual(shown.tiers, [{ tier: 0, type: 'v5litepod', total: 8, inUse: 0, draining: 0, free: 8 }]);
  });

  it('who is no admin is refused with 4, and nothing is changed', async () => {
    const refused = await quota('freeze', '--by', 'mallory');
    assert.deepEqual([refused.code, refused.stdout], [4, '']);
    assert.match(refused.stderr, /^server .*\n'mallory' is no admin of pool .*\n {2}nothing was changed\n$/);
  });

  it('a queued job has its place in line, and says what it waits for', async () => {
    const [first, second] = [`${pool}-a`, `${pool}-b`];
    await submit(first);
    await until('the first job runs', async () => (await stack.jobs.row(first)).phase === 'running', 60_000);
    await submit(second);
    await published('with a job that waits', ({ view }) => view.requests.length === 1 && view.leases.length === 1);
    const list = (await jobctl('list', '--user', 'alice')).stdout;
    assert.match(list, new RegExp(`\\n${second} .* queued \\(1st\\) +\\S+ +0 +[^ ]`));
    const text = (await jobctl('status', second)).stdout;
    assert.match(text, /phase +queued for \d+s, 1st of 1 in line: .+\n/);
    const shown = (await quota('show')).stdout;
    assert.match(shown, / {2}vision +v5litepod +8 +8 +0 +0 +0 +8\n/);
  });

  it('a freeze is shown with its reason until it is thawed', async () => {
    const { code } = await quota('freeze', '--reason', 'new racks', '--by', 'root');
    assert.equal(code, 0);
    await published('as frozen', ({ admission }) => admission === 'frozen');
    assert.match(
      (await quota('show')).stdout,
      /admission +FROZEN, nothing new is granted: new racks \(by root, \d+s ago\)\n/,
    );
    assert.equal((await quota('thaw', '--by', 'root')).code, 0);
    await published('as open', ({ admission }) => admission === 'open');
  });

  it('set-priority changes an open job, and refuses others’', async () => {
    const second = `${pool}-b`;
    const changed = await jobctl('quota', 'set-priority', second, '1', '--by', 'alice');
    assert.deepEqual(
      [changed.code, changed.stdout],
      [0, `job ${second} has priority 1 of 1 (first) to 5 from now on\n`],
    );
    const others = await jobctl('quota', 'set-priority', second, '2', '--by', 'bob');
    assert.equal(others.code, 4);
    const unknown = await jobctl('quota', 'set-priority', 'no-such-job', '2');
    assert.equal(unknown.code, 3);
  });

  it('history tells chip-hours of what was written', async () => {
    const at = Date.now() - 7_200_000;
    const whose = { job: 'old-1', lease: 1, project: 'vision', user: 'alice', tier: 0, units: { v5litepod: 8 } };
    const lines = [
      { at, kind: 'granted', ...whose },
      { at, kind: 'chips', ...whose },
      { at: at + 3_600_000, kind: 'freed', ...whose },
    ].map((line) => JSON.stringify(line));
    const day = new Date(at).toISOString().slice(0, 10);
    await writeHistory(stack.store, { pool, day, name: '1-00000000', lines });
    const { stdout } = await quota('history', '--since', '1d', '--output', 'json');
    const { leases, usage } = JSON.parse(stdout) as {
      leases: { job: string; heldMs: number }[];
      usage: { chipHours: number }[];
    };
    assert.deepEqual(
      leases.filter(({ job }) => job === 'old-1').map(({ heldMs }) => heldMs),
      [3_600_000],
    );
    assert.ok((usage[0]?.chipHours ?? 0) >= 8);
    assert.match((await quota('history')).stdout, /old-1 .*1h 00m/);
  });
});
