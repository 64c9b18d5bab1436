import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ensureRunning, PartFailed, stopPart } from '../../cli/local/dev/part.js';
import type { Part, PartSlot } from '../../cli/local/dev/part.js';
import { identify, isAlive, isGroupAlive } from '../../cli/place/stack/process-identity.js';
import type { ProcessRecord } from '../../cli/place/stack/stack-record.js';
import { until } from '../until.js';

describe('a part of the stack', () => {
  let folder: string;
  let slot: PartSlot & { record: ProcessRecord | undefined };
  let strangers: ChildProcess[];

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'jobctl-part-'));
    strangers = [];
    slot = {
      logFile: join(folder, 'logs', 'part.log'),
      record: undefined,
      read: () => slot.record,
      write: (record) => void (slot.record = record),
    };
  });
  afterEach(async () => {
    await stopPart({ stopGraceMs: 0 }, slot);
    for (const stranger of strangers) stranger.kill('SIGKILL');
    rmSync(folder, { recursive: true });
  });

  /** A shell script that is ready when it has made the file `ready`. */
  const part = (script: string, more: Partial<Part> = {}): Part => ({
    title: 'the part',
    command: () => Promise.resolve('/bin/bash'),
    args: ['-c', script],
    env: { PATH: process.env['PATH'], FOLDER: folder },
    cwd: folder,
    isReady: () => Promise.resolve(existsSync(join(folder, 'ready'))),
    readyTimeoutMs: 10_000,
    stopGraceMs: 10_000,
    ...more,
  });
  const SERVES = 'touch ready; exec sleep 600';
  const pidOf = (): number => slot.record?.identity.pid ?? assert.fail('nothing is recorded');
  const kill = async (): Promise<void> => {
    const { identity } = slot.record ?? assert.fail('nothing is recorded');
    process.kill(identity.pid, 'SIGKILL');
    await until('killed', () => !isAlive(identity));
  };
  const failureOf = async (broken: Part): Promise<PartFailed> => {
    const err: unknown = await ensureRunning(broken, slot).then(
      () => undefined,
      (reason: unknown) => reason,
    );
    assert.ok(err instanceof PartFailed, `expected PartFailed, got ${String(err)}`);
    return err;
  };

  describe('is started', () => {
    it('once: what runs is left alone', async () => {
      assert.equal(await ensureRunning(part(SERVES), slot), 'started');
      const pid = pidOf();
      assert.equal(await ensureRunning(part(SERVES), slot), 'was running');
      assert.equal(pidOf(), pid);
    });

    it('in a process group of its own, away from the terminal, with its output in the log', async () => {
      await ensureRunning(part(`echo out; echo err >&2; ${SERVES}`), slot);
      const fields = readFileSync(`/proc/${pidOf()}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
      assert.deepEqual(fields.slice(2, 4), [String(pidOf()), String(pidOf())], 'group and session');
      assert.match(readFileSync(slot.logFile, 'utf8'), /^--- \S+ \/bin\/bash -c .*\nout\nerr\n$/);
    });

    it('again after kill -9, with the older output kept', async () => {
      await ensureRunning(part(`echo first; ${SERVES}`), slot);
      const pid = pidOf();
      await kill();
      rmSync(join(folder, 'ready'));
      assert.equal(await ensureRunning(part(`echo second; ${SERVES}`), slot), 'started again');
      assert.notEqual(pidOf(), pid);
      assert.match(readFileSync(slot.logFile, 'utf8'), /first\n--- .*\nsecond\n/);
    });

    it('again when it runs and does not answer, where that is wanted; else that is an error', async () => {
      await ensureRunning(part(SERVES), slot);
      const pid = pidOf();
      rmSync(join(folder, 'ready'));
      const silent = { readyTimeoutMs: 100 };
      const { message } = await failureOf(part(SERVES, silent));
      assert.match(message, /^the part: process \d+ runs, but is not ready after 0\.1 s/);
      assert.equal(pidOf(), pid);
      const returns = { readyTimeoutMs: 2_000, isRestartedIfSilent: true };
      assert.equal(await ensureRunning(part(SERVES, returns), slot), 'started again');
      assert.notEqual(pidOf(), pid);
      assert.equal(identify(pid), undefined, 'the old one is gone');
    });

    it('again when its configuration is another, and not when it has none', async () => {
      await ensureRunning(part(SERVES, { configuration: 'a' }), slot);
      const pid = pidOf();
      assert.equal(await ensureRunning(part(SERVES, { configuration: 'a' }), slot), 'was running');
      assert.equal(await ensureRunning(part(SERVES), slot), 'was running');
      assert.equal(pidOf(), pid);
      assert.equal(await ensureRunning(part(SERVES, { configuration: 'b' }), slot), 'started again');
      assert.equal(identify(pid), undefined);
    });

    it('beside a stranger that has its old pid: the stranger is not touched', async () => {
      const stranger = spawn('sleep', ['600'], { detached: true });
      strangers.push(stranger);
      const identity = { pid: stranger.pid ?? 0, start: 'of the part, which is dead' };
      slot.write({ identity, startedAt: 0, fingerprint: '' });
      assert.equal(await ensureRunning(part(SERVES), slot), 'started again');
      assert.notEqual(pidOf(), stranger.pid);
      assert.deepEqual([stranger.exitCode, stranger.signalCode], [null, null]);
    });
  });

  describe('fails, and says why, when', () => {
    it('it ends before it is ready: with the last lines of this start, not of an older one', async () => {
      await failureOf(part('echo of an older start; exit 1'));
      const { message } = await failureOf(part('for i in $(seq 40); do echo line $i; done; exit 3'));
      // On a busy machine it is gone before anybody could look at its process.
      const why = /^the part: (process \d+ ended before it was ready|\S+ cannot be started, or ended at once)\. /;
      assert.match(message, why);
      assert.match(message, / The end of \S+part\.log:\nline 26\n/);
      assert.match(message, /\nline 40$/);
      assert.doesNotMatch(message, /older/);
      // One that was gone at once was never recorded.
      const isDead = (): boolean => slot.record === undefined || identify(slot.record.identity.pid) === undefined;
      await until('it stays recorded, as dead', isDead);
    });

    it('a stranger answers in its place', async () => {
      const answersAfterTheEnd = async (): Promise<boolean> => {
        await until('it has ended', () => identify(pidOf()) === undefined);
        return true;
      };
      await failureOf(part('exit 1', { isReady: answersAfterTheEnd }));
    });

    it('it is not ready in time: it is left running, for the log and for another `up`', async () => {
      // On a busy machine its first line may take longer than its time to be ready.
      const isReady = async (): Promise<boolean> => {
        await until('it has printed', () => /^working$/m.test(readFileSync(slot.logFile, 'utf8')));
        return false;
      };
      const script = `echo working; until [ -e go-on ]; do sleep 0.02; done; ${SERVES}`;
      const slow = part(script, { readyTimeoutMs: 200, isReady });
      const { message } = await failureOf(slow);
      assert.match(message, /process \d+ runs, but is not ready after 0\.6 s\. The end of \S+:\n--- .*\nworking$/);
      assert.notEqual(identify(pidOf()), undefined);
    });

    it('its executable does not exist', async () => {
      const { message } = await failureOf(part('', { command: () => Promise.resolve('/no/such/program') }));
      assert.match(message, /\/no\/such\/program cannot be started/);
    });
  });

  describe('that has something for itself', () => {
    const claiming = (script: string): Part =>
      part(script, { claim: { what: '/x/temporal.db', file: join(folder, 'temporal.db.holder') } });

    it('is not started a second time when its record was lost while it runs, and is when it has ended', async () => {
      await ensureRunning(claiming(SERVES), slot);
      const first = slot.record ?? assert.fail('nothing is recorded');
      slot.record = undefined;
      const { message } = await failureOf(claiming(SERVES));
      const { pid } = first.identity;
      assert.match(
        message,
        new RegExp(`^the part: /x/temporal\\.db is in use by process ${pid}, .*\\n  .*kill ${pid}$`),
      );
      assert.equal(slot.record, undefined, 'nothing was started');
      assert.ok(isAlive(first.identity), 'and the first was left alone');
      process.kill(pid, 'SIGKILL');
      await until('it has ended', () => !isAlive(first.identity));
      assert.equal(await ensureRunning(claiming(SERVES), slot), 'started');
      assert.notEqual(pidOf(), pid);
    });

    it('is started again by who knows of it: another configuration, or no answer', async () => {
      await ensureRunning(claiming(SERVES), slot);
      const other = { ...claiming(SERVES), configuration: 'other' };
      assert.equal(await ensureRunning(other, slot), 'started again');
    });
  });

  describe('is stopped', () => {
    it('by SIGTERM, and has the time that it needs', async () => {
      await ensureRunning(
        part('trap "sleep 0.3; touch ended; exit" TERM; touch ready; while :; do sleep 0.02; done'),
        slot,
      );
      assert.equal(await stopPart({ stopGraceMs: 10_000 }, slot), 'stopped');
      assert.ok(existsSync(join(folder, 'ended')));
      assert.equal(slot.record, undefined);
    });

    it('by SIGKILL after its grace when it ignores SIGTERM', async () => {
      await ensureRunning(part('trap "" TERM; touch ready; while :; do sleep 0.02; done'), slot);
      const pid = pidOf();
      assert.equal(await stopPart({ stopGraceMs: 100 }, slot), 'killed');
      assert.equal(identify(pid), undefined);
    });

    it('with all that it has started, also when it ends well without them', async () => {
      await ensureRunning(
        part('(trap "" TERM; sleep 600) & trap "exit 0" TERM; touch ready; while :; do sleep 0.02; done'),
        slot,
      );
      const { identity } = slot.record ?? assert.fail();
      assert.equal(await stopPart({ stopGraceMs: 10_000 }, slot), 'stopped');
      assert.equal(isGroupAlive(identity), false);
    });

    it('with all that it has started, when it was killed itself', async () => {
      await ensureRunning(part('sleep 600 & touch ready; wait'), slot);
      const { identity } = slot.record ?? assert.fail();
      await kill();
      assert.equal(isGroupAlive(identity), true);
      assert.equal(await stopPart({ stopGraceMs: 100 }, slot), 'was not running');
      assert.equal(isGroupAlive(identity), false);
    });

    it('without a signal to a stranger that has its pid', async () => {
      const stranger = spawn('sleep', ['600'], { detached: true });
      strangers.push(stranger);
      const identity = { pid: stranger.pid ?? 0, start: 'of the part, which is dead' };
      slot.write({ identity, startedAt: 0, fingerprint: '' });
      assert.equal(await stopPart({ stopGraceMs: 100 }, slot), 'was not running');
      assert.notEqual(identify(identity.pid), undefined);
      assert.deepEqual([stranger.exitCode, stranger.signalCode], [null, null]);
    });
  });
});
