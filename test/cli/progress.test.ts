import assert from 'node:assert/strict';
import { Writable } from 'node:stream';
import { HostLines, PlainScreen, type Screen, TerminalScreen } from '../../cli/jobs/watch/screen.js';
import { exitCodeOf } from '../../cli/jobs/watch/follow-to-end.js';
import { watchJob } from '../../cli/jobs/watch/watch-job.js';
import { lookOf } from '../../cli/terminal/render/look.js';
import { currentLine, progressLines, summaryLines } from '../../cli/terminal/render/progress.js';
import type { Outcome } from '../../domain/job-state.js';
import type { JobRow } from '../../client/job-rows.js';
import type { FollowedLog } from '../../client/log-follower.js';
import { row, T0 } from './rows.js';

const LOOK = lookOf({}, { LANG: 'C.UTF-8' });
const at = (seconds: number): number => T0 + seconds * 1000;

/** What was said of a job that was seen in these states, on a terminal and in a pipe. */
function told(states: readonly JobRow[]): { live: string[]; plain: string[] } {
  const lines = states.flatMap((state, i) => progressLines(states[i - 1], state, LOOK));
  return {
    live: lines.flatMap(({ live }) => live ?? []),
    plain: lines.flatMap(({ plain }) => (plain ? [plain] : [])),
  };
}

describe('progress of a job', () => {
  const queued = row({ phase: 'queued', why: 'waits for quota', attempts: 0 });
  const provisioning = row({ phase: 'provisioning', phaseSince: at(8), why: 'us-central1-a', attempts: 0 });
  const running = row({ phaseSince: at(61) });
  const evicting = row({ phase: 'evicting', phaseSince: at(272), why: 'slice 0 was preempted\nby the provider' });
  const again = row({ phaseSince: at(300), attempts: 2, why: 'attempt 2 on 4 hosts' });
  const done = row({ phase: 'succeeded', phaseSince: at(542), endedAt: at(542), attempts: 2, why: 'exit code 0' });

  it('the lines of an attempt stand before the news that it is over', async () => {
    const [young, over] = [running, done].map((one) => ({ ...one, submittedAt: Date.now() })) as [JobRow, JobRow];
    const rows = [young];
    const told: (string | undefined)[] = [];
    const screen: Screen = {
      look: LOOK,
      line: ({ plain }) => void told.push(plain),
      current: () => undefined,
      output: async () => undefined,
    };
    const logs: FollowedLog = {
      run: async () => undefined,
      reached: () => undefined,
      caughtUp: async () => void told.push('0 | the last line'),
    };
    const client = { row: async () => rows.shift() ?? over, unattended: async () => undefined };
    await watchJob({ client, id: over.id, screen, logs, signal: new AbortController().signal });
    assert.deepEqual(told.slice(0, 2), ['● running: attempt 1 on 4 hosts in us-central1-a', '0 | the last line']);
    assert.equal(told.length, 3);
  });

  it('on a terminal a phase gets its line when it is over, with how long it took', () => {
    assert.deepEqual(told([queued, provisioning, running, evicting, again, done]).live, [
      ' ✔ queued            8s   waits for quota',
      ' ✔ provisioning, setting-up     53s   us-central1-a',
      ' ! running       3m 31s   attempt 1 on 4 hosts in us-central1-a',
      ' ! slice 0 was preempted by the provider',
      ' ✔ running       4m 02s   attempt 2 on 4 hosts',
    ]);
  });
  it('in a pipe a line when it begins, without cursor codes', () => {
    assert.deepEqual(told([queued, provisioning, running, evicting, again, done]).plain, [
      '● queued: waits for quota',
      '● provisioning: us-central1-a',
      '● running: attempt 1 on 4 hosts in us-central1-a',
      '! evicting: slice 0 was preempted by the provider',
      '● running: attempt 2 on 4 hosts',
    ]);
  });
  it('a new reason within a phase is said in a pipe, the same one is not said again', () => {
    const next = { ...provisioning, why: 'us-east1-d' };
    assert.deepEqual(told([provisioning, provisioning, next, next]).plain, [
      '● provisioning: us-central1-a',
      '● provisioning: us-east1-d',
    ]);
  });
  it('the current line is no wider than the terminal', () => {
    const look = lookOf({ isTTY: true, columns: 30 }, { LANG: 'C.UTF-8', NO_COLOR: '1' });
    assert.equal(currentLine(running, at(71), look), ' ● running          10s   a..');
    assert.equal(currentLine(running, at(71), look).length, 29);
  });
  it('the summary says how it ended, when, and where the logs are', () => {
    const outcome: Outcome = {
      ...{ result: 'failed', exitCode: 7, attempts: 2, preemptions: 1, submittedAt: T0, endedAt: at(542) },
      cause: { by: 'task', message: 'the command exited with code 7 on host 2' },
    };
    const failed = row({ phase: 'failed', endedAt: at(542), outcome, label: 'REHEARSAL' });
    assert.deepEqual(summaryLines(failed, 'b', LOOK), [
      ' ✖ failed in 9m 02s, 2 attempts, 1 preemption, REHEARSAL',
      '   the command exited with code 7 on host 2',
      '   logs: jobctl logs train-7f3k      files: gs://b/jobs/train-7f3k/',
    ]);
    assert.equal(summaryLines(done, undefined, LOOK)[0], ' ✔ succeeded in 9m 02s, 2 attempts');
  });
  it('names what a command that succeeded had left running, host by host', () => {
    const on = (place: string, all: number) => ({ place, count: all, named: [{ pid: 7, command: 'python3 t.py' }] });
    const left = { hosts: [on('host 1', 1), on('host 3', 4)], otherHosts: 2 };
    const done = row({ phase: 'succeeded', outcome: { left, attempts: 1, preemptions: 0 } as unknown as Outcome });
    assert.match(
      summaryLines(done, undefined, LOOK).join('\n'),
      /^ {3}warning: still ran when .*: a process on host 1: 7 'python3 t\.py'; 4 processes on host 3: 7 'python3 t\.py' and 3 more; and on 2 other hosts \(command\.wait_for: all waits for it\)$/m,
    );
  });
  const ends: Record<string, [Partial<JobRow>, number]> = {
    'success is 0': [{ phase: 'succeeded' }, 0],
    "a failed command's own code": [{ phase: 'failed', outcome: { exitCode: 7 } as Outcome }, 7],
    'a failure without a code is 1': [{ phase: 'failed', outcome: {} as Outcome }, 1],
    'a failure beside a code of 0 is no success': [{ phase: 'failed', outcome: { exitCode: 0 } as Outcome }, 1],
    'cancelled is 130': [{ phase: 'cancelled' }, 130],
    'terminated is 1': [{ phase: 'terminated' }, 1],
  };
  for (const [name, [over, want]] of Object.entries(ends)) it(name, () => assert.equal(exitCodeOf(row(over)), want));
});

