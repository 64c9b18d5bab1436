import assert from 'node:assert/strict';
import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bundleWorkflowCode } from '@temporalio/worker';
import { QUIET, workflowBundle } from '../workflow-bundle.js';

/** Temporal's bundler stays silent when an activity file that imports no banned module gets in (STYLE 3.1). */
const ALLOWED = /^(workflows|contract|quota|domain)\//;

describe('the workflow bundle', function () {
  this.timeout(60_000);
  let ours: readonly string[];
  before(async () => {
    ours = ourFiles((await workflowBundle()).code, 'workflows/index.ts');
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
    assert.ok(ourFiles(code, 'test/architecture/fixtures/imports-an-activity.ts').includes('activities/failures.ts'));
  });
});

/**
 * The sources in the map that the bundle carries in its last line, by the folder that holds `entry`: where it was built. The build
 * bundles what it compiled, each file under its source's name but for the ending.
 */
function ourFiles(code: string, entry: string): readonly string[] {
  const mark = 'sourceMappingURL=data:application/json;charset=utf-8;base64,';
  assert.ok(code.includes(mark), 'the bundle has no source map inside');
  // Megabytes: too much for a regular expression's stack.
  const base64 = code.slice(code.lastIndexOf(mark) + mark.length).trim();
  const { sources } = JSON.parse(Buffer.from(base64, 'base64').toString()) as { sources: readonly string[] };
  const paths = sources.map((source) => source.replace(/^(webpack:\/\/[^/]*\/|file:\/\/)/, '').replace(/\.js$/, '.ts'));
  const root = paths.find((path) => path.endsWith(`/${entry}`))?.slice(0, -entry.length);
  assert.ok(root, `${entry} is not in the bundle`);
  return paths
    .map((path) => (path.startsWith('/') ? relative(root, path) : path.replace(/^\.\//, '')))
    .filter((path) => !path.includes('node_modules') && path.endsWith('.ts'))
    .sort();
}
