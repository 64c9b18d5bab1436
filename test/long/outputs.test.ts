import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { outputContentObject, outputManifestObject } from '../../domain/store-layout.js';
import { openDoor } from '../end-to-end/door.js';
import { jobFile } from '../end-to-end/job-files.js';
import { type Finished, JobctlUser } from '../end-to-end/jobctl-process.js';
import { RehearsalAdmin } from '../end-to-end/rehearsal-admin.js';
import { storedLog } from '../end-to-end/stored-log.js';
import type { TestStack } from '../end-to-end/test-stack.js';
import { withStack } from '../end-to-end/with-stack.js';
import { until } from '../until.js';

describe('the outputs of a job', function () {
  this.timeout(180_000);
  let stack: TestStack;
  let user: JobctlUser;
  withStack((its) => {
    stack = its;
    user = JobctlUser.of(its);
  });
  const folder = mkdtempSync(join(tmpdir(), 'outputs-'));
  after(async () => {
    await user.leave();
    rmSync(folder, { recursive: true, force: true });
  });
  const read = (...path: string[]): string => readFileSync(join(folder, ...path), 'utf8');
  const one = { tpu: { accelerator: 'v5litepod-8' } };
  const submit = async (command: string, more: object): Promise<string> =>
    (await stack.jobs.submit({ job: jobFile(command, more as Record<string, unknown>) })).id;
  const printed = (id: string, attempt = 1): Promise<string> =>
    storedLog(stack.store, { id, attempt, stream: 'command', host: 0 });
  const wasRefused = ({ code, stderr }: Finished, exitCode: number, why: RegExp): void => {
    assert.equal(code, exitCode, stderr);
    assert.match(stderr, why);
  };

  it('of four hosts are said at its end, listed, and downloaded of one host or of all', async () => {
    const command = `mkdir -p out "out/a b" out/empty; echo "of $JOBCTL_HOST_INDEX" > "out/a b/host.txt"; ln -s "a b/host.txt" out/latest
      [ $JOBCTL_HOST_INDEX != 0 ] || echo best > best.ckpt; echo same > "$JOBCTL_OUTPUT_DIR/same"`;
    const file = join(folder, 'job.json');
    writeFileSync(file, JSON.stringify(jobFile(command, { outputs: ['out', '*.ckpt', '*.none'] })));
    const followed = await user.run('submit', file, '--wait', '--name', 'out-four');
    assert.equal(followed.code, 0, followed.stderr + stack.tail());
    assert.match(followed.stderr, /outputs: 9 files \(\d+ B\) of 4 hosts stored; nothing matched \*\.none/);
    assert.match(followed.stderr, /results: jobctl download out-four/);
    assert.match((await user.run('status', 'out-four')).stdout, /results +jobctl download out-four/);
    const { stdout } = await user.run('outputs', 'out-four');
    assert.match(stdout, /5 B +0 +1 +\d{4}-\d\d-\d\d \d\d:\d\dZ +best\.ckpt\n/);
    assert.match(stdout, /link +3 +1 +- +out\/latest -> a b\/host\.txt/);
    const first = await user.run('download', 'out-four', join(folder, 'first'));
    assert.equal(first.code, 0, first.stderr);
    assert.match(
      first.stderr,
      /^3 files \(\d+ B\) of host 0, attempt 1, in .*\n {2}3 other hosts stored 6 files: --host all/,
    );
    assert.deepEqual([read('first/out/latest'), read('first/best.ckpt')], ['of 0\n', 'best\n']);
    assert.deepEqual(readdirSync(join(folder, 'first/out/empty')), []);
    await user.run('download', 'out-four', join(folder, 'all'), '--host', '0,2');
    assert.deepEqual([read('all/host-2/out/a b/host.txt'), read('all/host-0/same')], ['of 2\n', 'same\n']);
    assert.match((await user.run('download', 'out-four', join(folder, 'first'))).stderr, /^0 files .*3 there already/);
    wasRefused(await user.run('cp', 'out-four:out/a', folder), 4, /and so do its outputs: jobctl download out-four/);
    wasRefused(await user.run('download', 'out-four', '--attempt', '7'), 3, /no files are stored of attempt 7/);
    wasRefused(await user.run('download', 'no-such-job', folder), 3, /no-such-job/);
  });

  it('are what was there when its slice was preempted with notice, what the command saved at that too', async () => {
    const id = await submit(
      'mkdir -p out; trap "echo saved > out/saved; exit 1" TERM; echo step > out/step; echo begun; while :; do sleep 0.1; done',
      { ...one, outputs: ['out'] },
    );
    await until('its command runs', async () => (await printed(id)) !== '', 60_000);
    const [slice] = (await stack.jobs.describe(id)).slices;
    await new RehearsalAdmin(stack.rehearsal.endpoints.admin).post('preempt', { name: slice?.ref.name, notice: true });
    await until('its next attempt runs', async () => (await printed(id, 2)) !== '', 90_000);
    const got = await user.run('download', id, join(folder, 'preempted'), '--attempt', '1');
    assert.equal(got.code, 0, got.stderr);
    assert.deepEqual([read('preempted/out/step'), read('preempted/out/saved')], ['step\n', 'saved\n']);
    await stack.jobs.cancel(id);
    const { result, outputs } = await stack.jobs.wait(id);
    assert.deepEqual([result, outputs?.attempt, outputs?.files], ['cancelled', 2, 2], stack.tail());
  });

  it('are stored of a command that failed, and a failure to store them fails no command', async () => {
    const failed = await submit('mkdir out; echo why > out/trace; exit 3', { ...one, outputs: ['out'] });
    const outcome = await stack.jobs.wait(failed);
    assert.deepEqual([outcome.result, outcome.exitCode, outcome.outputs?.files], ['failed', 3, 1], stack.tail());
    const admin = new RehearsalAdmin(stack.rehearsal.endpoints.admin);
    await admin.post('refuse', { method: 'objects.insert', code: 'PERMISSION_DENIED', nameMatches: '/outputs/' });
    const id = await submit('mkdir out; echo lost > out/trace', { ...one, outputs: ['out'] });
    const good = await stack.jobs.wait(id);
    await admin.stopRefusing();
    assert.equal(good.result, 'succeeded', stack.tail());
    assert.match(good.outputs?.missing?.[0]?.why ?? '', /may not write to gs:\/\/.*\(HTTP 403\)/);
    assert.match((await user.run('status', id)).stdout, /the last files of host 0 are NOT stored/);
  });

  it('are stored by the host, whose worker is killed at the end; the next one says what is stored', async () => {
    const door = await openDoor();
    const id = await submit(`mkdir out; echo begun; ${door.whileOpen}; echo end > out/end`, {
      ...one,
      outputs: ['out'],
    });
    await until('its command runs', async () => (await printed(id)) !== '', 60_000);
    await stack.killWorker();
    door.close();
    await until('they are stored', async () => stack.store.stat(outputManifestObject(id, 1, 0)), 90_000);
    await stack.startWorker();
    const { result, outputs } = await stack.jobs.wait(id);
    assert.deepEqual([result, outputs?.files, outputs?.hosts], ['succeeded', 1, 1], stack.tail());
  });

  /** Of a job that the store alone knows. */
  async function stored(job: string, entries: readonly object[], files: number): Promise<void> {
    const header = { v: 1, run: `${job}-a1`, state: 'ended', at: 1, files, bytes: 1, unmatched: [], problems: [] };
    const text = [header, ...entries].map((line) => `${JSON.stringify(line)}\n`).join('');
    await stack.store.replace(outputManifestObject(job, 1, 0), text);
  }
  const sha = (content: Buffer): string => createHash('sha256').update(content).digest('hex');

  it('of a forged manifest are refused by name: nothing is written outside of the folder, nor anywhere', async () => {
    const evil = Buffer.from('evil');
    const file = { sha256: sha(evil), size: 4, mtime: 1, mode: '644' };
    await stack.store.replace(outputContentObject('forged', file.sha256), evil);
    const forged: readonly (readonly object[])[] = [
      [{ path: '../../.ssh/authorized_keys', ...file }],
      [{ path: '/etc/cron.d/x', ...file }],
      [{ path: 'a/./b', ...file }],
      [
        { path: 'd', link: '../..' },
        { path: 'x', ...file },
      ],
      [
        { path: 'd', link: '/etc' },
        { path: 'x', ...file },
      ],
      [
        { path: 'd', link: 'e/../../..' },
        { path: 'x', ...file },
      ],
      [
        { path: 'd', link: 'e' },
        { path: 'd/x', ...file },
      ],
    ];
    const target = join(folder, 'forged');
    for (const entries of forged) {
      await stored('forged', entries, 1);
      wasRefused(
        await user.run('download', 'forged', target),
        1,
        /forged\/outputs\/manifests\/a1\/host-0\.jsonl is refused: /,
      );
      assert.ok(!existsSync(target), JSON.stringify(entries));
    }
    await stored('forged', [{ path: 'x', ...file }], 2);
    wasRefused(await user.run('download', 'forged', target), 1, /is not whole: it lists 1 files of 2/);
    await stored('forged', [{ path: 'x', ...file, sha256: sha(Buffer.from('good')) }], 1);
    await stack.store.replace(outputContentObject('forged', sha(Buffer.from('good'))), evil);
    wasRefused(
      await user.run('download', 'forged', target),
      1,
      /x: what is stored is not what its host stored \(SHA-256\)/,
    );
    assert.deepEqual(readdirSync(target), [], 'neither the file nor a part of it');
  });

  it('are gone on with where a download was killed', async () => {
    const content = Buffer.alloc(40_000_000, 'checkpoint ');
    const hash = sha(content);
    await stack.store.replace(outputContentObject('large', hash), content);
    await stored('large', [{ path: 'w', sha256: hash, size: content.length, mtime: 1, mode: '600' }], 1);
    const target = join(folder, 'large');
    const first = user.start('download', 'large', target);
    const partOf = (): string | undefined =>
      existsSync(target) ? readdirSync(target).find((name) => name.endsWith('.part')) : undefined;
    const size = await until('some of it is here', () => {
      const part = partOf();
      return part === undefined ? 0 : statSync(join(target, part)).size;
    });
    first.kill('SIGKILL');
    await first.finished;
    assert.ok(!existsSync(join(target, 'w')), 'no half a file under its name');
    assert.ok(size < content.length, `it was cut at ${size}`);
    const admin = new RehearsalAdmin(stack.rehearsal.endpoints.admin);
    // The hash is made once: for each event of the journal it would hold this process, and the store in it, for minutes.
    const reads = async () =>
      (await admin.journal()).filter((event) => JSON.stringify(event).includes(`contents/${hash}`)).length;
    const before = await reads();
    const again = await user.run('download', 'large', target);
    assert.equal(again.code, 0, again.stderr);
    assert.deepEqual(readdirSync(target), ['w']);
    assert.equal(sha(readFileSync(join(target, 'w'))), hash);
    const whole = Math.ceil(content.length / 4_194_304);
    assert.ok((await reads()) - before < whole, `${(await reads()) - before} of ${whole} pieces were read again`);
  });
});
