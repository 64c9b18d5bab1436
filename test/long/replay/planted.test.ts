import assert from 'node:assert/strict';
import { jobFile } from '../../end-to-end/job-files.js';
import { RehearsalAdmin } from '../../end-to-end/rehearsal-admin.js';
import { cloudIsEmpty } from '../../end-to-end/nothing-left.js';
import { TestStack } from '../../end-to-end/test-stack.js';
import { bundleOf, currentBundle } from '../../replay/bundles.js';
import { type RecordedHistory, replay, typeOf } from '../../replay/recorded.js';
import { readRuns } from '../../replay/recording.js';
import { SourceCopy } from '../../replay/source-copy.js';
import { TEMPORAL_START_MS } from '../../temporal-server.js';

/** A timer more than what was recorded, in the main loop of each workflow. */
const BREAK = 'await planted_condition(() => false, 50);';
const PLANTED: Readonly<Record<string, readonly [file: string, anchor: RegExp]>> = {
  job: ['workflows/job.ts', /^ +const \{ requestedSetUp \} = open;\n +for \(;;\) \{$/],
  slice: [
    'workflows/slice.ts',
    /^ +if \(this\.#told === undefined\) await condition\(\(\) => this\.#told !== undefined\);$/,
  ],
  quota: ['workflows/quota.ts', /^ +async turn\(\): Promise<void> \{$/],
  janitor: ['workflows/janitor.ts', /^export async function janitor\(.*\{$/],
};

describe('a break planted in the main loop of a workflow', function () {
  this.timeout(120_000);
  let recorded: readonly RecordedHistory[];

  before(async function () {
    this.timeout(TEMPORAL_START_MS);
    const stack = await TestStack.start({ pool: 'planted' });
    try {
      const { id } = await stack.jobs.submit({ job: jobFile('true', { pool: 'planted' }) });
      await stack.jobs.wait(id);
      await cloudIsEmpty(new RehearsalAdmin(stack.rehearsal.endpoints.admin));
      await stack.client.workflow.execute('janitor', {
        workflowId: `sweep-${stack.taskQueue}`,
        taskQueue: stack.taskQueue,
        args: [{ v: 1 }],
      });
      const runs = await readRuns(stack.client, `TaskQueue = '${stack.taskQueue}'`);
      recorded = runs.map((run) => ({ ...run, file: run.workflowId, codecKey: undefined }));
    } finally {
      await stack.stop();
    }
  });

  it('is no part of what was recorded: that replays on the code as it is', async () => {
    assert.deepEqual([...new Set(recorded.map(({ history }) => typeOf(history)))].sort(), Object.keys(PLANTED).sort());
    assert.deepEqual(await replay(recorded, currentBundle), []);
  });

  for (const [type, [file, anchor]] of Object.entries(PLANTED)) {
    it(`of ${type} fails the replay of ${type}, and of no other`, async () => {
      const copy = new SourceCopy();
      try {
        copy.insertAfter(file, anchor, BREAK);
        copy.import(file, 'condition', '@temporalio/workflow');
        const bundle = await bundleOf(copy.root);
        const failures = await replay(recorded, async () => bundle);
        assert.deepEqual([...new Set(failures.map(({ workflowType }) => workflowType))], [type]);
        for (const { error } of failures) assert.equal(error.name, 'DeterminismViolationError', error.message);
        process.stdout.write(`      ${file}: ${failures[0]?.error.message.slice(0, 160)}\n`);
      } finally {
        copy.remove();
      }
    });
  }
});
