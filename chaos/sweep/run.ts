import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { SweepArguments } from '../arguments.js';
import { outcomeDelays, unreadEnds } from '../oracle/ended-work.js';
import type { Evidence } from '../oracle/evidence.js';
import { judge } from '../oracle/judge.js';
import { tellStory } from '../oracle/story.js';
import { COUNTS, type Finding, totalsOf } from '../oracle/verdict.js';
import { sweptInModel } from './model.js';
import { POINTS, pointText, spread } from './points.js';
import { sweptForReal } from './real.js';

const SEEDS = { first: 1, last: 10 };
const REAL_POINTS = 120;
const AT_ONCE = 24;
/** Number of slow outcomes that are named. */
const SLOWEST = 5;

/** Results of a sweep. */
interface Sum {
  programs: number;
  attempts: number;
  unreadEnds: number;
  readonly unplayed: string[];
  readonly findings: Finding[];
  readonly stories: string[];
  readonly delays: { readonly job: string; readonly ms: number }[];
}

/** @returns the exit code */
export async function runSweep(wanted: SweepArguments): Promise<number> {
  const sum: Sum = { programs: 0, attempts: 0, unreadEnds: 0, unplayed: [], findings: [], stories: [], delays: [] };
  if (wanted.sweep === 'model') sweepModel(wanted, sum);
  else await sweepReal(wanted, sum);
  const { findings, stories, delays, ...counts } = sum;
  const slowest = delays.toSorted((a, b) => b.ms - a.ms).slice(0, SLOWEST);
  const sorted = delays.map(({ ms }) => ms).toSorted((a, b) => a - b);
  const at = (part: number): number => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? NaN;
  const delayMs = { of: sorted.length, p50: at(0.5), p99: at(0.99), most: at(1) };
  const totals = totalsOf(findings);
  if (wanted.isJson)
    process.stdout.write(`${JSON.stringify({ ...counts, delayMs, slowest, totals, findings, stories }, null, 2)}\n`);
  else {
    for (const line of [...counts.unplayed, ...stories]) process.stdout.write(`${line}\n`);
    for (const count of COUNTS) process.stdout.write(`${String(totals[count]).padStart(6)}  ${count}\n`);
    process.stdout.write(
      `${String(counts.unreadEnds).padStart(6)}  ends that nobody had read when their VM went (ADR 0040)\n`,
    );
    const delay = `p50 ${delayMs.p50} ms, p99 ${delayMs.p99} ms, at most ${delayMs.most} ms`;
    const named = slowest.map(({ job, ms }) => `${job} ${ms} ms`).join(', ');
    process.stdout.write(`from END to the outcome of ${delayMs.of} successes: ${delay} (${named})\n`);
    const failed = new Set(findings.map(({ subject }) => subject)).size + counts.unplayed.length;
    process.stdout.write(`${counts.programs} programs, ${counts.attempts} attempts, ${findings.length} found\n`);
    process.stdout.write(`${counts.programs - failed} passed, ${failed} failed\n`);
  }
  // A sweep that has shown nothing has failed too.
  return findings.length + counts.unplayed.length === 0 && sorted.length > 0 ? 0 : 1;
}

function sweepModel({ points, seeds = SEEDS, isApiDown }: SweepArguments, sum: Sum): void {
  const first = points?.first ?? 0;
  for (const [index, point] of POINTS.slice(first, (points?.last ?? POINTS.length) + 1).entries())
    for (let seed = seeds.first; seed <= seeds.last; seed++) {
      const evidence = sweptInModel(point, seed, isApiDown);
      const number = first + index;
      take(
        sum,
        evidence,
        `point ${number}, seed ${seed} (--points ${number}..${number} --seeds ${seed}..${seed}): ${pointText(point)}`,
      );
    }
}

async function sweepReal({ points, atOnce = AT_ONCE, isApiDown, isKept }: SweepArguments, sum: Sum): Promise<void> {
  const all = spread(REAL_POINTS).map((point, index) => ({ point, index }));
  const wanted = all.slice(points?.first ?? 0, (points?.last ?? REAL_POINTS) + 1);
  const { evidence, unplayed, directory, stop } = await sweptForReal({ points: wanted, atOnce, isApiDown });
  const found = take(sum, evidence, `logs and evidence: ${directory}; job wN runs again alone by --points N..N`);
  sum.unplayed.push(...unplayed);
  const keep = found || isKept || unplayed.length > 0;
  if (keep) writeFileSync(join(directory, 'evidence.json'), JSON.stringify(evidence));
  await stop(keep);
}

/** @returns whether anything was found */
function take(sum: Sum, evidence: Evidence, title: string): boolean {
  const findings = judge(evidence);
  sum.programs += evidence.jobs.length;
  sum.attempts += new Set(evidence.told.map(({ job, attempt }) => `${job} ${attempt}`)).size;
  sum.unreadEnds += unreadEnds(evidence);
  sum.delays.push(...outcomeDelays(evidence));
  sum.findings.push(...findings);
  if (findings.length > 0) sum.stories.push(title, ...tellStory(evidence, findings).map((line) => `  ${line}`));
  return findings.length > 0;
}
