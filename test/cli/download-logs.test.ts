import assert from 'node:assert/strict';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  BUILD_STREAM,
  jobLogPrefix,
  logChunkObject,
  logPrefix,
  lostTailObject,
  setUpObject,
} from '../../domain/store-layout.js';
import type { JobRow } from '../../client/job-rows.js';
import { GatedApp } from '../server/gated-app.js';
import { type Ended, jobctl } from './command-line.js';

/** By the door of `jobctl serve`, whose store is a real one; without it the same function reads the same store. */
describe('download --logs', function () {
  this.timeout(60_000);
  let app: GatedApp;
  let home: string;
  let job: string;
  let jobs = 0;

  before(async () => {
    app = await GatedApp.start();
    home = mkdtempSync(join(tmpdir(), 'download-logs-'));
    for (const name of ['alice', 'mallory']) {
      mkdirSync(join(home, name));
      await as(name, 'context', 'set', 'team', '--server', app.urls[0] ?? '');
      const login = await as(name, 'login', '--id-token-from', 'env:ID_TOKEN');
      assert.deepEqual([login.exitCode, login.stderr], [0, '']);
    }
  });
  after(async () => {
    await app?.stop();
    if (home !== undefined) rmSync(home, { recursive: true, force: true });
  });

  const as = async (name: string, ...args: readonly string[]): Promise<Ended> =>
    jobctl(args, { HOME: join(home, name), ID_TOKEN: await app.issuer.token({ email: `${name}@example.org` }) });
  const to = (): string => join(home, job);
  const download = (...more: readonly string[]): Promise<Ended> =>
    as('alice', 'download', job, to(), '--logs', ...more);

  async function addJob(more: Partial<JobRow> = { phase: 'succeeded', endedAt: 2 }): Promise<void> {
    job = `logged-${jobs++}`;
    await app.addJob(job, 'alice@example.org', 'vision', more);
  }
  const put = async (stream: string, host: number | string, offset: number, text: string | Buffer, attempt = 1) =>
    app.store.replace(logChunkObject(logPrefix(job, attempt, stream), String(host), offset), text);
  const setUpOf = (hosts: number, attempt = 1): Promise<void> =>
    app.store.replace(
      setUpObject(job, attempt),
      JSON.stringify({ v: 1, modules: ['venv'], hosts, startedAt: 1, ready: {}, steps: [] }),
    );

  /** Each file below the folder, with its content. */
  function files(folder = to(), below = ''): Record<string, string> {
    return Object.fromEntries(
      readdirSync(join(folder, below), { withFileTypes: true }).flatMap((entry) => {
        const name = below === '' ? entry.name : `${below}/${entry.name}`;
        return entry.isDirectory()
          ? Object.entries(files(folder, name))
          : [[name, readFileSync(join(folder, name), 'utf8')]];
      }),
    );
  }

  it('lays down every module on every host, byte for byte, and what jobctl did', async () => {
    await addJob();
    const bytes = Buffer.from([0, 0x80, 0xff, 0x1b, 0x0d, 0x0a]);
    await put('command', 0, 0, 'step 1\n');
    await put('command', 0, 7, bytes);
    await put('command', 3, 0, 'other\n');
    await put('venv', 3, 0, 'pip\n');
    await put(BUILD_STREAM, 9, 0, 'built\n');
    await put('hook-finally', 0, 0, 'bye\n');
    await app.store.replace(lostTailObject(logPrefix(job, 1, 'command'), '3', 6), '[jobctl] more was printed\n');
    await app.store.replace(`${jobLogPrefix(job)}1`, 'queued\n');
    await setUpOf(4);
    const { exitCode, stderr } = await download();
    assert.equal(exitCode, 0, stderr);
    assert.deepEqual(readFileSync(join(to(), 'command/host-0.log')), Buffer.concat([Buffer.from('step 1\n'), bytes]));
    const { 'command/host-0.log': _, ...rest } = files();
    assert.deepEqual(rest, {
      'build/host-9.log': 'built\n',
      'command/host-3.log': 'other\n[jobctl] more was printed\n',
      'hook-finally/host-0.log': 'bye\n',
      'job.log': 'queued\n',
      'venv/host-3.log': 'pip\n',
    });
    // A line of its progress may stand before it.
    assert.match(stderr, /(^|\n)6 logs \(\d+ B\) of 3 hosts, attempt 1, in /);
  });

  it('gives each of several attempts a folder, and one that is chosen none', async () => {
    await addJob();
    await put('command', 0, 0, 'one\n', 1);
    await put('command', 0, 0, 'twelve\n', 12);
    assert.equal((await download()).exitCode, 0);
    assert.deepEqual(files(), { 'attempt-1/command/host-0.log': 'one\n', 'attempt-12/command/host-0.log': 'twelve\n' });
    rmSync(to(), { recursive: true });
    assert.equal((await download('--attempt', '12')).exitCode, 0);
    assert.deepEqual(files(), { 'command/host-0.log': 'twelve\n' });
  });

  it('of a job that runs brings what is there, says so, and brings the rest the next time', async () => {
    await addJob({ phase: 'running' });
    await put('command', 0, 0, 'a\n');
    const first = await download();
    assert.equal(first.exitCode, 0, first.stderr);
    assert.match(
      first.stderr,
      /logged-\d+ is running: this is what is stored so far; the same command brings the rest/,
    );
    await put('command', 0, 2, 'b\n');
    await put('command', 1, 0, 'x\n');
    const second = await download('-o', 'json');
    const { copied, unchanged, bytes, errors } = JSON.parse(second.stdout) as Record<string, unknown>;
    assert.deepEqual({ copied, unchanged, bytes, errors }, { copied: 2, unchanged: 0, bytes: 6, errors: [] });
    assert.match((await download()).stderr, /^0 logs \(0 B\) .*, 2 there already$/m);
    assert.deepEqual(files(), { 'command/host-0.log': 'a\nb\n', 'command/host-1.log': 'x\n' });
  });

  for (const [what, text] of [
    ['another text', 'mine\n'],
    ['more than the log', 'log\nand notes of mine\n'],
  ] as const)
    it(`leaves a file alone that has ${what}, and brings the others`, async () => {
      await addJob();
      await put('command', 0, 0, 'log\n');
      await put('command', 1, 0, 'log of 1\n');
      mkdirSync(join(to(), 'command'), { recursive: true });
      writeFileSync(join(to(), 'command/host-0.log'), text);
      const { exitCode, stderr } = await download();
      assert.equal(exitCode, 1);
      assert.match(stderr, /command\/host-0\.log is there with other content, and is left as it is: move it away/);
      assert.deepEqual(files(), { 'command/host-0.log': text, 'command/host-1.log': 'log of 1\n' });
    });

  it('writes through no link', async () => {
    await addJob();
    await put('command', 0, 0, 'log\n');
    await put('venv', 0, 0, 'log\n');
    const outside = join(home, 'outside');
    mkdirSync(outside, { recursive: true });
    mkdirSync(join(to(), 'command'), { recursive: true });
    symlinkSync(outside, join(to(), 'venv'));
    symlinkSync(join(outside, 'log'), join(to(), 'command/host-0.log'));
    const { exitCode, stderr } = await download();
    assert.equal(exitCode, 1);
    assert.match(stderr, /command\/host-0\.log is there and is no file/);
    assert.match(stderr, /venv is a symbolic link/);
    assert.deepEqual(readdirSync(outside), []);
  });

  it('takes no name from the bucket that no jobctl gives, and no host that the job has not', async () => {
    await addJob();
    await put('command', 0, 0, 'log\n');
    await put('command', 7, 0, 'of no host\n');
    await setUpOf(2);
    const prefix = `jobs/${job}/logs/a1`;
    const strange = ['..', '.', '', 'x/../../../y', 'Command', 'a.b', 'job.log', '-', '%2e%2e', 'é', 'n'.repeat(41)];
    for (const part of strange) await app.store.replace(`${prefix}/${part}/host-0.000000000000000`, 'evil\n');
    for (const host of ['00', '../../../x', '-1', '0x', '1e2'])
      await app.store.replace(`${prefix}/command/host-${host}.000000000000000`, 'evil\n');
    for (const attempt of ['01', '..', '1-x', 'x/../..'])
      await app.store.replace(`jobs/${job}/logs/a${attempt}/command/host-0.000000000000000`, 'evil\n');
    const { exitCode, stderr } = await download();
    assert.equal(exitCode, 0, stderr);
    assert.deepEqual(files(), { 'command/host-0.log': 'log\n' });
    assert.match(stderr, /attempt 1, command: logs of hosts that the job has not \(2 and more\) are left out/);
    assert.equal(existsSync(join(home, 'x')), false);
  });

  it('says of a host, an attempt and a job that nothing is stored of them', async () => {
    await addJob();
    await put('command', 0, 0, 'log\n');
    const some = await download('--host', '0,5');
    assert.equal(some.exitCode, 0);
    assert.match(some.stderr, /nothing is stored of host 5/);
    const none = await download('--host', '5', '--attempt', '3');
    assert.deepEqual(
      [none.exitCode, none.stderr.split('\n')[0]],
      [3, `${job} has no stored logs of host 5, attempt 3`],
    );
    await addJob({ phase: 'queued' });
    const yet = await download();
    assert.deepEqual([yet.exitCode, yet.stderr.split('\n')[0]], [3, `${job} has no stored logs yet: it is queued`]);
    assert.equal(existsSync(to()), false);
  });

  it('names a folder that cannot be made, once', async () => {
    await addJob();
    await put('command', 0, 0, 'log\n');
    await put('venv', 0, 0, 'log\n');
    const { exitCode, stderr } = await as('alice', 'download', job, '/proc/x', '--logs');
    assert.notEqual(exitCode, 0);
    assert.equal(stderr.split('/proc/x').length, 2, stderr);
  });

  it('is refused to who may not read the logs, and makes no folder', async () => {
    await addJob();
    await put('command', 0, 0, 'log\n');
    const { exitCode, stderr } = await as('mallory', 'download', job, to(), '--logs');
    assert.equal(exitCode, 4, stderr);
    assert.match(stderr, /mallory@example\.org may not read the logs/);
    assert.equal(existsSync(to()), false);
  });
});
