import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server, type Socket, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Client, Connection } from '@temporalio/client';
import { COMPLETE_VERB } from '../../cli/commands/operating.js';
import { programArguments } from '../built.js';
import { eventually } from '../cloud/eventually.js';
import { shellWords } from '../../domain/shell-quote.js';
import { TEMPORAL_START_MS, testServer } from '../temporal-server.js';
import { jobctl } from './command-line.js';

describe('completion in a real bash', function () {
  this.timeout(60_000);
  const name = `typed-${process.pid}`;
  const schedule = `nightly-${process.pid}`;
  let folder: string;
  let temporal: Record<string, string>;

  before(async function () {
    this.timeout(TEMPORAL_START_MS);
    folder = mkdtempSync(join(tmpdir(), 'completion-'));
    const program = shellWords([process.execPath, ...programArguments('cli/main')]);
    writeFileSync(join(folder, 'jobctl'), `#!/bin/sh\nexec ${program} "$@"\n`);
    chmodSync(join(folder, 'jobctl'), 0o755);
    const script = await promisify(execFile)(join(folder, 'jobctl'), ['completion', 'bash']);
    writeFileSync(join(folder, 'script'), script.stdout);
    const { address, namespace } = await testServer();
    temporal = { TEMPORAL_ADDRESS: address, TEMPORAL_NAMESPACE: namespace, JOBCTL_TASK_QUEUE: name };
    const job = ['submit', '--tpu', 'v5litepod-8', '--zone', 'us-central1-a', '--name', name, '--no-verdict'];
    const submitted = await jobctl([...job, '--', 'echo', 'hi'], { ...temporal, HOME: folder });
    assert.equal(submitted.exitCode, 0, submitted.stderr);
    const nightly = [
      'schedule',
      'create',
      schedule,
      '--cron',
      '0 2 1 1 *',
      '--tpu',
      'v5litepod-8',
      '--zone',
      'us-central1-a',
    ];
    const created = await jobctl([...nightly, '--', 'echo', 'hi'], { ...temporal, HOME: folder });
    assert.equal(created.exitCode, 0, created.stderr);
  });
  after(async () => {
    await jobctl(['schedule', 'delete', schedule, '--yes'], temporal);
    await jobctl(['cancel', name], temporal);
    rmSync(folder, { recursive: true, force: true });
  });

  /** What bash offers when Tab is pressed behind the last of these words. */
  async function offered(words: readonly string[], env: Record<string, string> = {}): Promise<readonly string[]> {
    const script = [
      `source ${join(folder, 'script')}`,
      `COMP_WORDS=(${shellWords(['jobctl', ...words])})`,
      `COMP_CWORD=${words.length}`,
      '_jobctl',
      'printf "%s\\n" "${COMPREPLY[@]}"',
    ].join('\n');
    const own = { PATH: `${folder}:${process.env['PATH']}`, HOME: folder, JOBCTL_HOME: '/nonexistent/jobctl', ...env };
    const { stdout, stderr } = await promisify(execFile)('bash', ['--noprofile', '--norc', '-c', script], { env: own });
    assert.equal(stderr, '');
    return stdout.split('\n').filter((line) => line !== '');
  }

  /** What a shell is given for the last of these words. */
  async function printed(words: readonly string[], env: Record<string, string> = {}): Promise<readonly string[]> {
    const { exitCode, stdout, stderr } = await jobctl([COMPLETE_VERB, ...words], env);
    assert.deepEqual([exitCode, stderr], [0, '']);
    return stdout.split('\n').filter((line) => line !== '');
  }

  const cases: Record<string, { words: string[]; want: string[] }> = {
    'a verb': { words: ['sta'], want: ['status', 'stacks'] },
    'verbs of a verb': { words: ['quota', 'fr'], want: ['freeze'] },
    'a flag': { words: ['list', '--ph'], want: ['--phase'] },
    'a flag behind a flag with a value': { words: ['list', '--user', 'alice', '--proj'], want: ['--project'] },
    'values of a flag': { words: ['list', '--phase', 'r'], want: ['running', 'released'] },
    'a flag of a near word': { words: ['ls', '--ph'], want: ['--phase'] },
    'nothing where any value may stand': { words: ['list', '--user', ''], want: [] },
    'nothing where a file may stand': { words: ['submit', ''], want: [] },
    'nothing behind --': { words: ['exec', 'x', '--', 'sta'], want: [] },
    'nothing of what is no verb': { words: ['frobnicate', 'x', ''], want: [] },
  };
  for (const [what, { words, want }] of Object.entries(cases))
    it(what, async () => assert.deepEqual(await printed(words), want));

  it('the same in a shell, with words that are empty or of several lines', async () => {
    assert.deepEqual(await offered(['list', '--user', 'a b\n$c', '--proj']), ['--project']);
    assert.deepEqual(await offered(['list', '--user', '']), []);
    assert.deepEqual(await offered(['sta']), ['status', 'stacks']);
  });

  it('ids of jobs, where an id is wanted', async () => {
    // A list is made from the server's index, which is a moment behind.
    await eventually(
      `${name} is offered`,
      () => printed(['status', 'typed-'], temporal),
      (ids) => ids.includes(name),
    );
    assert.ok((await offered(['status', 'typed-'], temporal)).includes(name));
    assert.deepEqual(await printed(['logs', name, 'typed-'], temporal), [], 'it takes one');
    assert.ok((await printed(['cancel', 'other', 'typed-'], temporal)).includes(name), 'it takes several');
  });

  it('names of schedules, where one is wanted, and a verb on jobs says what the name is', async () => {
    await eventually(
      `${schedule} is offered`,
      () => printed(['schedule', 'status', 'nightly-'], temporal),
      (names) => names.includes(schedule),
    );
    assert.ok(!(await printed(['status', 'nightly-'], temporal)).includes(schedule));
    const { exitCode, stderr } = await jobctl(['status', schedule], { ...temporal, HOME: folder });
    assert.equal(exitCode, 3);
    assert.match(stderr, new RegExp(`'${schedule}' is a schedule.*\\n.*jobctl schedule status ${schedule}`));
  });

  it('no ids, no word and no long wait where a server does not answer', async () => {
    const held: Socket[] = [];
    const silent: Server = createServer((socket) => void held.push(socket));
    await new Promise<void>((resolve) => void silent.listen(0, '127.0.0.1', resolve));
    const address = `127.0.0.1:${(silent.address() as AddressInfo).port}`;
    // A verb gives the server its whole deadline; completion has given up before, however slow this computer is.
    const verb = jobctl(['status', 'any'], { TEMPORAL_ADDRESS: address }).then(() => 'the verb' as const);
    const ids = offered(['status', ''], { TEMPORAL_ADDRESS: address });
    assert.deepEqual(await Promise.race([ids, verb]), []);
    await verb;
    // Nobody reads them, so that they never see their end: one that is left keeps mocha from its own.
    for (const socket of held) socket.destroy();
    silent.close();
  });

  it('a workflow whose id a shell would run is not offered', async () => {
    const { address, namespace } = await testServer();
    const connection = await Connection.connect({ address });
    const evil = `${name}-x$(touch${'${IFS}'}${folder}/owned)`;
    const client = new Client({ connection, namespace });
    const handle = await client.workflow.start('job', { workflowId: evil, taskQueue: name, args: [{}] });
    try {
      const list = ['list', '--output', 'json'];
      await eventually(
        'it is listed',
        async () => (await jobctl(list, temporal)).stdout,
        (stdout) => stdout.includes(evil),
      );
      // Nothing is offered where the server is slow.
      const ids = await eventually(
        `${name} is offered`,
        () => printed(['status', name], temporal),
        (found) => found.length > 0,
        30_000,
      );
      assert.deepEqual(ids, [name]);
    } finally {
      await handle.terminate();
      await connection.close();
    }
  });

  it('a script for zsh and one for fish, and no other', async () => {
    for (const shell of ['zsh', 'fish']) {
      const { exitCode, stdout } = await jobctl(['completion', shell]);
      assert.equal(exitCode, 0);
      assert.match(stdout, /jobctl __complete /);
    }
    const { exitCode, stderr } = await jobctl(['completion', 'tcsh']);
    assert.equal(exitCode, 2);
    assert.match(stderr, /shell: 'tcsh' is invalid\n {2}allowed choices are bash, zsh, fish\n/);
  });
});
