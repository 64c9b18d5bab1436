import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { firstOutput } from '../first-output.js';
import { acquireLock, holderOf, tryLock, identify, ownIdentity } from '../../cli/place/stack/process-identity.js';
import { loaded } from '../own-program.js';

const LOCK_MODULE = loaded(new URL('../../cli/place/stack/process-identity.js', import.meta.url));

describe('a file lock', () => {
  let folder: string;
  let path: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'jobctl-lock-'));
    path = join(folder, 'the.lock');
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  it('is held by one, and free again after its release', () => {
    const lock = tryLock(path);
    assert.deepEqual(holderOf(path), ownIdentity());
    assert.equal(tryLock(path), undefined);
    lock?.release();
    assert.notEqual(tryLock(path), undefined);
  });

  it('is waited for, and the holder is named', async () => {
    const lock = tryLock(path);
    const waited: number[] = [];
    const second = acquireLock(path, {
      timeoutMs: 10_000,
      onWait: ({ pid }) => {
        waited.push(pid);
        lock?.release();
      },
    });
    (await second).release();
    assert.deepEqual([waited, readdirSync(folder)], [[process.pid], []]);
  });

  it('that is not given up in time is an error with the holder and what to do', async () => {
    tryLock(path);
    await assert.rejects(
      acquireLock(path, { timeoutMs: 60 }),
      new RegExp(`the\\.lock: held by process ${process.pid} .*wait for it`),
    );
  });

  it('of a process that was killed is taken over', async () => {
    const holder = spawn(process.execPath, [...LOCK_MODULE.by, '-e', HOLDER, LOCK_MODULE.file, path], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    await firstOutput(holder);
    assert.equal(tryLock(path), undefined);
    holder.kill('SIGKILL');
    await once(holder, 'exit');
    assert.notEqual(tryLock(path), undefined);
  });

  it('of a pid that another process has now is taken over', () => {
    writeFileSync(path, JSON.stringify({ ...ownIdentity(), start: 'of another process' }));
    assert.notEqual(tryLock(path), undefined);
  });

  it('left by a dead process goes to exactly one of many that see it', async function () {
    this.timeout(60_000);
    writeFileSync(path, JSON.stringify({ pid: process.pid, start: 'of a dead process' }));
    const log = join(folder, 'log');
    writeFileSync(log, '');
    const racers = Array.from({ length: 4 }, () =>
      spawn(process.execPath, [...LOCK_MODULE.by, '-e', RACER, LOCK_MODULE.file, path, log], { stdio: 'inherit' }),
    );
    const codes = await Promise.all(racers.map(async (racer) => ((await once(racer, 'exit')) as [number])[0]));
    assert.deepEqual(codes, [0, 0, 0, 0]);
    const lines = readFileSync(log, 'utf8').trim().split('\n');
    assert.equal(lines.length, 4 * 2 * 25);
    for (let i = 0; i < lines.length; i += 2) {
      assert.equal(lines[i]?.replace('in', 'out'), lines[i + 1], `two held the lock at line ${i}`);
    }
  });
});

describe('a process identity', () => {
  it('differs for two processes and stays the same for one', () => {
    assert.deepEqual(identify(process.pid), ownIdentity());
    assert.notDeepEqual(identify(process.ppid), ownIdentity());
  });

  it('is none for a process that has ended', async () => {
    const child = spawn('true');
    const { pid = 0 } = child;
    await once(child, 'exit');
    assert.equal(identify(pid), undefined);
  });

  it('is read though the name of the program holds spaces and parentheses', async () => {
    const child = spawn('bash', ['-c', 'exec -a "a (b) c" sleep 60']);
    const renamed = spawn('python3', ['-c', RENAMED], { stdio: ['ignore', 'pipe', 'inherit'] });
    await firstOutput(renamed);
    assert.match(readFileSync(`/proc/${renamed.pid}/comm`, 'utf8'), /^x\) Z 1 \(y/);
    assert.match(identify(renamed.pid ?? 0)?.start ?? '', /^\d+@/);
    for (const process of [child, renamed]) process.kill('SIGKILL');
  });
});

const HOLDER = `
  const [module, path] = process.argv.slice(1);
  import(module).then(({ tryLock }) => { tryLock(path); console.log('held'); setInterval(() => {}, 1000); });
`;
/** Takes the lock 25 times, leaves it as if killed each time: the next has to take over from a holder that is gone. */
const RACER = `
  const { appendFileSync, renameSync, writeFileSync } = require('node:fs');
  const [module, path, log] = process.argv.slice(1);
  import(module).then(async ({ acquireLock }) => {
    for (let i = 0; i < 25; i++) {
      await acquireLock(path, { timeoutMs: 30000 });
      appendFileSync(log, 'in ' + process.pid + ' ' + i + '\\n');
      appendFileSync(log, 'out ' + process.pid + ' ' + i + '\\n');
      writeFileSync(path + '.' + process.pid, JSON.stringify({ pid: process.pid, start: 'of a dead process' }));
      renameSync(path + '.' + process.pid, path);
    }
  });
`;
const RENAMED = `
import ctypes, time
ctypes.CDLL(None).prctl(15, b"x) Z 1 (y", 0, 0, 0)
print("named", flush=True)
time.sleep(60)
`;
