import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { quotaFileText } from '../quota/quota-file-text.js';
import { TEMPORAL_START_MS } from '../temporal-server.js';
import { until } from '../until.js';
import { JobctlUser } from './jobctl-process.js';
import { TestStack } from './test-stack.js';

/** Room for one v5litepod-16. */
const QUOTA = quotaFileText({ v5litepod: 16 }, { vision: { members: ['alice'], share: 1 } });
const WAITING = 'waiting for the first answer of its pool ..';

describe('the first verdict on a job that is submitted', function () {
  this.timeout(60_000);
  const pool = `verdict-${randomBytes(3).toString('hex')}`;
  let stack: TestStack;
  let user: JobctlUser;
  let file: string;

  before(async function () {
    this.timeout(TEMPORAL_START_MS);
    stack = await TestStack.start({ quota: QUOTA, pool });
    user = JobctlUser.of(stack);
    file = join(user.home, 'job.yaml');
    writeFileSync(
      file,
      `pool: ${pool}\ntpu: {accelerator: v5litepod-16, zone: us-central1-a, pricing: spot}\ncommand: {run: sleep 600}\n`,
    );
  });
  after(async () => {
    for (const id of ['first', 'second', 'third']) await stack.jobs.cancel(id).catch(() => undefined);
    await stack.stop();
    await user.leave();
  });

  const submit = (name: string, ...more: string[]) =>
    user.start('submit', file, '--name', name, '--user', 'alice', ...more);
  const header = (name: string, slice = 'v5litepod-16 spot   16 chips on 4 hosts'): string => `${name}   ${slice}   `;

  /** What stands on stderr behind the header, whose end is a price. */
  function behindHeader(stderr: string, head: string): readonly string[] {
    const lines = stderr.split('\n');
    assert.ok(lines[0]?.startsWith(head), stderr);
    assert.deepEqual([lines[1], lines.at(-1)], [WAITING, ''], stderr);
    return lines.slice(2, -1);
  }

  it('a pool with room has granted it: where it is now, and exit code 0', async () => {
    const { code, stdout, stderr } = await submit('first').finished;
    assert.deepEqual([code, stdout], [0, 'first\n'], stderr);
    const [line = '', ...more] = behindHeader(stderr, header('first'));
    assert.match(line, /^(provisioning: 1 x v5litepod-16 in us-central1-a|setting-up: .+|running: .+)$/);
    assert.deepEqual(more, []);
  });

  it('a full pool lets it wait: its place in line, and what it waits for', async () => {
    const { code, stdout, stderr } = await submit('second').finished;
    assert.deepEqual([code, stdout], [0, 'second\n'], stderr);
    assert.deepEqual(behindHeader(stderr, header('second')), [
      'queued, 1st of 1 in line: 16 more chips: vision has its 16 nominal in use, the pool has 0 free',
      '  `jobctl why second` tells every reason, and what would help',
    ]);
  });

  it('JSON has the verdict beside the id', async () => {
    const { code, stdout } = await submit('third', '--output', 'json').finished;
    assert.deepEqual(
      [code, JSON.parse(stdout)],
      [
        0,
        {
          id: 'third',
          verdict: {
            kind: 'queued',
            position: 2,
            of: 2,
            why: '16 more chips: vision has its 16 nominal in use, the pool has 0 free',
          },
        },
      ],
    );
  });

  it('without a bucket its place is not known, and the command that tells it is named', async () => {
    const fourth = new JobctlUser({
      TEMPORAL_ADDRESS: stack.server.address,
      TEMPORAL_NAMESPACE: stack.server.namespace,
      JOBCTL_TASK_QUEUE: stack.taskQueue,
      JOBCTL_HOME: '/nonexistent/jobctl',
    });
    const { code, stderr } = await fourth.run('submit', file, '--name', 'fourth', '--user', 'alice');
    await stack.jobs.cancel('fourth');
    assert.equal(code, 0, stderr);
    assert.deepEqual(behindHeader(stderr, header('fourth')), [
      'queued: waits for quota of project vision',
      '  its place in line is not known yet; `jobctl why fourth` tells it',
    ]);
  });

  const CAN_NEVER = 'tpu.accelerator: v5litepod-32 can never start: 32 v5litepod asked, the pool has 16';
  it('what the pool can never start is exit code 4, with its reason', async () => {
    const { code, stdout, stderr } = await submit('big', '--set', 'tpu.accelerator=v5litepod-32').finished;
    assert.deepEqual([code, stdout], [4, 'big\n'], stderr);
    assert.deepEqual(behindHeader(stderr, header('big', 'v5litepod-32 spot   32 chips on 8 hosts')), [
      `big was refused: ${CAN_NEVER}`,
      '  nothing of it runs, and its name is free; submit again when that is mended',
    ]);
    assert.equal((await stack.jobs.row('big')).phase, 'failed');
  });

  it('is no row of the board, and burns no name: the same name takes another content', async () => {
    const again = await submit('mended', '--set', 'tpu.accelerator=v5litepod-32').finished;
    assert.equal(again.code, 4, again.stderr);
    const rowsOf = async (...flags: readonly string[]) =>
      (JSON.parse((await user.run('list', '--all', ...flags, '-o', 'json')).stdout) as { jobs: { id: string }[] }).jobs;
    await until('visibility has the end of it', async () => (await stack.jobs.row('mended')).endedAt !== undefined);
    for (const flags of [[], ['--phase', 'failed'], ['--name', 'mended']])
      assert.deepEqual(
        (await rowsOf(...flags)).filter(({ id }) => id === 'mended'),
        [],
      );
    const mended = await submit('mended').finished;
    assert.equal(mended.code, 0, mended.stderr);
    await until('the board has it', async () => (await rowsOf()).filter(({ id }) => id === 'mended').length === 1);
    await stack.jobs.cancel('mended');
    const other = await submit('mended', '--set', 'env.A=1').finished;
    assert.equal(other.code, 4, other.stderr);
  });

  it('so is it in JSON, where the verdict is on stdout too', async () => {
    const { code, stdout, stderr } = await submit('big', '--set', 'tpu.accelerator=v5litepod-32', '-o', 'json')
      .finished;
    assert.equal(code, 4, stderr);
    assert.deepEqual(JSON.parse(stdout), { id: 'big', verdict: { kind: 'refused', message: CAN_NEVER } });
  });

  it('and with --wait, and of `jobctl wait`', async () => {
    const followed = await submit('big', '--set', 'tpu.accelerator=v5litepod-32', '--wait').finished;
    assert.deepEqual([followed.code, followed.stdout], [4, ''], followed.stderr);
    assert.ok(followed.stderr.includes(`\nbig was refused: ${CAN_NEVER}\n`), followed.stderr);
    const waited = await user.run('wait', 'big');
    assert.deepEqual([waited.code, waited.stdout], [4, ''], waited.stderr);
  });

  it('a user who is no member of the project is refused, with every line of the reason', async () => {
    const { code, stderr } = await user.run('submit', file, '--project', 'vision', '--user', 'mallory');
    assert.equal(code, 4, stderr);
    const [, , first = '', ...more] = stderr.trimEnd().split('\n');
    assert.match(first, /^v5litepod-16-\w{4} was refused: .*mallory/);
    assert.equal(more.at(-1), '  nothing of it runs, and its name is free; submit again when that is mended', stderr);
  });

  it('where nobody polls the task queue, that is said, with what to do', async () => {
    const queue = `nobody-${pool}`;
    const { code, stdout, stderr } = await submit('alone', '--task-queue', queue).finished;
    assert.deepEqual([code, stdout], [0, 'alone\n'], stderr);
    assert.deepEqual(behindHeader(stderr, header('alone')), [
      `queued: no worker polls task queue '${queue}' of namespace '${stack.server.namespace}'`,
      '  the job is kept and starts when a worker comes up: `jobctl worker` (docs/worker.md), or `jobctl dev up` for a local stack',
      '  if your workers poll another queue, name it: --task-queue or JOBCTL_TASK_QUEUE',
    ]);
  });

  it('with --wait it is said while the job is followed, and Ctrl-C leaves the job', async () => {
    const queue = `nobody-${pool}`;
    const following = submit('alone', '--task-queue', queue, '--wait');
    const told = until('it says so', () => following.stderr().includes('queued: no worker polls task queue'));
    await told.finally(() => following.kill('SIGINT'));
    const { code, stderr } = await following.finished;
    assert.equal(code, 130);
    assert.match(stderr, /\nalone goes on\. To come back to it:\n/);
  });

  it('--no-verdict returns at once, and says nothing of its pool', async () => {
    const queue = `nobody-${pool}`;
    const text = await submit('alone', '--task-queue', queue, '--no-verdict').finished;
    const json = await submit('alone', '--task-queue', queue, '--no-verdict', '--output', 'json').finished;
    await stack.jobs.cancel('alone');
    assert.deepEqual([text.code, text.stdout], [0, 'alone\n'], text.stderr);
    assert.equal(text.stderr.split('\n')[1], 'alone was submitted before with the same content: it is that job');
    assert.doesNotMatch(text.stderr, /waiting|queued/);
    assert.deepEqual([json.code, json.stdout], [0, '{"id":"alone"}\n']);
  });

  it('a worker that polled a moment ago and answers nothing is waited for no longer than 5 s', async () => {
    await stack.killWorker();
    const began = Date.now();
    const { code, stderr } = await submit('unheard').finished;
    await stack.client.workflow.getHandle('unheard').terminate('test');
    assert.equal(code, 0, stderr);
    assert.ok(Date.now() - began >= 5_000);
    assert.deepEqual(behindHeader(stderr, header('unheard')), [
      'not known yet: no worker has answered for it within 5s',
      '  the job is kept; `jobctl status unheard` tells when one has',
    ]);
  });
});
