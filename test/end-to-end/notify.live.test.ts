import assert from 'node:assert/strict';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { SMTPServer } from 'smtp-server';
import { signatureOf, signingKey } from '../../cloud/notices/sender.js';
import { openSecretStore } from '../../cloud/secrets/open-secret-store.js';
import { noticesWorkflowId } from '../../contract/workflow-ids.js';
import { until } from '../until.js';
import { jobFile } from './job-files.js';
import { JobctlUser } from './jobctl-process.js';
import { RehearsalAdmin } from './rehearsal-admin.js';
import type { TestStack } from './test-stack.js';
import { withStack } from './with-stack.js';

const KEY = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;

interface Got {
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

describe('a job that tells a webhook and a mailbox', function () {
  this.timeout(300_000);
  let stack: TestStack;
  let user: JobctlUser;
  let hook: Server;
  let mail: SMTPServer;
  /** Requests since the receiver began to fail. Undefined: it does not fail. */
  let requests: number | undefined = 0;
  const got: Got[] = [];
  const subjects: string[] = [];
  withStack((own) => {
    stack = own;
    user = JobctlUser.of(own);
  });

  before(async () => {
    hook = createServer((request, response) => {
      let body = '';
      request.setEncoding('utf8').on('data', (chunk: string) => (body += chunk));
      request.on('end', () => {
        if (requests !== undefined) requests += 1;
        // Of each three: an error, an event that is taken though the answer is lost, and an answer.
        if ((requests ?? 0) % 3 === 1) return void response.writeHead(500).end('not now');
        got.push({ headers: request.headers, body });
        if ((requests ?? 0) % 3 === 2) return void response.destroy();
        return void response.end();
      });
    });
    hook.listen(0, '127.0.0.1');
    await once(hook, 'listening');
    mail = new SMTPServer({
      authOptional: true,
      disabledCommands: ['STARTTLS', 'AUTH'],
      logger: false,
      onData: (stream, _session, done) => {
        let text = '';
        stream.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
        stream.on('end', () => {
          subjects.push(/^Subject: (.*)\r$/m.exec(text)?.[1] ?? '');
          done();
        });
      },
    });
    await new Promise<void>((resolve) => mail.listen(0, '127.0.0.1', () => resolve()));
    await openSecretStore(stack.secretStore).put('hook-key', KEY);
    const smtp = join(user.home, 'smtp-url');
    writeFileSync(smtp, `smtp://127.0.0.1:${(mail.server.address() as AddressInfo).port}\n`, { mode: 0o600 });
    stack.workerConfig = {
      notify: {
        networks: ['127.0.0.0/8'],
        smtp: { url: pathToFileURL(smtp).href, from: 'jobs@example.org' },
        channels: { team: { mail: ['team@example.org'] } },
      },
    };
    await stack.stopWorker();
    await stack.startWorker();
  });
  after(async () => {
    await user.leave();
    hook.closeAllConnections();
    hook.close();
    await new Promise<void>((resolve) => mail.close(() => resolve()));
  });

  const url = (): string => `http://127.0.0.1:${(hook.address() as AddressInfo).port}/jobs?token=t`;
  const fileOf = (notify: unknown, run: string): string => {
    const file = join(user.home, 'job.json');
    writeFileSync(file, JSON.stringify({ ...jobFile('told', { command: { run } }), notify }));
    return file;
  };
  const idsInOrder = (): readonly string[] => [...new Set(got.map(({ headers }) => String(headers['webhook-id'])))];

  it('tells each event once, in order and signed, over a preemption and a worker that is killed', async () => {
    const notify = [
      { on: ['started', 'preempted', 'ended'], to: { webhook: url(), secret: 'hook-key' } },
      { on: ['preempted', 'ended'], to: { channel: 'team' } },
    ];
    const submitted = await user.run('submit', fileOf(notify, 'sleep 30'), '--name', 'told');
    assert.equal(submitted.code, 0, submitted.stderr);
    await until('it runs', async () => (await stack.jobs.describe('told')).phase === 'running', 90_000);
    const [slice] = (await stack.jobs.describe('told')).slices;
    await new RehearsalAdmin(stack.rehearsal.endpoints.admin).post('preempt', {
      name: slice?.ref.name,
      mode: 'vanish',
    });
    await until('the preemption is in its events', async () =>
      (await stack.jobs.describe('told')).events.some(({ kind }) => kind === 'preempted'),
    );
    await stack.killWorker();
    await stack.startWorker();
    assert.equal((await stack.jobs.wait('told')).result, 'succeeded');
    await stack.client.workflow.getHandle(noticesWorkflowId('told')).result();

    const kinds = idsInOrder().map((id) => {
      const { body, headers } = got.find((each) => each.headers['webhook-id'] === id) ?? assert.fail();
      const { 'webhook-timestamp': at, 'webhook-signature': signature } = headers;
      assert.equal(signature, signatureOf(signingKey(KEY) ?? assert.fail(), id, Number(at), body));
      const { type, data } = JSON.parse(body) as { readonly type: string; readonly data: { readonly job: string } };
      assert.equal(data.job, 'told');
      return type;
    });
    assert.deepEqual(kinds, ['job.running', 'job.preempted', 'job.running', 'job.succeeded']);
    assert.ok(got.length > kinds.length, 'no event was repeated');
    assert.deepEqual(subjects, ['[REHEARSAL] told: preempted', '[REHEARSAL] told: succeeded']);
    const log = await user.run('logs', 'told', '--job');
    assert.match(log.stdout, /notify: /);
    assert.doesNotMatch(`${log.stdout}${stack.tail()}`, /whsec_|token=t/);
  });

  it('is tried by jobctl notify test, whose exit code says whether all were told', async () => {
    requests = undefined;
    const good = fileOf([{ to: { webhook: url(), secret: 'hook-key' } }], 'true');
    const told = await user.run('notify', 'test', good, '--channel', 'team');
    assert.deepEqual([told.code, told.stdout.match(/^told: /gm)?.length], [0, 2], `${told.stdout}${told.stderr}`);
    const bad = fileOf(
      [{ to: { webhook: 'https://127.0.0.1.nip.invalid/', secret: 'hook-key' } }, { to: { channel: 'nope' } }],
      'true',
    );
    const failed = await user.run('notify', 'test', bad);
    assert.equal(failed.code, 1);
    assert.match(failed.stderr, /not told: channel nope: .*it has team/s);
  });
});
