/**
 * `npm run bench:logs [-- --minutes 12]`: measures the delay of a followed log by the age of its run. One host prints the time
 * twice a second while `jobctl logs --follow` reads. Aim (docs/adr/0150): p95 1 s at any age. No test depends on the figures.
 */
import { execFile, spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { cpus, loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { JOBCTL, withLocalStack } from './start/local-stack.js';
import { median, percentile } from './start/statistics.js';

const MINUTES = Number(process.argv[process.argv.indexOf('--minutes') + 1] ?? 12) || 12;
const JOB = `name: late
tpu: {allocation_mode: queued-resources, accelerator: v5litepod-8, zone: us-central1-a, pricing: spot}
command: {run: 'end=$(( $(date +%s) + ${MINUTES * 60} )); while [ $(date +%s) -lt $end ]; do date +%s%3N; sleep 0.5; done'}
`;
/** Bounds of the age groups, in seconds since the first line. */
const AGES = [0, 60, 300, 600, Infinity];

console.log(
  `node ${process.version}, ${cpus().length} cores, load ${loadavg()[0]?.toFixed(1)} before, ${MINUTES} minutes\n`,
);
const file = join(tmpdir(), `jobctl-bench-logs-${process.pid}.yaml`);
writeFileSync(file, JOB);
const delays = await withLocalStack(async (env) => {
  await promisify(execFile)(process.execPath, [JOBCTL, 'submit', '--name', 'late', file], { env });
  const seen: { readonly age: number; readonly late: number }[] = [];
  const child = spawn(process.execPath, [JOBCTL, 'logs', 'late', '--follow'], {
    env,
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  let first: number | undefined;
  for await (const line of createInterface({ input: child.stdout })) {
    const printed = Number(/\d{13}/.exec(line)?.[0]);
    if (Number.isNaN(printed)) continue;
    first ??= printed;
    seen.push({ age: (printed - first) / 1_000, late: Date.now() - printed });
  }
  return seen;
});
for (const [at, from] of AGES.slice(0, -1).entries()) {
  const to = AGES[at + 1] ?? Infinity;
  const late = delays.filter(({ age }) => age >= from && age < to).map((each) => each.late);
  if (late.length === 0) continue;
  const age = `age ${from} s to ${to === Infinity ? 'the end' : `${to} s`}`;
  const most = percentile(late, 100);
  console.log(
    `${age.padEnd(24)} p50 ${median(late)} ms, p95 ${percentile(late, 95)} ms, most ${most} ms of ${late.length} lines (aim: p95 1000 ms)`,
  );
}
process.exit(0);
