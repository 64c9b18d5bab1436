import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { outputContentObject } from '../../domain/store-layout.js';
import { TEMPORAL_START_MS } from '../temporal-server.js';
import { until } from '../until.js';
import { jobFile } from './job-files.js';
import { JobctlUser } from './jobctl-process.js';
import { TestStack } from './test-stack.js';

const TPU = { tpu: { accelerator: 'v5litepod-1' } };

describe('jobs that wait for others, on the local stack', function () {
  this.timeout(300_000);
  let stack: TestStack;
  let user: JobctlUser;
  const folder = mkdtempSync(join(tmpdir(), 'jobctl-chain-'));
  const file = join(folder, 'chain.yaml');

  before(async function () {
    this.timeout(TEMPORAL_START_MS);
    stack = await TestStack.start();
    user = JobctlUser.of(stack);
  });
  after(async () => {
    await user.leave();
    await stack.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  const rowOf = (id: string) => stack.jobs.row(id);

  it('a chain of three with an array in its middle, in one file, whose worker is killed', async () => {
    const jobs = [
      jobFile('cd "$JOBCTL_INPUT_ALL" && find . -type f | sort | xargs head -v -n 9', {
        ...{ name: 'report', ...TPU, after: { ok: 'sweep' }, inputs: { all: 'sweep' } },
      }),
      jobFile('echo blame', { name: 'blame', ...TPU, after: { not_ok: 'sweep' } }),
      jobFile('mkdir "$JOBCTL_OUTPUT_DIR/tokens"; echo words > "$JOBCTL_OUTPUT_DIR/tokens/a"; sleep 5', {
        ...{ name: 'prep', ...TPU },
      }),
      jobFile('sed "s/$/ of ${array.seed}/" "$JOBCTL_INPUT_DATA/a" > "$JOBCTL_OUTPUT_DIR/said"', {
        ...{ name: 'sweep', ...TPU, array: { matrix: { seed: '1..3' } } },
        inputs: { data: { job: 'prep', path: 'tokens' } },
      }),
    ];
    writeFileSync(file, jobs.map((job) => stringify(job)).join('---\n'));
    const submitted = await user.here('submit', file);
    assert.equal(submitted.code, 0, submitted.stderr);
    const ids = submitted.stdout.trim().split('\n');
    assert.deepEqual(
      ids.map((id) => id.replace(/-[a-z0-9]{4}$/, '')),
      ['prep', 'sweep', 'report', 'blame'],
      'each behind those that it waits for',
    );
    const [prep = '', sweep = '', report = '', blame = ''] = ids;
    await until('it says what it waits for', async () => (await rowOf(report)).why === `waits for ${sweep} to succeed`);
    const status = await user.here('status', sweep);
    assert.match(status.stdout, new RegExp(`no member begins yet: the group waits for ${prep} to succeed`));
    await stack.killWorker();
    await stack.startWorker();
    const waited = await user.here('wait', report);
    assert.equal(waited.code, 0, waited.stderr);
    const log = await user.here('logs', report);
    const said = [1, 2, 3].map((seed) => `==> ./${seed - 1}/said <==\nwords of ${seed}\n`).join('\n');
    assert.ok(log.stdout.includes(said), log.stdout);
    const story = await user.here('logs', report, '--job');
    assert.match(story.stdout, new RegExp(`inputs: all: 3 files \\(\\d+ B\\) of ${sweep}, from 3 members`));
    const members = await stack.jobs.find({ group: sweep });
    assert.equal(members.length, 3);
    const ended = (await rowOf(prep)).endedAt ?? Infinity;
    for (const { submittedAt } of members)
      assert.ok(submittedAt >= ended - 1_000, 'no member began before prep had ended');
    const { result, cause, attempts } = await stack.jobs.wait(blame);
    assert.deepEqual([result, attempts], ['cancelled', 0]);
    assert.match(
      cause?.message ?? '',
      new RegExp(`${sweep} succeeded, and it was to run only if that did not succeed`),
    );
  });

  it('one that is terminated, or fails, is heard of too, and one that is not there is refused', async () => {
    const gone = await user.here('submit', await written({ ...TPU, after: 'never-was' }));
    assert.equal(gone.code, 2);
    assert.match(gone.stderr, /after: .*Temporal knows no job or group 'never-was'/);
    writeFileSync(
      file,
      ['true', 'false']
        .map((command) =>
          stringify(
            jobFile(command, { name: command, ...TPU, ...(command === 'false' && { after: ['true', 'never-was'] }) }),
          ),
        )
        .join('---\n'),
    );
    const half = await user.here('submit', file);
    assert.equal(half.code, 2);
    assert.match(
      half.stderr,
      /after: names 'never-was', which is no job of this file, and no job or group that there is/,
    );
    assert.equal((await stack.jobs.find({ name: 'true' })).length, 0, 'nothing was submitted');
    const { id: dies } = await stack.jobs.submit({ job: jobFile('sleep 600', TPU) });
    const { id: fails } = await stack.jobs.submit({ job: jobFile('exit 3', { ...TPU, retries: { task: 0 } }) });
    const after = (condition: Readonly<Record<string, unknown>>) =>
      stack.jobs.submit({ job: jobFile('true', { ...TPU, after: condition }) });
    const [{ id: cleans }, { id: never }] = await Promise.all([
      after({ any: dies, not_ok: fails }),
      after({ ok: fails }),
    ]);
    assert.match((await stack.jobs.wait(never)).cause?.message ?? '', new RegExp(`${fails} failed`));
    await stack.client.workflow.getHandle(dies).terminate('by a test');
    assert.equal((await stack.jobs.wait(cleans)).result, 'succeeded');
  });

  it('a job whose inputs are not stored, or not any more, fails before it asks for chips', async () => {
    const { id: stores } = await stack.jobs.submit({ job: jobFile('echo x > "$JOBCTL_OUTPUT_DIR/x"', TPU) });
    const { id: idle } = await stack.jobs.submit({ job: jobFile('true', TPU) });
    const causeOf = async (inputs: object): Promise<string> => {
      const { id } = await stack.jobs.submit({ job: jobFile('true', { ...TPU, inputs }) });
      const { result, attempts, cause } = await stack.jobs.wait(id);
      assert.deepEqual([result, attempts], ['failed', 0], JSON.stringify(cause));
      return cause?.message ?? '';
    };
    assert.match(await causeOf({ data: idle }), new RegExp(`input data: no outputs of ${idle} are stored`));
    assert.match(await causeOf({ data: { job: stores, path: 'y' } }), /has stored files, and none at 'y'/);
    const contents = await stack.store.list(outputContentObject(stores, ''));
    for (const { name } of contents) await stack.store.remove(name);
    assert.match(
      await causeOf({ data: stores }),
      new RegExp(`'x' of ${stores} is not in the store any more .*run ${stores} again`),
    );
    const open = { data: { job: 'never-was', wait: false } };
    assert.match(await causeOf(open), /never-was has no stored outcome: it has not ended/);
  });

  it('a group is listed while it waits, and begins when a person lets it', async () => {
    const { id: holds } = await stack.jobs.submit({ job: jobFile('sleep 600', TPU) });
    const { id } = await stack.jobs.submit({
      job: jobFile('true', { name: 'grid', ...TPU, after: holds, array: { matrix: { i: '1..2' } } }),
    });
    const listed = async (): Promise<string> => (await user.here('list', '--group', id)).stdout;
    await until('it is listed', async () => (await listed()).includes(`waits for ${holds} to succeed`));
    const begun = await user.here('restart', id, '--set', 'after=null');
    assert.equal(begun.stdout, `group ${id} waits for no others any more: its members begin\n`, begun.stderr);
    const waited = await user.here('wait', id, '--timeout', '2m');
    assert.equal(waited.code, 0, waited.stderr);
    assert.match(waited.stderr, new RegExp(`^group ${id}: 2 succeeded$`, 'm'));
    await until('its end is listed', async () => /ago: 2 succeeded$/m.test(await listed()));
    await stack.jobs.cancel(holds);
    const { code, stderr } = await user.here('wait', holds, id);
    assert.equal(code, 1);
    assert.match(stderr, new RegExp(`^group ${id}: 2 succeeded$`, 'm'));
  });

  async function written(more: Readonly<Record<string, unknown>>): Promise<string> {
    const path = join(folder, 'one.yaml');
    writeFileSync(path, stringify(jobFile('true', more)));
    return path;
  }
});
