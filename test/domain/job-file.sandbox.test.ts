import assert from 'node:assert/strict';
import { fileURLToPath } from 'node:url';
import { Client, Connection } from '@temporalio/client';
import { bundleWorkflowCode, NativeConnection, Worker } from '@temporalio/worker';
import type { WorkflowBundleWithSourceMap } from '@temporalio/worker';
import { contentHash } from '../../domain/content-hash.js';
import { resolveJob } from '../../domain/job-file/resolve.js';
import { TEMPORAL_START_MS, testServer } from '../temporal-server.js';
import type { TestServer } from '../temporal-server.js';
import type { resolveInWorkflow } from './sandbox-workflow.js';

const WORKFLOWS = fileURLToPath(new URL('./sandbox-workflow.ts', import.meta.url));
const BUNDLE_MS = 60_000;

/** A job with something of everything: references, two problems, a nearest word. */
const BAD = {
  tpu: { accelerator: 'v5litepod-17', zone: 'us-central1-a', zonee: 'x' },
  command: { run: 'echo ${tpu.zone}' },
};
const GOOD = {
  tpu: { accelerator: 'v5e-16', zone: 'us-central1-a' },
  command: { run: 'echo ${tpu.name} $HOME', workers: [3] },
};

describe('the job file inside a workflow', function () {
  this.timeout(TEMPORAL_START_MS + BUNDLE_MS);
  let server: TestServer;
  let workflowBundle: WorkflowBundleWithSourceMap;
  before(async () => {
    [server, workflowBundle] = await Promise.all([testServer(), bundleWorkflowCode({ workflowsPath: WORKFLOWS })]);
  });

  it('bundles neither a parser of YAML or TOML nor RE2, nor any module of Node', () => {
    const imported = [...workflowBundle.code.matchAll(/node_modules\/(yaml|toml|toml-eslint-parser|re2js)\//g)];
    assert.deepEqual(imported.slice(0, 1), []);
  });

  it('comes to the same result, the same messages and the same hash as outside', async () => {
    const connection = await Connection.connect({ address: server.address });
    const nativeConnection = await NativeConnection.connect({ address: server.address });
    const taskQueue = this.title;
    const worker = await Worker.create({ connection: nativeConnection, taskQueue, workflowBundle });
    try {
      await worker.runUntil(async () => {
        const { workflow } = new Client({ connection });
        for (const job of [BAD, GOOD]) {
          const workflowId = `sandbox-${contentHash(job)}`;
          const got = await workflow.execute<typeof resolveInWorkflow>('resolveInWorkflow', {
            taskQueue,
            workflowId,
            args: [job],
          });
          assert.deepEqual(got, {
            resolved: JSON.parse(JSON.stringify(resolveJob(job))) as unknown,
            hash: contentHash(job),
            grants: 1,
          });
        }
      });
    } finally {
      await nativeConnection.close();
      await connection.close();
    }
  });
});
