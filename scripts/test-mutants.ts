import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Area, AREAS } from './mutants/areas.js';
import { judge } from './mutants/judge.js';
import { scoreOf, survivorsOf, withRow } from './mutants/score.js';

/**
 * `npm run test:mutants [AREA | FILE ..]`: measures the share of small code changes that unit and property tests notice. Without
 * arguments every area is judged. The score of a whole area goes into docs/runs.md; that of single files is only printed.
 */
const RUNS = join(import.meta.dirname, '../docs/runs.md');

const wanted = process.argv.slice(2);
const files = wanted.filter((word) => word.endsWith('.ts'));
const areas = AREAS.filter((area) => wanted.length === 0 || wanted.some((word) => isOf(area, word)));
if (areas.length === 0) {
  console.error(
    `no area has the name or a file ${wanted.join(', ')}; areas: ${AREAS.map(({ name }) => name).join(', ')}`,
  );
  process.exit(2);
}
let failed = 0;
for (const area of areas) if (!(await isGoodEnough(area))) failed += 1;
console.log(`${areas.length - failed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;

/** Whether `word` is the area's name, or a file in a folder of the area. */
function isOf({ name, mutate }: Area, word: string): boolean {
  if (!word.endsWith('.ts')) return name === word;
  return mutate.some((glob) => glob.slice(0, glob.lastIndexOf('/')) === word.slice(0, word.lastIndexOf('/')));
}

async function isGoodEnough(area: Area): Promise<boolean> {
  // The run takes minutes, and judges the tree as it was at the start.
  const commit = execFileSync('git', ['rev-parse', '--short', 'HEAD'], { encoding: 'utf8' }).trim();
  const began = Date.now();
  const report = await judge(area, files);
  const minutes = Math.ceil((Date.now() - began) / 60_000);
  const score = scoreOf(report);
  console.log(survivorsOf(report));
  console.log(
    `${area.name}: ${score.percent} % of ${score.mutants} mutants, ${score.survived} survive; at least ${area.leastScore} %`,
  );
  if (files.length === 0) {
    const day = new Date().toISOString().slice(0, 10);
    writeFileSync(RUNS, withRow(readFileSync(RUNS, 'utf8'), area.name, score, { commit, day, minutes }));
  }
  return score.percent >= area.leastScore;
}
