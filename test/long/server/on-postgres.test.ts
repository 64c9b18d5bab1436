import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, type Connection, WorkflowUpdateStage } from '@temporalio/client';
import { WorkflowType } from '../../../contract/workflow-ids.js';
import { jobctl } from '../../cli/command-line.js';
import { jobFile } from '../../end-to-end/job-files.js';
import { ServerStack, SERVICE } from '../../server/server-stack.js';
import { until } from '../../until.js';
import { GO_BUILD_MS } from '../built-by-go.js';
import { codeOf, PERMISSION_DENIED } from '../postgres/grpc-code.js';
import { GuardedTemporal, type Holder, makeApiKeys } from '../postgres/guarded-temporal.js';
import { decisionSuite } from './decision-suite.js';
import { NO_LIMITS, submissionSuite } from './submission-suite.js';
import { tokenSuite } from './token-suite.js';

const ALICE = 'alice@example.org';

/** As a team runs it: PostgreSQL, Temporal's own authorizer, two servers behind one address, a worker that believes nobody else. */
describe('jobctl serve, twice, on PostgreSQL and a Temporal that asks who calls', function () {
  this.timeout(180_000);
  const directory = mkdtempSync(join(tmpdir(), 'jobctl-guarded-'));
  let temporal: GuardedTemporal;
  let stack: ServerStack;
  before(async function () {
    this.timeout(GO_BUILD_MS);
    temporal = await GuardedTemporal.start(directory);
    stack = await ServerStack.start({
      replicas: 2,
      isBalanced: true,
      serverConfig: (of) => ({ ...SERVICE(of), ...NO_LIMITS }),
      server: temporal.server,
      logins: { worker: temporal.login('worker'), server: temporal.login('server') },
    });
  });
  after(async function () {
    this.timeout(120_000);
    await stack?.stop();
    await temporal?.stop();
    rmSync(directory, { recursive: true, force: true });
  });

  describe('whose token is taken', () => tokenSuite(() => stack));
  describe('who may do what', () => decisionSuite(() => stack));

  describe('Temporal itself, past the servers', () => {
    let id: string;
    before(async () => {
      const job = jobFile('sleep 600', { project: 'vision', tpu: { accelerator: 'v5litepod-1' } });
      const { body, text } = await stack.call(ALICE, 'POST', '/v1/jobs', { job });
      id = String(body['id'] ?? assert.fail(text));
      await until(
        'it runs',
        async () => (await stack.call(ALICE, 'GET', `/v1/jobs/${id}`)).body['phase'] === 'running',
        60_000,
      );
    });

    const withKey = async (
      holder: Holder | 'nobody',
      use: (client: Client, connection: Connection) => Promise<void>,
    ) => {
      const connection = await temporal.connect(holder);
      try {
        await use(new Client({ connection, namespace: temporal.server.namespace }), connection);
      } finally {
        await connection.close();
      }
    };
    const CHANGES: Readonly<Record<string, (client: Client, connection: Connection) => Promise<unknown>>> = {
      start: ({ workflow }) =>
        workflow.start(WorkflowType.Job, { workflowId: 'mine', taskQueue: 'jobctl', args: [{}] }),
      signal: ({ workflow }) => workflow.getHandle(id).signal('revoked', {}),
      update: ({ workflow }) =>
        workflow
          .getHandle(id)
          .startUpdate('stop', { args: [{ v: 1, by: 'x' }], waitForStage: WorkflowUpdateStage.ACCEPTED }),
      cancel: ({ workflow }) => workflow.getHandle(id).cancel(),
      terminate: ({ workflow }) => workflow.getHandle(id).terminate(),
      'signal with start': ({ workflow }) =>
        workflow.signalWithStart(WorkflowType.Quota, {
          workflowId: 'quota/x',
          taskQueue: 'jobctl',
          args: [],
          signal: 's',
        }),
      'poll as a worker': (_, { workflowService }) =>
        workflowService.pollActivityTaskQueue({ namespace: 'default', taskQueue: { name: stack.stack.taskQueue } }),
      reset: (_, { workflowService }) =>
        workflowService.resetWorkflowExecution({ namespace: 'default', workflowExecution: { workflowId: id } }),
      delete: (_, { workflowService }) =>
        workflowService.deleteWorkflowExecution({ namespace: 'default', workflowExecution: { workflowId: id } }),
      'another namespace': (_, { workflowService }) => workflowService.registerNamespace({ namespace: 'mine' }),
    };

    for (const holder of ['people', 'nobody'] as const)
      for (const [name, change] of Object.entries(CHANGES))
        it(`refuses ${name} with ${holder === 'people' ? "a researcher's API key" : 'none'}`, () =>
          withKey(holder, async (client, connection) => {
            const code = await change(client, connection).then(() => 'done', codeOf);
            assert.equal(code, PERMISSION_DENIED);
          }));

    it("lets a researcher's key look: list, describe, query and history; nobody's sees nothing", async () => {
      const looks: readonly ((client: Client) => Promise<unknown>)[] = [
        ({ workflow }) => workflow.count(''),
        ({ workflow }) => workflow.getHandle(id).describe(),
        ({ workflow }) => workflow.getHandle(id).query('describe'),
        ({ workflow }) => workflow.getHandle(id).fetchHistory(),
      ];
      await withKey('people', async (client) => void (await Promise.all(looks.map((look) => look(client)))));
      await withKey('nobody', async (client) => {
        for (const look of looks) assert.equal(await look(client).then(() => 'done', codeOf), PERMISSION_DENIED);
      });
    });

    it("jobctl with a researcher's key: status and list, and no cancel", async () => {
      const by = async (...words: readonly string[]) => jobctl(words, environment('people'));
      const status = await by('status', id);
      assert.equal(status.exitCode, 0, status.stderr);
      assert.match((await by('list')).stdout, new RegExp(id));
      const cancelled = await by('cancel', id, '--yes');
      assert.equal(cancelled.exitCode, 5, cancelled.stderr);
      assert.match(cancelled.stderr, /does not let this client in/);
    });

    it('jobctl setup server works with the key of admin, and says that the server asks', async () => {
      const { bucket } = stack.stack.store;
      const args = [
        'setup',
        'server',
        '--bucket',
        bucket,
        '--task-queue',
        stack.stack.taskQueue,
        '--google-project',
        'rehearsal',
      ];
      const store = { JOBCTL_STORE_ENDPOINT: stack.stack.rehearsal.endpoints.store };
      const done = await jobctl(args, { ...environment('admin'), ...store });
      assert.equal(done.exitCode, 0, done.stdout + done.stderr);
      assert.match(done.stdout, /^ok {7}who may call: whoever has an API key/m);
    });

    it('and the job that they were after still runs', async () => {
      assert.equal((await stack.call(ALICE, 'GET', `/v1/jobs/${id}`)).body['phase'], 'running');
      const cancelled = await stack.call(ALICE, 'POST', `/v1/jobs/${id}/cancel`, {});
      assert.equal(cancelled.status, 200, cancelled.text);
    });

    const environment = (holder: Holder): Record<string, string> => ({
      HOME: directory,
      TEMPORAL_ADDRESS: temporal.server.address,
      TEMPORAL_NAMESPACE: temporal.server.namespace,
      TEMPORAL_TLS: 'false',
      TEMPORAL_API_KEY: readFileSync(temporal.login(holder).apiKeyFile ?? '', 'utf8').trim(),
    });
  });

  describe('API keys that are changed while everything runs', () => {
    const submitted = async (name: string): Promise<string> => {
      const job = jobFile('true', { name, project: 'vision', tpu: { accelerator: 'v5litepod-1' } });
      const { body, text } = await stack.call(ALICE, 'POST', '/v1/jobs', { job });
      return String(body['id'] ?? assert.fail(text));
    };
    const ends = (id: string): Promise<unknown> =>
      until(
        `${id} has ended`,
        async () => (await stack.call(ALICE, 'GET', `/v1/jobs/${id}/wait?timeoutMs=10000`)).body['isOver'] === true,
        90_000,
      );

    it('worker and servers go on by keys of the next signing key, after keys that end within a minute have ended', async function () {
      this.timeout(240_000);
      await makeApiKeys(temporal.folder, '--valid-for', '60s');
      const { pid } = stack.stack;
      const shortlived = endOf(temporal.login('worker').apiKeyFile ?? '');
      await ends(await submitted('short'));
      // The key set was published with the keys before: no server of Temporal has to read it first.
      await makeApiKeys(temporal.folder, '--rotate');
      await until('the short-lived keys have ended', () => Date.now() > shortlived + 15_000, 120_000);
      await ends(await submitted('rotated'));
      assert.equal(stack.stack.pid, pid, 'the worker that began');
    });
  });

  describe('a job', () => submissionSuite(() => stack));
});

function endOf(file: string): number {
  const body = Buffer.from(readFileSync(file, 'utf8').split('.')[1] ?? '', 'base64url').toString();
  return (JSON.parse(body) as { exp: number }).exp * 1_000;
}
