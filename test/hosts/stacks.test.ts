import assert from 'node:assert/strict';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { pySpyPath } from '../../cloud/hosts/stacks/py-spy.js';
import { readAnswer, takeStacks } from '../../cloud/hosts/stacks/take-stacks.js';
import { frameText, type HostStacks, isPython, type ProcessStacks } from '../../domain/stacks/stack.js';
import { until } from '../until.js';
import { hangsIn } from './hanging-python.js';
import { HOSTILE_HOSTS } from './hostile-host.js';
import { NOTICE, request } from './run.js';
import { type HostSession, never, withHost } from './session.js';

const RUN = 'train-x1-a1';
const OPTIONS = { runId: RUN, host: 2, answerMs: 30_000, installMs: 30_000, signal: never };
/** What py-spy 0.4.3 printed of a Python 3.11 that sleeps. */
const RECORDED = readFileSync(new URL('py-spy-0.4.3-dump.json', import.meta.url), 'utf8');
const MACHINE = process.arch === 'arm64' ? 'aarch64' : 'x86_64';

/** @param spy what the host has in place of py-spy, as sh. Absent: none */
async function stacksOf(session: HostSession, script: string, spy?: string): Promise<HostStacks> {
  if (spy !== undefined) {
    const path = join(session.host.home, pySpyPath(MACHINE));
    mkdirSync(join(path, '..'), { recursive: true });
    writeFileSync(path, `#!/bin/sh\n${spy}\n`, { mode: 0o755 });
  }
  await session.connection.startRun(request(script));
  await until('it hangs', async () => (existsSync(join(session.host.home, 'hangs')) ? true : undefined));
  try {
    return await takeStacks(session.connection, OPTIONS);
  } finally {
    await session.connection.stopRun(RUN, 0, NOTICE);
  }
}
const python = ({ processes }: HostStacks): ProcessStacks => processes.find(isPython) as ProcessStacks;

