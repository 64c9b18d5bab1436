import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { HEAD, OLDER, olderSteps, withOlder } from './long-runs.js';
import { withRow } from './runs-table.js';

/**
 * Writes what a step of .ci/long found into its row of docs/runs.md, and under the table the steps whose code has changed since.
 *   tsx scripts/write-long-run.ts STEP COMMIT RESULT TIME
 *   tsx scripts/write-long-run.ts                           the last alone, which is printed
 */
const FILE = 'docs/runs.md';
const [step, commit = '', result = '', time = ''] = process.argv.slice(2);

function hasChanged(since: string, paths: readonly string[]): boolean {
  const { status, stdout } = spawnSync('git', ['rev-list', '--count', `${since.split(' ')[0]}..HEAD`, '--', ...paths], {
    encoding: 'utf8',
  });
  return status !== 0 || Number(stdout) > 0;
}

const before = readFileSync(FILE, 'utf8');
const day = new Date().toISOString().slice(0, 10);
const text = step === undefined ? before : withRow(before, HEAD, step, [day, commit, result, time]);
const older = olderSteps(text, hasChanged);
writeFileSync(FILE, withOlder(text, older));
if (step === undefined) console.log(`${OLDER}${older.join(', ') || 'none'}`);
