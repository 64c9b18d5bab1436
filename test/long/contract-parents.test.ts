import assert from 'node:assert/strict';
import { fileURLToPath } from 'node:url';
import type { WorkflowHandle } from '@temporalio/client';
import { JobTerminated } from '../../client/errors.js';
import { nothingIsLeft, vmInits } from '../end-to-end/nothing-left.js';
import type { parent, ParentInput } from '../contract/parents.js';
import { Service } from '../contract/service.js';
import { RehearsalAdmin } from '../end-to-end/rehearsal-admin.js';
import { jobFile } from '../end-to-end/job-files.js';
import { TestStack } from '../end-to-end/test-stack.js';
import { everybodysQuota } from '../quota/quota-file-text.js';
import { startTestServer, TEMPORAL_START_MS, type TestServer } from '../temporal-server.js';
import { until } from '../until.js';
import { auditLeaks } from './audit-leaks.js';

const PARENTS = fileURLToPath(new URL('../contract/parents.ts', import.meta.url));
const SERVICE = fileURLToPath(new URL('../../examples/typescript-service/src/workflows.ts', import.meta.url));
/** Room for one v5litepod-16: a second job waits. */
const QUOTA = everybodysQuota({ v5litepod: 16 });
const STUBBORN = "trap '' TERM; echo started; while :; do sleep 1; done";

describe('a job whose parent workflow is terminated', function () {
  this.timeout(90_000);
  let server: TestServer;
  let stack: TestStack;
  let admin: RehearsalAdmin;
  let service: Service;
  let number = 0;
  before(async function () {
    this.timeout(TEMPORAL_START_MS);
    server = await startTestServer();
    stack = await TestStack.start({ server, quota: QUOTA });
    admin = new RehearsalAdmin(stack.rehearsal.endpoints.admin);
    service = await Service.start(server, PARENTS);
  });
  afterEach(() => admin.post('release', {}));
  after(async () => {
    await service?.stop();
    await stack?.stop();
    await server?.stop();
  });

  const input = { v: 1, job: jobFile(STUBBORN, { grace: 1 }) } as const;

  async function startParent(policy: ParentInput['policy']): Promise<{ child: string; handle: WorkflowHandle }> {
    const child = `child-${++number}`;
    const handle = await stack.client.workflow.start<typeof parent>('parent', {
      workflowId: `parent-${number}`,
      taskQueue: service.taskQueue,
      args: [{ id: child, jobQueue: stack.taskQueue, job: input, ...(policy === undefined ? {} : { policy }) }],
    });
    return { child, handle };
  }

  const inPhase = (id: string, phase: string): Promise<unknown> =>
    until(`${id} is ${phase}`, async () => (await stack.jobs.row(id)).phase === phase);

  /** How the child gets into each phase, and stays there. */
  const phases: Record<string, (start: () => ReturnType<typeof startParent>) => ReturnType<typeof startParent>> = {
    queued: async (start) => {
      const { id } = await stack.jobs.submit({ ...input, name: `holder-${++number}` });
      await inPhase(id, 'running');
      const started = await start();
      await inPhase(started.child, 'queued');
      return started;
    },
    provisioning: async (start) => {
      await admin.post('hold', { state: 'WAITING_FOR_RESOURCES' });
      const started = await start();
      await until('its request waits', async () =>
        (await admin.status()).queuedResources.some(({ state }) => state === 'WAITING_FOR_RESOURCES'),
      );
      return started;
    },
    running: async (start) => {
      const started = await start();
      await inPhase(started.child, 'running');
      return started;
    },
  };

  async function allIsGone(inits: readonly number[]): Promise<void> {
    for (const { id, endedAt } of (await stack.jobs.list()).rows)
      if (endedAt === undefined) await stack.jobs.cancel(id);
    await nothingIsLeft(stack, admin, inits);
    assert.match(await auditLeaks(stack), /^0 leaks, 0 leases without a job: 0 of 0 resources/);
  }

  for (const policy of [undefined, 'REQUEST_CANCEL'] as const) {
    for (const [phase, reach] of Object.entries(phases)) {
      it(`while it is ${phase}, under ${policy ?? "Temporal's default policy"}, leaves nothing`, async () => {
        const { child, handle } = await reach(() => startParent(policy));
        const inits = await vmInits(admin);
        await handle.terminate('test');
        if (policy === undefined) await assert.rejects(stack.jobs.wait(child), JobTerminated);
        else assert.equal((await stack.jobs.wait(child)).result, 'cancelled');
        await allIsGone(inits);
      });
    }
  }

  it('under ABANDON it runs on', async () => {
    const { child, handle } = await phases['running']!(() => startParent('ABANDON'));
    await handle.terminate('test');
    await until('the parent is terminated', async () => (await handle.describe()).status.name === 'TERMINATED');
    const view = await stack.jobs.describe(child);
    assert.deepEqual([view.phase, view.slices[0]?.state], ['running', 'ready']);
    const inits = await vmInits(admin);
    await stack.jobs.cancel(child);
    assert.equal((await stack.jobs.wait(child)).result, 'cancelled');
    await allIsGone(inits);
  });

  it('which is the sweep of the TypeScript example, leaves nothing of any of its jobs', async () => {
    const example = await Service.start(server, SERVICE);
    try {
      const jobs = [1, 2].map((index) => ({ id: `sweep-job-${index}`, input }));
      const handle = await stack.client.workflow.start('sweep', {
        workflowId: 'sweep-to-terminate',
        taskQueue: example.taskQueue,
        args: [{ jobs, jobQueue: stack.taskQueue }],
      });
      await until('one runs, the other waits', async () => {
        const found = await Promise.all(jobs.map(({ id }) => stack.jobs.row(id).catch(() => undefined)));
        return ['queued', 'running'].every((phase) => found.some((row) => row?.phase === phase));
      });
      const inits = await vmInits(admin);
      await handle.terminate('test');
      for (const { id } of jobs) assert.equal((await stack.jobs.wait(id)).result, 'cancelled');
      await allIsGone(inits);
    } finally {
      await example.stop();
    }
  });
});
