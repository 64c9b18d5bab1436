import assert from 'node:assert/strict';
import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bundleWorkflowCode } from '@temporalio/worker';

/** Temporal's bundler stays silent when an activity file that imports no banned module gets in (STYLE 3.1). */
const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const QUIET = { trace() {}, debug() {}, info() {}, log() {}, warn: console.warn, error: console.error };
const ALLOWED = /^(workflows|contract|quota|domain)\//;

describe('the workflow bundle', function () {
  this.timeout(60_000);
  let ours: readonly string[];
  before(async () => {
    const workflowsPath = fileURLToPath(new URL('../../workflows/index.ts', import.meta.url));
    ours = ourFiles((await bundleWorkflowCode({ workflowsPath, logger: QUIET })).code);
  });

  it('holds the four workflows and what they decide with', () => {
    for (const file of [
      'workflows/job.ts',
      'workflows/slice.ts',
      'workflows/quota.ts',
      'workflows/janitor.ts',
      'quota/decide.ts',
    ])
      assert.ok(ours.includes(file), `${file} is not among ${ours.length} files`);
  });

  it('holds no file of ours outside of workflows, contract, quota and domain', () => {
    assert.deepEqual(
      ours.filter((file) => !ALLOWED.test(file)),
      [],
    );
  });

  it('would show an activity that gets in', async () => {
    const workflowsPath = fileURLToPath(new URL('fixtures/imports-an-activity.ts', import.meta.url));
    const { code } = await bundleWorkflowCode({ workflowsPath, logger: QUIET });
    assert.ok(ourFiles(code).includes('activities/failures.ts'));
  });
});

/** The sources in the map that the bundle carries in its last line. */
function ourFiles(code: string): readonly string[] {
  const base64 = /sourceMappingURL=data:application\/json;charset=utf-8;base64,(\S+)/.exec(code)?.[1];
  assert.ok(base64, 'the bundle has no source map inside');
  const { sources } = JSON.parse(Buffer.from(base64, 'base64').toString()) as { sources: readonly string[] };
  return sources
    .map((source) => source.replace(/^webpack:\/\/[^/]*\//, '').replace(/^file:\/\//, ''))
    .map((path) => (path.startsWith('/') ? relative(ROOT, path) : path.replace(/^\.\//, '')))
    .filter((path) => !path.includes('node_modules') && path.endsWith('.ts'))
    .sort();
}
