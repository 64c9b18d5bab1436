import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually } from '../cloud/eventually.js';
import { freePort, TEMPORAL_START_MS, testServer } from '../temporal-server.js';
import { jobctl } from './command-line.js';
import { ended, started } from './running-command.js';
import { ExitCode } from '../../cli/terminal/cli-error.js';
import { until } from '../until.js';
import type { Ended } from './command-line.js';

const JOB = `tpu:
  accelerator: v5litepod-16
  zone: us-central1-a
command:
  run: echo hi
`;

describe('verbs against a real Temporal server without any worker', function () {
  this.timeout(30_000);
  let folder: string;
  let file: string;
  let environment: Record<string, string>;
  const name = `cli-${process.pid}`;
  const run = (...args: readonly string[]): Promise<Ended> => jobctl(args, environment);

  before(async function () {
    this.timeout(TEMPORAL_START_MS);
    folder = mkdtempSync(join(tmpdir(), 'cli-temporal-'));
    file = join(folder, 'job.yaml');
    writeFileSync(file, JOB);
    const { address, namespace } = await testServer();
    environment = { TEMPORAL_ADDRESS: address, TEMPORAL_NAMESPACE: namespace, JOBCTL_TASK_QUEUE: name, HOME: folder };
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  it('submit prints the id alone on stdout; again it is the same job; other content is refused with 4', async () => {
    const first = await run('submit', file, '--name', name, '--user', 'alice');
    assert.deepEqual([first.exitCode, first.stdout], [0, `${name}\n`]);
    assert.match(first.stderr, new RegExp(`^${name} {3}v5litepod-16 .*16 chips on 4 hosts`));
    const again = await run('submit', file, '--name', name, '--user', 'alice', '--output', 'json');
    const verdict = { kind: 'no-worker', taskQueue: name, namespace: environment['TEMPORAL_NAMESPACE'] };
    assert.deepEqual([again.exitCode, JSON.parse(again.stdout)], [0, { id: name, verdict }]);
    assert.match(again.stderr, /was submitted before with the same content/);
    const other = await run('submit', file, '--name', name, '--user', 'alice', '--', 'echo other');
    assert.deepEqual([other.exitCode, other.stdout], [4, '']);
    assert.equal(
      other.stderr,
      `a job named '${name}' is there already, with other content\n` +
        `  see it with \`jobctl status ${name}\`; for another job choose another --name\n`,
    );
  });

  it('status shows the row, and says what is missing without a worker', async () => {
    const { exitCode, stdout } = await run('status', name);
    assert.equal(exitCode, 0);
    assert.match(stdout, /\n {2}phase +queued for \d+s\n/);
    assert.match(stdout, /slices and events are missing: /);
  });

  it('wait gives up in time with 124, and the job is there still', async () => {
    const { exitCode, stderr } = await run('wait', name, '--timeout', '1s');
    assert.equal(exitCode, 124);
    assert.match(stderr, /has not ended within 1s; it goes on/);
  });

  it('list finds it by its user; the JSON has what the table has', async () => {
    // A list is made from the server's index, which is a moment behind.
    const { stdout } = await eventually(
      `${name} in the list`,
      () => run('list', '--user', 'alice', '--output', 'json'),
      (ended) => ended.stdout.includes(name),
    );
    const table = await run('list', '--user', 'alice');
    assert.match(table.stdout, new RegExp(`^${name} .* no worker polls its task queue '${name}'$`, 'm'));
    const { jobs } = JSON.parse(stdout) as { jobs: { id: string; phase: string }[] };
    assert.deepEqual(
      jobs.filter(({ id }) => id === name).map(({ phase }) => phase),
      ['queued'],
    );
  });

  const NEAR_WORDS: Record<string, [near: string[], ours: string[]]> = {
    ls: [
      ['ls', '--user', 'alice', '-o', 'json'],
      ['list', '--user', 'alice', '-o', 'json'],
    ],
    ps: [
      ['ps', '--help'],
      ['list', '--help'],
    ],
    queue: [
      ['queue', '--help'],
      ['list', '--help'],
    ],
    get: [
      ['get', '--user', 'alice', '-o', 'json'],
      ['list', '--user', 'alice', '-o', 'json'],
    ],
    'get jobs': [
      ['get', 'jobs', '--help'],
      ['list', '--help'],
    ],
    'get JOB': [
      ['get', name, '--help'],
      ['status', name, '--help'],
    ],
    'get job JOB': [
      ['get', 'job', 'no-such-job'],
      ['status', 'no-such-job'],
    ],
    'describe JOB': [
      ['describe', 'no-such-job'],
      ['status', 'no-such-job'],
    ],
    'describe job JOB': [
      ['describe', 'job', 'no-such-job'],
      ['status', 'no-such-job'],
    ],
    describe: [['describe'], ['status']],
  };
  for (const [word, [near, ours]] of Object.entries(NEAR_WORDS))
    it(`${word} is ${ours[0]}`, async () => {
      const [theirs, own] = await Promise.all([run(...near), run(...ours)]);
      assert.deepEqual(theirs, own);
      assert.doesNotMatch(theirs.stderr, /unknown command/);
    });

  it('an unknown job is exit 3 for every verb that takes one', async () => {
    const verbs = [['status'], ['wait'], ['cancel'], ['logs', '--bucket', 'bucket']];
    const ends = await Promise.all(verbs.map(([verb = '', ...flags]) => run(verb, 'no-such-job', ...flags)));
    for (const { exitCode, stderr } of ends) {
      assert.equal(exitCode, 3);
      assert.match(
        stderr,
        /^(server \S+: namespace \S+\n)?no job 'no-such-job' in namespace .*\n {2}`jobctl list` shows the jobs that are there, `jobctl list --name 'no-such-job\*'` those whose names begin so\n$/,
      );
    }
  });

  it('stop does not wait long where no worker asks for tasks, and names the queue', async () => {
    const { exitCode, stderr } = await run('stop', name, '--yes');
    assert.equal(exitCode, 5, stderr);
    assert.match(
      stderr,
      new RegExp(`no worker answered for job ${name} within 5 s, and none polls task queue '${name}'; it may`),
    );
  });

  const WORKER_VERBS: Readonly<Record<string, readonly string[]>> = {
    stop: ['stop', name, '--yes'],
    requeue: ['requeue', name],
    resume: ['resume', name],
    setup: ['setup', name],
    'quota freeze': ['quota', 'freeze'],
    'quota thaw': ['quota', 'thaw'],
    'machines ls': ['machines', 'ls'],
    'notify test': ['notify', 'test', '--channel', 'ops'],
  };
  it('each verb that needs a worker says that none polls, and how long it waits', async () => {
    const line = `no worker polls task queue '${name}' of namespace '${environment['TEMPORAL_NAMESPACE']}'; waiting`;
    const said = Object.entries(WORKER_VERBS).map(async ([verb, words]) => {
      const { exitCode, stderr } = await run(...words);
      return [verb, stderr.includes(line) ? exitCode : stderr];
    });
    // The pool has no workflow that could be frozen yet.
    const codes = (verb: string) => (verb.startsWith('quota') ? ExitCode.NotFound : ExitCode.Unavailable);
    const verbs = Object.keys(WORKER_VERBS).map((verb) => [verb, codes(verb)]);
    assert.deepEqual(await Promise.all(said), verbs);
  });

  /** Verbs that read from the job's workflow which hosts it has. */
  const hostVerbs = (id: string, port: number): Readonly<Record<string, readonly string[]>> => ({
    exec: ['exec', id, '--', 'true'],
    cp: ['cp', file, `${id}:/tmp/x`],
    ssh: ['ssh', id],
    stacks: ['stacks', id],
    'port-forward': ['port-forward', id, `${port}:8080`],
  });
  async function assertNoWorkerAnswers(id: string, more: string, skipped = ''): Promise<void> {
    const verbs = Object.entries(hostVerbs(id, await freePort())).filter(([verb]) => verb !== skipped);
    const ends = verbs.map(async ([verb, words]) => {
      const { exitCode, stderr } = await run(...words);
      return [verb, exitCode, stderr];
    });
    const want = `no worker answered for job ${id}${more}\n  is a worker up?`;
    for (const [verb, exitCode, stderr] of await Promise.all(ends)) {
      assert.ok(String(stderr).includes(want), `${verb}: ${stderr}`);
      assert.doesNotMatch(String(stderr), /does not answer|Deadline/);
      assert.equal(exitCode, ExitCode.Unavailable);
    }
  }
  // A process: a signal reaches no command line in this one.
  const INTERRUPTED: Readonly<
    Record<string, { words: readonly string[]; by?: 'SIGTERM'; isBegun?: true; says: string }>
  > = {
    'a request to a job': {
      words: ['stop', name, '--yes'],
      says: `interrupted before a worker answered for job ${name}; it may still be done when one is up\n  \`jobctl status ${name}\` shows`,
    },
    'a request about machines': {
      words: ['machines', 'drain', 'm1', '--pool', 'lab'],
      says: 'for the machines of pool lab; none had begun it, and it is not done later\n  `jobctl machines ls --pool lab` shows',
    },
    'the same, by SIGTERM': {
      words: ['machines', 'forget', 'm1', '--pool', 'lab'],
      by: 'SIGTERM',
      says: 'for the machines of pool lab; none had begun it, and it is not done later\n',
    },
    'a test of notify': {
      words: ['notify', 'test', '--channel', 'ops'],
      says: 'for the test; none had begun it, and it is not done later\n',
    },
    'one that a worker has begun': {
      words: ['machines', 'drain', 'm1', '--pool', 'begun'],
      isBegun: true,
      says: 'for the machines of pool begun; a worker has begun it, so it may be done all the same\n',
    },
  };
  for (const [which, { words, by = 'SIGINT', isBegun, says }] of Object.entries(INTERRUPTED))
    it(`${which} that is interrupted says whether it may be done later`, async () => {
      const queue = `${name}-interrupted-${which.replaceAll(' ', '-')}`;
      const run = started(words, { ...environment, JOBCTL_TASK_QUEUE: queue });
      try {
        await until('it waits', async () => run.out.stderr.includes('waiting') || run.child.exitCode !== null);
        // The start of a workflow is a call: only its task shows that it is over.
        if (isBegun) await beginOneOf(queue);
        run.child.kill(by);
        const { exitCode, stderr } = await ended(run);
        assert.ok(stderr.includes(says), stderr);
        assert.equal(exitCode, ExitCode.Interrupted);
      } finally {
        run.child.kill('SIGKILL');
      }
      const { connection, namespace } = await testServer();
      const query = `TaskQueue = '${queue}' AND ExecutionStatus = 'Running'`;
      const { executions } = await eventually(
        'the end of its workflow in the index',
        () => connection.workflowService.listWorkflowExecutions({ namespace, query }),
        (list) => list.executions.length === (isBegun ? 1 : 0),
      );
      assert.equal(executions.length, isBegun ? 1 : 0);
    });

  it('a request to many jobs that is interrupted is sent to none that it has not been sent to', async () => {
    const many = Array.from({ length: 18 }, (_, at) => `${name}-of-many-${at}`);
    await Promise.all(many.map((id) => run('submit', file, '--name', id)));
    const { child, out } = started(['stop', ...many, '--yes'], environment);
    try {
      await until('it waits', async () => out.stderr.includes('waiting') || child.exitCode !== null);
      child.kill('SIGINT');
      const { exitCode, stderr } = await ended({ child, out });
      const linesWith = (text: string): number => stderr.split(text).length - 1;
      assert.equal(linesWith('no worker polls task queue'), 1, stderr);
      assert.ok(linesWith(': interrupted before a worker answered') > 0, stderr);
      // 16 are asked side by side.
      assert.ok(linesWith(': not asked: interrupted before its turn') >= 2, stderr);
      assert.doesNotMatch(stderr, /MaxListeners/);
      assert.notEqual(exitCode, ExitCode.Done);
    } finally {
      child.kill('SIGKILL');
    }
  });

  /** Takes a task of a workflow, as a worker does, and gives an empty answer. */
  async function beginOneOf(queue: string): Promise<void> {
    const { connection, namespace } = await testServer();
    const { workflowService } = connection;
    const request = { namespace, taskQueue: { name: queue, kind: 1 }, identity: 'a worker that begins' };
    const poll = () => workflowService.pollWorkflowTaskQueue(request);
    const { taskToken } = await connection.withDeadline(Date.now() + 20_000, poll);
    await workflowService.respondWorkflowTaskCompleted({ namespace, taskToken, identity: request.identity });
  }

  it('machines and notify test that no worker takes in time say that they are not done later', async () => {
    const ends = await Promise.all([run('machines', 'undrain', 'm1'), run('notify', 'test', '--channel', 'ops')]);
    for (const { exitCode, stderr } of ends) {
      assert.match(
        stderr,
        /no worker answered for .* within 5 s; none had begun it, and it is not done later\n {2}is a/,
      );
      assert.equal(exitCode, ExitCode.Unavailable);
    }
  });

  describe('where a worker polled a moment ago', () => {
    const queue = `${name}-polled`;
    before(async () => {
      environment = { ...environment, JOBCTL_TASK_QUEUE: queue };
      await run('submit', file, '--name', queue, '--user', 'alice');
      const { connection, namespace } = await testServer();
      const poll = () =>
        connection.workflowService.pollWorkflowTaskQueue({
          ...{ namespace, taskQueue: { name: queue, kind: 1 }, identity: 'a worker that ends' },
        });
      // It takes the job's task, and never answers.
      assert.ok((await connection.withDeadline(Date.now() + 20_000, poll)).taskToken.length > 0);
    });
    after(() => {
      environment = { ...environment, JOBCTL_TASK_QUEUE: name };
    });
    it('each verb that asks for hosts says that no worker answers, or that none polls the queue of the job, and blames no server', async () => {
      const none = `: no worker polls task queue '${name}' of namespace '${environment['TEMPORAL_NAMESPACE']}'`;
      await Promise.all([assertNoWorkerAnswers(queue, ''), assertNoWorkerAnswers(name, none, 'port-forward')]);
    });

    it('stop says what it waits for, long before it gives up', async () => {
      // A process, which can be ended before its 30 s are over.
      const run = started(['stop', queue, '--yes'], environment);
      try {
        const line = `no answer of a worker for job ${queue} for 3 s; waiting for 30 s in all\n`;
        await until('it says so', async () => run.out.stderr.includes(line));
        assert.equal(run.child.exitCode, null);
      } finally {
        run.child.kill('SIGKILL');
        await ended(run);
      }
    });
  });

  const RECORDED = `no worker polls task queue '${name}' of .*: nothing of that happens until one is up`;

  const DELETES: Readonly<Record<string, { readonly words: readonly string[]; readonly says: string }>> = {
    'of one job': {
      words: ['delete', `${name}-one`, '--yes', '--timeout', '1s'],
      says:
        `^${name}-one: its deletion is recorded. A worker deletes its slices.\n  ${RECORDED}\n` +
        `${name}-one: its deletion is recorded, and its slices are not deleted yet, and the time of --timeout is over\n  ${RECORDED}\n$`,
    },
    'of many jobs': {
      words: ['delete', '--name', `${name}-many*`, '--user', 'alice', '--yes', '--timeout', '1s'],
      says: `^${name}-many: its deletion is recorded, and its slices are not deleted yet, .*\n  ${RECORDED}\n$`,
    },
  };
  for (const [which, { words, says }] of Object.entries(DELETES))
    it(`delete ${which} claims no deletion that only a worker makes`, async () => {
      const id = which === 'of one job' ? `${name}-one` : `${name}-many`;
      await run('submit', file, '--name', id, '--user', 'alice');
      await eventually(
        `${id} in the list`,
        () => run('list', '--user', 'alice', '--output', 'json'),
        (ended) => ended.stdout.includes(id),
      );
      const { exitCode, stdout, stderr } = await run(...words);
      assert.match(stdout, new RegExp(says), stderr);
      assert.equal(exitCode, 124);
    });

  it('cancel by a filter ends the groups of what it finds, unless it means some phases alone', async () => {
    const group = `${name}-sweep`;
    const sweep = [file, '--sweep', 'env.N=1..3', '--name', group, '--user', 'zoe'];
    for (const words of [sweep, [file, '--name', `${group}-0`, '--user', 'zoe']])
      assert.equal((await run('submit', ...words)).exitCode, 0);
    const found = () => run('list', '--user', 'zoe', '--output', 'json');
    await eventually('the list has it', found, ({ stdout }) => stdout.includes(`${group}-0`));
    const some = await run('cancel', '--user', 'zoe', '--phase', 'queued', '--yes');
    assert.match(some.stderr, new RegExp(`^group ${group} goes on: .*jobctl cancel ${group}`, 'm'));
    assert.equal((await run('cancel', `${group}-0`, '--yes')).stderr.includes('goes on'), false);
    const all = await run('cancel', '--user', 'zoe', '--yes');
    assert.match(all.stderr, new RegExp(`^group ${group}: its cancel is recorded`, 'm'));
  });

  it('submit of several jobs tells the verdict of each, once all are there', async () => {
    const two = join(folder, 'two.yaml');
    writeFileSync(two, `name: uno\n${JOB}---\nname: due\nafter: uno\n${JOB}`);
    const { exitCode, stdout, stderr } = await run('submit', two, '--user', 'alice');
    assert.equal(exitCode, 0, stderr);
    const ids = stdout.trim().split('\n');
    assert.equal(ids.length, 2);
    for (const id of ids) assert.match(stderr, new RegExp(`^${id}: queued: no worker polls task queue '${name}'`, 'm'));
    assert.equal((await run('submit', two, '--no-verdict')).stderr.includes('no worker polls'), false);
  });

  it('a group is in the list before any member is, status says what is not known, and it stands beside other ids', async () => {
    const [group, job, gone] = [`${name}-grid`, `${name}-lone`, `${name}-gone`];
    for (const words of [
      ['--name', job],
      ['--name', group, '--sweep', 'env.N=1..3', '--set', `after=${job}`],
    ])
      assert.equal((await run('submit', file, ...words, '--user', 'yve')).exitCode, 0);
    const listed = () => run('list', '--user', 'yve');
    const { stdout: board } = await eventually('it is in the list', listed, ({ stdout }) => stdout.includes(group));
    assert.match(board, new RegExp(`^${group} +- +yve +3 +\\S+ +not begun: no worker has taken it yet$`, 'm'));
    const both = await run('status', job, group);
    assert.equal(both.exitCode, 0, both.stderr);
    assert.match(both.stdout, new RegExp(`^${job}$`, 'm'));
    assert.match(
      both.stdout,
      /No worker answers for it\. The table has what lists know of its jobs; of other members nothing is known\.\n/,
    );
    assert.match(both.stdout, new RegExp(`^1 +2 +not known +${group}-1`, 'm'));
    const [one] = (JSON.parse((await run('status', group, '--output', 'json')).stdout) as { members: object[] })
      .members;
    assert.deepEqual(one, { index: 0, id: `${group}-0`, parameters: { N: 1 }, phase: 'not known' });
    const beside = await run('stop', group, gone, '--yes');
    assert.match(
      beside.stderr,
      new RegExp(`^${group}: no worker answered for group ${group} within 5 s.*may still be done`, 'm'),
    );
    const edited = await run('resume', group, '--set', 'env.A=1');
    assert.match(edited.stderr, /--set env\.A=1 changes the file of one job, and .* is a group/);
    const exported = await run('export', group);
    assert.deepEqual(
      [exported.exitCode, exported.stderr.split('\n')[0]],
      [3, `'${group}' is a group of jobs, and one job is wanted`],
    );
    const asked = await run('cancel', job, group, '--by', 'bob');
    assert.match(asked.stderr, /2 of 2 jobs are not yours \(you are bob\): yve 2/);
    const cancelled = await run('cancel', job, group, gone, '--yes', '--output', 'json');
    const { jobs } = JSON.parse(cancelled.stdout) as { jobs: { id: string; state?: string; error?: string }[] };
    assert.deepEqual(
      jobs.map(({ id, state, error }) => [id, state ?? error?.split('\n')[0]?.slice(0, 6)]),
      [
        [job, 'cancelling'],
        [group, 'cancelling'],
        [gone, 'no job'],
      ],
    );
  });

  it('cancel says what happens', async () => {
    const { exitCode, stdout } = await run('cancel', name, '--yes');
    assert.equal(exitCode, 0);
    assert.match(
      stdout,
      new RegExp(`^${name}: its cancel is recorded. A worker stops .*\n {2}${RECORDED}\n {2}jobctl wait ${name} `),
    );
  });
});