describe("hosts' lines", () => {
  const text = (lines: readonly Buffer[]): string => Buffer.concat(lines).toString();

  it('only whole lines, each under its host', () => {
    const lines = new HostLines('|');
    assert.equal(text(lines.add(0, Buffer.from('one\ntw'))), '0 | one\n');
    assert.equal(text(lines.add(2, Buffer.from('other\n'))), '2 | other\n');
    assert.equal(text(lines.add(0, Buffer.from('o\n\n'))), '0 | two\n0 | \n');
  });
  it('a character that lies across two stretches stays whole', () => {
    const lines = new HostLines('|');
    const bytes = Buffer.from('Grüße\n');
    assert.equal(text([...lines.add(0, bytes.subarray(0, 3)), ...lines.add(0, bytes.subarray(3))]), '0 | Grüße\n');
  });
  it('of a line that was drawn again the last state is given', () => {
    assert.equal(text(new HostLines('|').add(0, Buffer.from('10%\r50%\r100%\r\n'))), '0 | 100%\n');
  });
  it('the last line needs no newline, and is given once', () => {
    const lines = new HostLines('|');
    lines.add(1, Buffer.from('done'));
    assert.equal(text(lines.end()), '1 | done\n');
    assert.equal(text(lines.end()), '');
  });
  it('a line without end does not fill the memory', () => {
    const lines = new HostLines('|');
    const given = Array.from({ length: 10 }, () => text(lines.add(0, Buffer.alloc(20_000, 'x')))).join('');
    assert.equal(given.replaceAll(/[^x]/g, '').length, 160_000);
  });
});

describe('screens', () => {
  function collecting(): { stream: Writable; text: () => string } {
    const chunks: Buffer[] = [];
    const stream = new Writable({ write: (chunk: Buffer, _, done) => (chunks.push(chunk), done()) });
    return { stream, text: () => Buffer.concat(chunks).toString() };
  }

  it('on a terminal the current line stays at the bottom', async () => {
    const { stream, text } = collecting();
    const screen = new TerminalScreen(stream, LOOK);
    screen.current('now');
    await screen.output([Buffer.from('0 | a\n')]);
    screen.current('now');
    screen.line({ live: 'done', plain: 'never' });
    screen.current(undefined);
    const erase = '\r\u001b[2K';
    assert.equal(text(), `now${erase}0 | a\nnow${erase}done\nnow${erase}`);
  });
  it('in a pipe lines of hosts and progress go two ways, and nothing is drawn again', async () => {
    const out = collecting();
    const aside = collecting();
    const screen = new PlainScreen(out.stream, aside.stream, LOOK);
    screen.current();
    await screen.output([Buffer.from('0 | a\n')]);
    screen.line({ live: 'never', plain: 'running' });
    assert.deepEqual([out.text(), aside.text()], ['0 | a\n', 'running\n']);
  });
});
