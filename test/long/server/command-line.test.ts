import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { TEMPORAL_START_MS } from '../../temporal-server.js';
import { type Ended, jobctlProcess } from '../../cli/command-line.js';
import { ended, started } from '../../cli/running-command.js';
import { jobFile } from '../../end-to-end/job-files.js';
import { until } from '../../until.js';
import { ServerStack } from '../../server/server-stack.js';

const ALICE = 'alice@example.org';

describe('verbs in a context of jobctl serve', function () {
  this.timeout(180_000);
  let stack: ServerStack;
  let home: string;
  let tokens: Readonly<Record<string, string>>;

  /** Somebody with a context `team`, a token and nothing else: neither Temporal nor a bucket is named. */
  const as = (email: string, ...args: readonly string[]): Promise<Ended> =>
    jobctlProcess(args, { HOME: join(home, email), ID_TOKEN: tokens[email] ?? '' });
  const alice = (...args: readonly string[]): Promise<Ended> => as(ALICE, ...args);
  const json = async <T>(...args: readonly string[]): Promise<T> => {
    const { stdout, stderr } = await alice(...args, '-o', 'json');
    assert.equal(stderr, '');
    return JSON.parse(stdout) as T;
  };

  before(async function () {
    this.timeout(TEMPORAL_START_MS);
    stack = await ServerStack.start();
    home = mkdtempSync(join(tmpdir(), 'jobctl-over-http-'));
    const people = [ALICE, 'olga@example.org', 'mallory@example.org'];
    tokens = Object.fromEntries(
      await Promise.all(people.map(async (email) => [email, await stack.issuer.token({ email })] as const)),
    );
    for (const email of people) {
      mkdirSync(join(home, email));
      await as(email, 'context', 'set', 'team', '--server', stack.urls[0] ?? '');
      const login = await as(email, 'login', '--id-token-from', 'env:ID_TOKEN');
      assert.deepEqual([login.exitCode, login.stderr], [0, ''], login.stderr);
    }
  });
  after(async () => {
    await stack?.stop();
    if (home !== undefined) rmSync(home, { recursive: true, force: true });
  });

  /** The sum of a metric of the server's, where its labels hold this. */
  async function counted(metric: string, label: string): Promise<number> {
    const text = await (await fetch(`${stack.urls[0]}/metrics`)).text();
    const lines = text.split('\n').filter((line) => line.startsWith(metric) && line.includes(label));
    return lines.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0);
  }

  function write(name: string, command: string, more: object = {}): string {
    const file = join(home, name);
    writeFileSync(
      file,
      stringify(jobFile(command, { project: 'vision', tpu: { accelerator: 'v5litepod-1' }, ...more })),
    );
    return file;
  }

  describe('a job that has ended', () => {
    const id = 'over-http';

    before(async () => {
      const folder = join(home, 'code');
      mkdirSync(folder);
      writeFileSync(join(folder, 'say.sh'), 'echo from the bundle; echo kept > "$JOBCTL_OUTPUT_DIR/result.txt"\n');
      // Cannot be packed to less, so the bundle goes to the store itself.
      writeFileSync(join(folder, 'data'), randomBytes(3 * 1024 * 1024));
      const file = write('job.yaml', 'bash say.sh');
      const submitted = await alice('submit', file, '--name', id, '--bundle', folder, '--wait');
      assert.equal(submitted.exitCode, 0, submitted.stderr);
      assert.equal(submitted.stdout, '0 │ from the bundle\n');
      assert.match(submitted.stderr, /context team/);
      const log = stack.allOfLog();
      assert.match(log, /"route":"\/v1\/uploads\/complete","status":204/);
      assert.doesNotMatch(log, /\/v1\/uploads\/content/);
      const left = await stack.stack.store.list('uploads/');
      assert.deepEqual(left, []);
    });

    it('is the same job when it is submitted again, and another one under its name is refused', async () => {
      const again = await alice(
        'submit',
        join(home, 'job.yaml'),
        '--name',
        id,
        '--bundle',
        join(home, 'code'),
        '--no-verdict',
      );
      assert.deepEqual([again.exitCode, again.stdout], [0, `${id}\n`]);
      assert.match(again.stderr, /was submitted before with the same content/);
      const other = await alice('submit', write('other.yaml', 'echo other'), '--name', id);
      assert.equal(other.exitCode, 4);
      assert.match(other.stderr, new RegExp(`^a job named '${id}' is there already, with other content\n`, 'm'));
    });

    it('list, also --mine by whom the server knows; status; why', async () => {
      // Other files of tests may have run jobs of the same people on this Temporal server.
      const { jobs } = await json<{ jobs: Record<string, unknown>[] }>('list', '--mine');
      assert.deepEqual(new Set(jobs.map((row) => row['user'])), new Set([ALICE]));
      assert.deepEqual(
        jobs.filter((row) => row['id'] === id).map((row) => [row['id'], row['user'], row['isVerified'], row['phase']]),
        [[id, ALICE, true, 'succeeded']],
      );
      assert.equal((await json<{ total: number }>('list', '--user', 'nobody@example.org')).total, 0);
      const status = await alice('status', id);
      assert.equal(status.exitCode, 0, status.stderr);
      assert.match(status.stdout, /\n {2}phase +succeeded/);
      const why = await alice('why', id);
      assert.deepEqual([why.exitCode, why.stderr], [0, '']);
      assert.match(why.stdout, /succeeded/);
      assert.equal((await alice('status', id, '--timeline')).exitCode, 0);
    });

    it('logs and what jobctl did', async () => {
      const logs = await alice('logs', id);
      assert.deepEqual([logs.exitCode, logs.stdout], [0, 'from the bundle\n']);
      assert.equal((await alice('logs', id, '--tail', '1', '--host', '0')).stdout, 'from the bundle\n');
      const told = await alice('logs', id, '--job');
      assert.match(told.stdout, /Z /);
    });

    it('outputs and download', async () => {
      const outputs = await alice('outputs', id);
      assert.match(outputs.stdout, /result\.txt/);
      const to = join(home, 'results');
      const download = await alice('download', id, to);
      assert.equal(download.exitCode, 0, download.stderr);
      assert.equal(readFileSync(join(to, 'result.txt'), 'utf8'), 'kept\n');
    });

    it('wait passes its end on; a job that is not there is not found, with the server named', async () => {
      assert.equal((await alice('wait', id)).exitCode, 0);
      const missing = await alice('status', 'nowhere');
      assert.equal(missing.exitCode, 3);
      assert.equal(
        missing.stderr,
        `no job 'nowhere' on ${stack.urls[0]}\n  \`jobctl list\` shows the jobs that are there, \`jobctl list --name 'nowhere*'\` those whose names begin so\n`,
      );
    });

    it('somebody of another project sees it, and reads nothing of it', async () => {
      assert.equal((await as('mallory@example.org', 'status', id, '-o', 'json')).exitCode, 0);
      const logs = await as('mallory@example.org', 'logs', id);
      assert.deepEqual([logs.exitCode, logs.stdout], [4, '']);
      assert.match(logs.stderr, /mallory@example\.org may not read the logs; allowed: alice@example\.org/);
    });

    it('delete --purge removes what is stored of it, for who may', async () => {
      const refused = await as('mallory@example.org', 'delete', id, '--purge', '--yes');
      assert.equal(refused.exitCode, 4, refused.stderr);
      const purged = await alice('delete', id, '--purge', '--yes');
      assert.equal(purged.exitCode, 0, purged.stderr);
      assert.match(
        purged.stdout,
        new RegExp(`^${id}: \\d+ objects with \\d+ bytes removed from jobs/${id}/ of ${stack.urls[0]}\\.`),
      );
      assert.equal((await alice('logs', id)).stdout, '');
    });
  });

  describe('an open job', () => {
    const id = 'open-over-http';
    before(async () => {
      const file = write('long.yaml', 'for i in 1 2 3; do echo line $i; sleep 1; done; sleep 600');
      const { exitCode, stderr } = await alice('submit', file, '--name', id);
      assert.equal(exitCode, 0, stderr);
    });
    after(() => alice('delete', id, '--yes'));

    it('its log is followed, by one request', async () => {
      await until('it runs', async () => (await json<{ phase: string }>('status', id)).phase === 'running', 90_000);
      const before = await counted('jobctl_http_access_decisions_total', 'verb="logs"');
      const { stdout, exitCode } = await jobctlUntil(['logs', id, '-f'], 'line 3\n');
      assert.equal(stdout, 'line 1\nline 2\nline 3\n');
      assert.equal(exitCode, 130);
      // The log itself, and what the set-up noted; not a listing for each look.
      const asked = (await counted('jobctl_http_access_decisions_total', 'verb="logs"')) - before;
      assert.ok(asked >= 1 && asked <= 3, String(asked));
    });

    it('quota show, top and plan, by what the pool published', async () => {
      const shown = await json<{ projects: { project: string }[] }>('quota', 'show');
      assert.ok(JSON.stringify(shown).includes('vision'));
      const top = await json<{ jobs: { job: string; user: string; isVerified: boolean }[] }>('top');
      assert.deepEqual(
        top.jobs.map(({ job, user, isVerified }) => [job, user, isVerified]),
        [[id, ALICE, true]],
      );
      assert.doesNotMatch((await alice('quota', 'show', '--jobs')).stdout, /unverified/);
      assert.equal((await alice('quota', 'plan')).exitCode, 0);
      assert.equal((await alice('quota', 'history')).exitCode, 0);
    });

    it('its priority; a pool is frozen by its operators alone', async () => {
      const priority = await alice('quota', 'set-priority', id, '2');
      assert.equal(priority.exitCode, 0, priority.stderr);
      const byOperator = await as('olga@example.org', 'quota', 'set-priority', id, '3');
      assert.equal(byOperator.exitCode, 0, byOperator.stderr);
      // Who asked, and not whose job it is. The pool writes its history 30 s after the oldest line that is not there yet.
      const said = await until(
        'the history has both',
        async () => {
          const { calls } = await json<{ calls: { kind: string; by?: string; reason?: string }[] }>('quota', 'history');
          const priorities = calls.filter(({ kind }) => kind === 'priority');
          return priorities.length > 1 && priorities.map(({ by, reason }) => [by, reason]);
        },
        60_000,
      );
      assert.deepEqual(said, [
        [ALICE, 'priority 2'],
        ['olga@example.org', 'priority 3'],
      ]);
      const refused = await alice('quota', 'freeze', '--reason', 'mine');
      assert.equal(refused.exitCode, 4);
      assert.match(refused.stderr, /alice@example\.org may not freeze, drain or open the pool/);
      assert.equal((await as('olga@example.org', 'quota', 'freeze')).exitCode, 0);
      assert.equal((await as('olga@example.org', 'quota', 'thaw')).exitCode, 0);
    });

    it('--by is refused: the server knows who asks', async () => {
      const { exitCode, stderr } = await alice('cancel', id, '--by', 'olga@example.org', '--yes');
      assert.equal(exitCode, 2);
      assert.match(stderr, /--by olga@example\.org: http\S+ knows who asks by their login\n/);
    });

    it('stop, resume, restart with a changed file, cancel: each is asked in the name of the token', async () => {
      const stopped = await alice('stop', id);
      assert.equal(stopped.exitCode, 0, stopped.stderr);
      await until('it is paused', async () => (await json<{ phase: string }>('status', id)).phase === 'paused', 60_000);
      const resumed = await alice('resume', id);
      assert.equal(resumed.exitCode, 0, resumed.stderr);
      await until('it runs', async () => (await json<{ phase: string }>('status', id)).phase === 'running', 60_000);
      const restarted = await alice('restart', id, '--set', 'command.run=echo changed; sleep 600');
      assert.equal(restarted.exitCode, 0, restarted.stderr);
      const cancelled = await alice('cancel', id);
      assert.equal(cancelled.exitCode, 0, cancelled.stderr);
      const waited = await alice('wait', id, '-o', 'json');
      const { outcome } = JSON.parse(waited.stdout) as { outcome: { cause: { message: string } } };
      assert.match(outcome.cause.message, /alice@example\.org/);
      const deleted = await alice('delete', id, '--yes');
      assert.equal(deleted.exitCode, 0, deleted.stderr);
    });
  });

  it('a job that is wrong is refused before anything is started, with the problems of jobctl validate', async () => {
    const file = join(home, 'wrong.yaml');
    writeFileSync(file, stringify({ ...jobFile('true'), project: 'vison' }));
    const { exitCode, stderr } = await alice('submit', file);
    assert.equal(exitCode, 4);
    assert.match(stderr, /vison/);
  });

  /** A command that goes on until `text` was printed, and is interrupted then. */
  async function jobctlUntil(args: readonly string[], text: string): Promise<Ended> {
    const command = started(args, { HOME: join(home, ALICE), ID_TOKEN: tokens[ALICE] ?? '' });
    await until(`${text.trim()} is printed`, () => command.out.stdout.endsWith(text), 60_000);
    command.child.kill('SIGINT');
    return ended(command);
  }
});
