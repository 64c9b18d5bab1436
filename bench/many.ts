/**
 * `npm run bench:many [-- --members 1000] [-- --loop 100] [-- --report 100000]`: a report over `report` ended jobs beside
 * DuckDB on the same files; then many jobs at once on a private local stack whose pool is full: a sweep of `members` members
 * submitted until the last one is queued, a loop of the shell that submits `loop` jobs one by one, lists of the sweep, and
 * verbs on all of it. The loop's figure is that of its own jobs; nothing is multiplied. `--members 0` leaves the stack out.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { cpus, loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { fillPool } from './load/full-pool.js';
import { withLoadStack } from './load/load-stack.js';
import { reportBesideDuckDb } from './many/report.js';
import { actsOnSweep, listsOfGroup, type Submitted, submitInLoop, submitSweep } from './many/sweep.js';
import { median, spread } from './start/statistics.js';

const { values } = parseArgs({
  options: {
    members: { type: 'string', default: '1000' },
    loop: { type: 'string', default: '100' },
    report: { type: 'string', default: '100000' },
  },
});
const members = values.members === '0' ? 0 : wholeNumber('--members', values.members);
const [loop, ended] = [wholeNumber('--loop', values.loop), wholeNumber('--report', values.report)];
const load = (): string => loadavg()[0]?.toFixed(1) ?? '?';
const tell = (step: string): void => console.error(step);
const folder = mkdtempSync(join(tmpdir(), 'jobctl-bench-many-'));
console.log(`node ${process.version}, ${cpus().length} cores, load ${load()} before\n`);
try {
  tell(`a report of ${ended} ended jobs`);
  for (const { way, wallMs, peakMegabytes } of await reportBesideDuckDb(folder, ended, tell))
    console.log(
      `${way.padEnd(36)} ${(wallMs / 1_000).toFixed(2)} s, ${peakMegabytes.toFixed(0)} MB at most, whole process`,
    );
  console.log();
  if (members > 0) await manyJobs();
} finally {
  rmSync(folder, { recursive: true, force: true });
}
console.log(`\nload ${load()} after`);
process.exit(0);

function manyJobs(): Promise<void> {
  return withLoadStack('dev', async (stack) => {
    await fillPool(stack);
    tell(`a loop of ${loop} submits`);
    const one = await submitInLoop(stack, folder, loop, 0);
    print(`a shell loop of ${loop} submits`, one);
    tell(`a sweep of ${members}`);
    const sweep = await submitSweep(stack, folder, members, loop);
    print(`one submit of a sweep of ${members}`, sweep);
    console.log(`a job of the loop costs ${(each(one) / each(sweep)).toFixed(1)} times one of the sweep\n`);
    tell('lists');
    for (const [name, times] of Object.entries(await listsOfGroup(stack)))
      console.log(`${name.padEnd(16)}${median(times).toFixed(0).padStart(7)} ms   ${spread(times)}`);
    for (const [name, act] of Object.entries(actsOnSweep(stack))) {
      tell(name);
      console.log(`${`${name} of ${members}`.padEnd(24)}${((await act()) / 1_000).toFixed(1).padStart(7)} s`);
    }
  });
}

function print(title: string, submitted: Submitted): void {
  const { returnedMs, queuedMs } = submitted;
  console.log(
    `${title.padEnd(36)} returned after ${(returnedMs / 1_000).toFixed(1)} s, all queued after ${(queuedMs / 1_000).toFixed(1)} s: ${each(submitted).toFixed(0)} ms a job`,
  );
}

function each({ jobs, queuedMs }: Submitted): number {
  return queuedMs / jobs;
}

function wholeNumber(flag: string, text: string): number {
  if (/^[1-9]\d{0,5}$/.test(text)) return Number(text);
  throw new RangeError(`${flag}: '${text}' is no number; give a whole number, such as 100`);
}
