import assert from 'node:assert/strict';
import { fileURLToPath } from 'node:url';
import { Client, Connection } from '@temporalio/client';
import { bundleWorkflowCode, NativeConnection, Worker } from '@temporalio/worker';
import type { WorkflowBundleWithSourceMap } from '@temporalio/worker';
import { parse as parseYaml } from 'yaml';
import { contentHash } from '../../domain/content-hash.js';
import { resolveJob } from '../../domain/job-file/resolve.js';
import { SHARED_MODULES } from '../../worker/workflow-code.js';
import { TEMPORAL_START_MS, testServer } from '../temporal-server.js';
import type { TestServer } from '../temporal-server.js';
import type { resolveInWorkflow } from './sandbox-workflow.js';
import { WRONG_JOB_FILES } from './wrong-job-files/index.js';
import { LOADING } from '../../worker/workflow-code.js';

const WORKFLOWS = fileURLToPath(new URL('./sandbox-workflow.ts', import.meta.url));
const BUNDLE_MS = 60_000;

/** A job with something of everything: references, two problems, a nearest word. */
const BAD = {
  tpu: { accelerator: 'v5litepod-17', zone: 'us-central1-a', zonee: 'x' },
  command: { run: 'echo ${tpu.zone}' },
};
const GOOD = {
  tpu: { accelerator: 'v5e-16', zone: 'us-central1-a' },
  command: { run: 'echo ${tpu.name} $HOME $${model.heads} $${tpu.name}', workers: [3] },
};

/** Every way in which a file is wrong that is one once it is plain JSON: each takes another path through the schemas. */
const WRONG = Object.values(WRONG_JOB_FILES).flatMap(({ text }): unknown[] => {
  try {
    const job: unknown = parseYaml(text, { logLevel: 'error' });
    return job === null || job === undefined ? [] : [JSON.parse(JSON.stringify(job))];
  } catch {
    return [];
  }
});

describe('the job file inside a workflow', function () {
  this.timeout(TEMPORAL_START_MS + BUNDLE_MS);
  let server: TestServer;
  let workflowBundle: WorkflowBundleWithSourceMap;
  before(async () => {
    const preloadModules = [...SHARED_MODULES];
    [server, workflowBundle] = await Promise.all([
      testServer(),
      bundleWorkflowCode({ workflowsPath: WORKFLOWS, preloadModules }),
    ]);
  });

  it('bundles neither a parser of YAML or TOML nor RE2, nor any module of Node', () => {
    const imported = [...workflowBundle.code.matchAll(/node_modules\/(yaml|toml|toml-eslint-parser|re2js)\//g)];
    assert.deepEqual(imported.slice(0, 1), []);
  });

  // What workflows share is frozen (docs/adr/0012): a schema that it reached would fail at its first use, some at their second.
  it('comes to the same result, the same messages and the same hash as outside, in one worker for all of them', async () => {
    assert.ok(WRONG.length > 50, `only ${WRONG.length} wrong job files are plain JSON`);
    const connection = await Connection.connect({ address: server.address });
    const nativeConnection = await NativeConnection.connect({ address: server.address });
    const taskQueue = this.title;
    const worker = await Worker.create({ connection: nativeConnection, taskQueue, workflowBundle, ...LOADING });
    try {
      await worker.runUntil(async () => {
        const { workflow } = new Client({ connection });
        const come = async (job: unknown): Promise<void> => {
          const workflowId = `sandbox-${contentHash(job)}`;
          const got = await workflow.execute<typeof resolveInWorkflow>('resolveInWorkflow', {
            taskQueue,
            workflowId,
            args: [job],
            workflowTaskTimeout: '5s',
            workflowExecutionTimeout: '60s',
          });
          assert.deepEqual(got, {
            resolved: JSON.parse(JSON.stringify(resolveJob(job))) as unknown,
            hash: contentHash(job),
            grants: 1,
          });
        };
        const jobs = new Map([BAD, GOOD, ...WRONG].map((job) => [contentHash(job), job]));
        await Promise.all([...jobs.values()].map(come));
      });
    } finally {
      await nativeConnection.close();
      await connection.close();
    }
  });
});
