import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { HEAD, OLDER, olderSteps, withOlder, withRow } from './runs-page.js';

/**
 * Writes the result of a step of .ci/long into its row of docs/runs.md. Without arguments it writes and prints the line under the
 * table: the steps whose code has changed since they ran.
 *   tsx scripts/write-long-run.ts [STEP COMMIT RESULT TIME]
 */
const FILE = 'docs/runs.md';
const [step, commit = '', result = '', time = ''] = process.argv.slice(2);

function hasChanged(since: string, paths: readonly string[]): boolean {
  const { status, stdout } = spawnSync('git', ['rev-list', '--count', `${since.split(' ')[0]}..HEAD`, '--', ...paths], {
    encoding: 'utf8',
  });
  return status !== 0 || Number(stdout) > 0;
}

const text = readFileSync(FILE, 'utf8');
if (step === undefined) {
  const older = olderSteps(text, hasChanged);
  writeFileSync(FILE, withOlder(text, older));
  console.log(`${OLDER}${older.join(', ') || 'none'}`);
} else {
  const day = new Date().toISOString().slice(0, 10);
  writeFileSync(FILE, withRow(text, HEAD, step, [day, commit, result, time]));
}
