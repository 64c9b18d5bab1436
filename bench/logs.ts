/**
 * `npm run bench:logs [-- --minutes 12]`: measures the delay of a followed log by the age of its run. One host prints the time
 * twice a second while `jobctl logs --follow` reads. Aim (docs/adr/0150): p95 1 s at any age. No test depends on the figures.
 */
import { cpus, loadavg } from 'node:os';
import { followedDelays } from './logs/followed-delays.js';
import { withLocalStack } from './start/local-stack.js';
import { median, percentile } from './start/statistics.js';

const MINUTES = Number(process.argv[process.argv.indexOf('--minutes') + 1] ?? 12) || 12;
/** Bounds of the age groups, in seconds since the first line. */
const AGES = [0, 60, 300, 600, Infinity];

console.log(
  `node ${process.version}, ${cpus().length} cores, load ${loadavg()[0]?.toFixed(1)} before, ${MINUTES} minutes\n`,
);
const seen = await withLocalStack((env) => followedDelays(env, MINUTES * 60));
const [first] = seen;
const delays = seen.map(({ printed, late }) => ({ age: (printed - (first?.printed ?? 0)) / 1_000, late }));
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