describe('the stacks of the processes of a run', function () {
  this.timeout(60_000);

  it('of programs that are not Python: name, state and where the kernel has them; nobody else’s', () =>
    withHost(async (session) => {
      const { host, processes, problem } = await stacksOf(session, 'LOCAL_RANK=3 sleep 600 & touch hangs; wait');
      assert.deepEqual([host, problem], [2, undefined]);
      assert.deepEqual(
        new Set(processes.map(({ name, state, localRank }) => `${name} ${state} ${localRank}`)),
        new Set(['bash S undefined', 'sleep S 3']),
      );
      const [, sleep] = processes;
      const wchan = readFileSync(`/proc/${process.pid}/wchan`, 'utf8');
      // A kernel that does not say it says 0.
      if (/^[a-z]/.test(wchan)) assert.match(sleep?.waitsIn ?? '', /nanosleep|sigsuspend|wait/);
    }));

  it('of Python without py-spy: that there is none', () =>
    withHost(async (session) => {
      const stacks = await stacksOf(session, hangsIn('all_reduce'));
      assert.equal(python(stacks).problem, 'its host has no py-spy');
      assert.match(python(stacks).name, /^python3/);
    }));

  it('of Python by py-spy: the main thread first', () =>
    withHost(async (session) => {
      writeFileSync(join(session.host.home, 'dump.json'), RECORDED);
      const spy = `[ "$1 $2 $3 $4" = 'dump --nonblocking --json --pid' ] && exec cat ${session.host.home}/dump.json`;
      const { threads, problem } = python(await stacksOf(session, hangsIn('all_reduce'), spy));
      assert.equal(problem, undefined);
      assert.deepEqual(
        threads?.map(({ name, frames }) => [name, ...frames.map(frameText).slice(0, 2)]),
        [
          ['MainThread', 'all_reduce (train.py:5)', 'step (train.py:7)'],
          ['Thread-1 (worker)', 'worker (train.py:3)', 'Thread.run (threading.py:982)'],
        ],
      );
    }));

  const refusals: Record<string, readonly [spy: string, RegExp]> = {
    'one that may not look says what to do': [
      `echo 'Error: Permission denied (os error 13)' >&2; exit 1`,
      /^py-spy may not look at it: .*kernel\.yama\.ptrace_scope=0.*SYS_PTRACE$/,
    ],
    'one that fails is quoted as text': [
      String.raw`printf 'Error: odd \033[2J\nStack backtrace:\n 0: x\n' >&2; exit 1`,
      /^odd \\u001b\[2J$/,
    ],
    'one that hangs is ended': ['exec sleep 600', /^py-spy did not come to an end within 3 s$/],
    'one that prints something else is not believed': ['echo [7', /^what py-spy says of it cannot be read/],
  };
  for (const [name, [spy, wanted]] of Object.entries(refusals))
    it(name, () =>
      withHost(async (session) => {
        assert.match(python(await stacksOf(session, hangsIn('all_reduce'), spy)).problem ?? '', wanted);
      }),
    );

  it('one that printed half at first is asked again', () =>
    withHost(async (session) => {
      writeFileSync(join(session.host.home, 'dump.json'), RECORDED);
      const { home } = session.host;
      const spy = `[ -e ${home}/asked ] || { touch ${home}/asked; echo torn >&2; exit 1; }; exec cat ${home}/dump.json`;
      assert.equal(python(await stacksOf(session, hangsIn('all_reduce'), spy)).threads?.length, 2);
    }));

  it('of a run that the host does not know: that', () =>
    withHost(async ({ connection }) => {
      const { processes, problem } = await takeStacks(connection, { ...OPTIONS, runId: 'other-a1' });
      assert.deepEqual(processes, []);
      assert.match(problem ?? '', /knows nothing of a command of this attempt under its login user/);
    }));

  it('a py-spy that cannot be had is told, and what the host said without it is kept', () =>
    withHost(
      async (session) => {
        await session.connection.startRun(request(hangsIn('all_reduce')));
        await until('it hangs', async () => (existsSync(join(session.host.home, 'hangs')) ? true : undefined));
        const pySpy = (): Promise<Buffer> => Promise.reject(new Error('PyPI cannot be reached from here (ENOTFOUND)'));
        const stacks = await takeStacks(session.connection, { ...OPTIONS, pySpy });
        assert.match(
          python(stacks).problem ?? '',
          /no py-spy, and could not be given one: PyPI cannot be reached from here/,
        );
        assert.equal(python(stacks).state, 'S');
        await session.connection.stopRun(RUN, 0, NOTICE);
      },
      { env: { https_proxy: 'http://127.0.0.1:9' } },
    ));
});

describe('what a hostile host says of its processes', function () {
  this.timeout(60_000);
  const base64 = (text: string): string => Buffer.from(text).toString('base64');
  const dump = (json: unknown): string => gzipSync(JSON.stringify(json)).toString('base64');
  const say = (...lines: readonly string[]): string => lines.map((line) => `jobctl-runner: ${line}\n`).join('');

  it('is one line of visible text each, in bounds', () => {
    const frames = Array.from({ length: 300 }, () => ({ name: 'f\u001b[2J\n', filename: '/x\u202e.py', line: 1e300 }));
    const thread = { thread_name: '\u0007', os_thread_id: 1, frames };
    const { processes } = readAnswer(
      0,
      say(
        ...[
          `process 1 S 99999999 ${'x'.repeat(500)} ${base64('py\u001b]0;x\u0007')}`,
          `dump ${dump(Array.from({ length: 70 }, () => thread))}`,
        ],
        ...['process -1 S - - -', 'process 1e3 S - - -', 'dump', 'failed', 'dump !!', 'wants ../../x', 'done'],
      ),
    );
    assert.equal(processes.length, 1);
    const [{ name, localRank, waitsIn, threads = [] }] = processes as [ProcessStacks];
    assert.deepEqual([name, localRank, waitsIn], ['py\\u001b]0;x\\u0007', undefined, undefined]);
    // The first that is said of a process counts.
    assert.equal(threads.length, 64);
    assert.equal(threads[0]?.frames.length, 256);
    assert.deepEqual(threads[0]?.frames[0], { function: 'f\\u001b[2J', file: '/x\\u202e.py', line: 0 });
  });

  it('is bounded in processes and in what unpacks to much', () => {
    const many = say(...Array.from({ length: 5000 }, (_, at) => `process ${at + 1} S - - -`), 'done');
    assert.equal(readAnswer(0, many).processes.length, 128);
    const bomb = gzipSync(`[${' '.repeat(5 * 1024 * 1024)}]`).toString('base64');
    const [process] = readAnswer(0, say('process 1 S - - -', `dump ${bomb}`, 'done')).processes;
    assert.match(process?.problem ?? '', /cannot be read, or is too long/);
    const large = dump(Array.from({ length: 20_000 }, () => ({ frames: [], odd: 'x'.repeat(150) })));
    const all = readAnswer(
      0,
      say(...Array.from({ length: 10 }, (_, at) => [`process ${at + 1} S - - -`, `dump ${large}`]).flat()),
    );
    assert.equal(all.processes.filter(({ threads }) => threads !== undefined).length, 4);
  });

  it('is told to be incomplete where it breaks off', () => {
    assert.equal(readAnswer(0, say('process 1 S - - -')).problem, 'it broke off in the middle');
    assert.equal(readAnswer(0, say('done')).problem, undefined);
    assert.match(
      readAnswer(0, say('more', 'late', 'done')).problem ?? '',
      /more than 128 processes.*; its time was over/,
    );
  });

  for (const [kind, start] of Object.entries(HOSTILE_HOSTS)) {
    it(`from ${kind}: an endless answer is cut, and silence is waited for no longer than it may last`, async () => {
      const home = mkdtempSync(join(tmpdir(), 'hostile-'));
      const answers = `case $line in *'/bin/sh -s -- loud-a1'*) exec yes 'jobctl-runner: process 7 S - - -' ;; *'/bin/sh -s -- mute-a1'*) exec sleep 60 ;; esac`;
      const host = await start(home, answers);
      try {
        const { problem, processes } = await takeStacks(host.connection, { ...OPTIONS, runId: 'loud-a1' });
        assert.deepEqual([problem, processes.length], ['it said more than 8 MiB', 128]);
        const mute = takeStacks(host.connection, { ...OPTIONS, runId: 'mute-a1', answerMs: 300 });
        await assert.rejects(mute, /no answer in 0\.3 s/);
      } finally {
        await host.stop();
        rmSync(home, { recursive: true, force: true });
      }
    });
  }
});
