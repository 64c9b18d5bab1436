/**
 * Records docs/images/first-hour-80.svg and first-hour-120.svg for the tutorial: five commands from the packed file to a result,
 * in an empty home. test/long/first-hour.test.ts types them and makes the pictures, so its claims hold for what they show. Needs
 * tmux.
 *
 *   npx tsx scripts/record-first-hour.ts
 */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';

const root = join(import.meta.dirname, '..');
const { status } = spawnSync('npx', ['mocha', join(root, 'test/long/first-hour.test.ts')], {
  cwd: root,
  env: { ...process.env, JOBCTL_PICTURES: join(root, 'docs/images') },
  stdio: 'inherit',
});
process.exitCode = status ?? 1;
