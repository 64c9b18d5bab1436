import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client, Connection } from '@temporalio/client';
import { stringify } from 'yaml';
import { JobClient } from '../../../client/job-client.js';
import { blocksIn, stepsOf, type PageStep } from '../../docs/page-steps.js';
import { jobFile } from '../../end-to-end/job-files.js';
import { storedLog } from '../../end-to-end/stored-log.js';
import { until } from '../../until.js';
import { GO_BUILD_MS } from '../built-by-go.js';
import { codeOf, PERMISSION_DENIED } from '../postgres/grpc-code.js';
import { WalkedInstallation } from './walked-installation.js';

const ROOT = join(import.meta.dirname, '../../..');
const one = { project: 'vision', tpu: { accelerator: 'v5litepod-1' } };

/** An operator does what docs/security.md says, in its order and by its own commands, while jobs run. */
describe('docs/security.md, from trusted to verified and back', function () {
  this.timeout(240_000);
  const steps = stepsOf(ROOT, 'docs/security.md');
  const typed: string[] = [];
  let here: WalkedInstallation;
  /** Both live over every step; the third from step 5 on. */
  const LONG = ['long-one', 'long-two'] as const;
  const SIGNED = 'long-signed';
  let startedAt: Readonly<Record<string, number | undefined>>;

  before(async function () {
    this.timeout(GO_BUILD_MS);
    here = await WalkedInstallation.start();
    const { jobs } = here.stack;
    for (const name of LONG)
      await jobs.submit({ job: jobFile(await here.gates.command(name), one), name, user: 'alice' });
    for (const name of LONG)
      await until(`${name} runs`, async () => (await jobs.row(name)).phase === 'running', 90_000);
    startedAt = await starts();
    for (const name of LONG) assert.ok(startedAt[name], `${name} has a start`);
  });
  after(async function () {
    this.timeout(120_000);
    await here?.stop();
  });
  /** After each step: nothing of it touched the jobs that run. */
  afterEach(async () => {
    for (const name of LONG) {
      const { phase, attempts } = await here.stack.jobs.row(name);
      if (phase !== 'succeeded') assert.deepEqual([name, phase, attempts], [name, 'running', 1]);
    }
  });

  const step = (title: string): PageStep => steps.find((each) => each.title === title) ?? assert.fail(title);
  const type = (command: string | undefined, ...more: [('operator' | 'alice' | 'olga')?, (readonly number[])?]) => {
    const text = command ?? assert.fail('the page has no such command');
    typed.push(text);
    return here.type(text, ...more);
  };
  const starts = async () =>
    Object.fromEntries(
      await Promise.all(
        LONG.map(async (name) => {
          const { events } = await here.stack.jobs.describe(name);
          return [name, events.find(({ text }) => /running: attempt 1/.test(text))?.at] as const;
        }),
      ),
    );
  const call = async (who: string, method: string, path: string, body?: object) => {
    const headers = {
      authorization: `Bearer ${await here.issuer.token({ email: `${who}@example.org` })}`,
      ...(body && { 'content-type': 'application/json' }),
    };
    const response = await fetch(`${here.publicUrl}${path}`, {
      method,
      headers,
      ...(body && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    return {
      status: response.status,
      text,
      body: (text.startsWith('{') ? JSON.parse(text) : {}) as Record<string, unknown>,
    };
  };
  const submitted = async (name: string, command = 'echo hello'): Promise<void> => {
    const { status, text } = await call('alice', 'POST', '/v1/jobs', { job: jobFile(command, one), name });
    assert.equal(status, 201, text);
  };
  const ends = (id: string, withinMs = 90_000): Promise<string> =>
    until(
      `${id} has ended`,
      async () => {
        const { phase } = await here.stack.jobs.row(id);
        return ['succeeded', 'failed', 'cancelled'].includes(phase) && phase;
      },
      withinMs,
    );
  /** As clients did before: whoever they say they are. */
  const trusted = async (name: string): Promise<string> => {
    await here.stack.jobs.submit({ job: jobFile('echo hello', one), name, user: 'alice' });
    return ends(name);
  };

  it('1: names of the issuer beside the old ones, operators, what jobs may choose', async () => {
    const { blocks, commands } = step('1. Say who is who');
    const [members = '', pool = ''] = blocks('toml');
    here.stack.writeQuotaFile((text) => text.replace(/\[project_membership\]\n.*\n/u, members));
    here.stack.writePoolFile(here.here(pool));
    writeFileSync(join(here.etc, 'pool.toml'), here.here(pool));
    const file = (more: object) =>
      writeFileSync(join(here.etc, 'job.yaml'), stringify(jobFile('true', { ...one, ...more })));
    file({});
    await type(commands[0]);
    file({ tpu: { ...one.tpu, network: 'projects/other-host-project/global/networks/n' } });
    assert.match(await here.type(commands[0] ?? '', 'operator', [2]), /network: .* is not allowed in pool default/);
    assert.equal(await trusted('after-1'), 'succeeded');
  });

  it('2: what decides moves to a bucket of its own; the worker names what is left in the other', async () => {
    const { commands, blocks } = step('2. Separate what decides');
    await here.stack.stopWorker();
    await here.makeSystemBucket();
    const printed = await type(commands[0]);
    assert.match(printed, /system bucket: copied \d+ objects/);
    // Of Google's answers: test/doctor/system-bucket.test.ts.
    typed.push(commands[1] ?? '');
    const [block = ''] = blocks('json');
    here.configureWorker(block);
    await here.stack.startWorker();
    const warned = (): number => here.workerLog().split('holds what belongs into the system bucket').length - 1;
    assert.equal(warned(), 1);
    assert.ok((await here.removeMoved(printed)) > 0);
    await here.restartWorker();
    assert.equal(warned(), 1, 'nothing is left there');
    assert.equal(await trusted('after-2'), 'succeeded');
  });

  it('3: a server beside the present clients changes nothing for them', async () => {
    const [newKey, serve, ready] = step('3. Start servers beside the present clients').commands;
    await type(newKey);
    const [config = ''] = blocksIn(readFileSync(join(ROOT, 'docs/serve.md'), 'utf8'), 'json');
    here.writeServerConfig(config);
    typed.push(serve ?? '');
    await here.startServer(serve ?? '');
    assert.match(await type(ready), /"ok":true|ready/);
    assert.equal(await trusted('after-3'), 'succeeded');
    await submitted('signed-3');
    assert.equal(await ends('signed-3'), 'succeeded');
  });

  it('4: people log in, see the jobs from before, and that nobody verified whose they are', async () => {
    for (const command of step('4. Move people').commands) {
      const printed = await type(command, 'alice');
      if (command === 'jobctl whoami') assert.match(printed, /alice@example\.org/);
      if (command === 'jobctl list') for (const name of LONG) assert.match(printed, new RegExp(name));
    }
    const { body } = await call('alice', 'GET', `/v1/jobs/${LONG[0]}`);
    assert.deepEqual([body['user'], body['isVerified'] ?? false], ['alice', false]);
    // As the page says of jobs from before.
    assert.equal((await call('alice', 'GET', `/v1/jobs/${LONG[0]}/logs?host=0`)).status, 200);
    assert.equal((await call('alice', 'POST', `/v1/jobs/${LONG[0]}/stop`, {})).status, 403);
  });

  it('5: a job past the server is refused by name, one through it is verified', async () => {
    const [block = ''] = step('5. Verify').blocks('json');
    here.configureWorker(block);
    await here.restartWorker();
    await here.stack.jobs.submit({ job: jobFile('true', one), name: 'after-5', user: 'alice' });
    await assert.rejects(here.stack.jobs.wait('after-5'), /it is not signed/);
    await submitted(SIGNED, await here.gates.command(SIGNED));
    await until('it runs', async () => (await here.stack.jobs.row(SIGNED)).phase === 'running', 90_000);
    const { body } = await call('alice', 'GET', `/v1/jobs/${SIGNED}`);
    assert.deepEqual([body['user'], body['isVerified']], ['alice@example.org', true]);
  });

  it('6: API keys first, while nobody asks; then Temporal asks, and lets nobody else in', async () => {
    const { commands, blocks } = step('6. Close the other doors');
    const [make, serveKeys, look] = commands;
    await type(make);
    const [block = ''] = blocks('json');
    here.configureWorker(block);
    here.configureServer(block.replace('/worker/', '/server/'));
    await here.restartWorker();
    await here.stopServer();
    await here.startServer(serveCommand());
    await submitted('keys-6');
    assert.equal(await ends('keys-6'), 'succeeded');
    assert.match(await here.type(look ?? ''), /advice +who may call: the server asks for no API key/);

    typed.push(serveKeys ?? '');
    await here.serveKeySet(serveKeys ?? '');
    await here.restartTemporal(true);
    assert.match(await type(look), /ok +who may call: whoever has an API key/);
    const { address, namespace } = here.temporal;
    for (const login of [{ tls: false } as const, here.apiKey('people')]) {
      const connection = await Connection.connect({ address, ...login });
      const { workflow } = new Client({ connection, namespace });
      const code = await workflow
        .getHandle(LONG[0])
        .terminate()
        .then(() => 'done', codeOf);
      await connection.close();
      assert.equal(code, PERMISSION_DENIED);
    }
    await submitted('after-6');
    assert.equal(await ends('after-6'), 'succeeded');
  });

  it('7: who may do what, and who did', async () => {
    const { commands } = step('7. Look');
    for (const command of step('4. Move people').commands.slice(0, 3)) await here.type(command, 'olga');
    const [explain, log] = commands;
    typed.push(explain ?? '');
    const explained = await here.type((explain ?? '').replace('train-7f3k', SIGNED), 'olga');
    assert.match(explained, /cancel +yes +operator/);
    const lines = await type(log, 'olga');
    assert.match(lines, /alice@example\.org.*submit|submit.*alice@example\.org/);
    assert.match(lines, new RegExp(`stop.*${LONG[0]}|${LONG[0]}.*stop`));
  });

  it('back: what was trusted is again, and jobs that servers have signed run on', async () => {
    here.removeFromWorker('verified');
    await here.restartWorker();
    await here.restartTemporal(false);
    const { address, namespace } = here.temporal;
    // A client from before, without a key.
    const jobs = await JobClient.connect({ temporal: { address, namespace }, taskQueue: here.stack.taskQueue });
    await jobs.submit({ job: jobFile('echo hello', one), name: 'after-back', user: 'alice' });
    await jobs.close();
    // A task of the pool that was lost with the killed server is given again after 60 s, and so is an activity.
    assert.equal(await ends('after-back', 180_000), 'succeeded');
    assert.equal((await here.stack.jobs.row(SIGNED)).phase, 'running');
  });

  it('the jobs of all this time end well: the attempt, the start and every line are those of the beginning', async () => {
    const began = await starts();
    assert.deepEqual(began, startedAt);
    for (const name of [...LONG, SIGNED]) here.gates.open(name);
    for (const name of [...LONG, SIGNED]) {
      assert.equal(await ends(name), 'succeeded', name);
      const { attempts } = await here.stack.jobs.wait(name);
      assert.equal(attempts, 1, name);
      const lines = (await storedLog(here.stack.store, { id: name, stream: 'command', host: 0 })).trimEnd().split('\n');
      const count = lines.length - 1;
      assert.ok(count > 50, `${count} lines`);
      assert.deepEqual(lines, [...Array.from({ length: count }, (_, n) => `line ${n + 1}`), `the end after ${count}`]);
    }
  });

  it('every command of the page was typed', () => {
    assert.deepEqual(
      steps.flatMap(({ commands }) => commands).filter((command) => !typed.includes(command)),
      [],
    );
  });

  const serveCommand = (): string => step('3. Start servers beside the present clients').commands[1] ?? '';
});
