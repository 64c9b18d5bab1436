import { readArguments, type SweepArguments, type TierArguments, USAGE } from './arguments.js';
import { runModelSeed } from './model/seed.js';
import { type Figures, figuresOf, shownFigures } from './oracle/figures.js';
import { tellStory } from './oracle/story.js';
import { COUNTS, type Finding, totalsOf } from './oracle/verdict.js';
import { runSeed } from './stack/seed.js';
import { runSweep } from './sweep/run.js';
import { TIERS } from './stack/tier.js';

/** Report on one seed. */
interface SeedReport {
  readonly seed: number;
  readonly seconds: number;
  readonly findings: readonly Finding[];
  readonly story: readonly string[];
  readonly figures?: Figures;
  readonly directory?: string;
  /** Why the seed could not be played to its end: a fault of chaos itself, or of what it runs on. */
  readonly error?: string;
}

async function main(): Promise<number> {
  let wanted: TierArguments | SweepArguments;
  try {
    wanted = readArguments(process.argv.slice(2));
  } catch (error) {
    process.stderr.write(`chaos: ${(error as Error).message}\n${USAGE}\n`);
    return 2;
  }
  return 'sweep' in wanted ? runSweep(wanted) : playSeeds(wanted);
}

async function playSeeds(wanted: TierArguments): Promise<number> {
  const reports: SeedReport[] = [];
  let next = wanted.seeds.first;
  const playInTurn = async (): Promise<void> => {
    while (next <= wanted.seeds.last) {
      const report = await playSeed(wanted, next++);
      reports.push(report);
      const isTold = wanted.tier !== 'model' || report.findings.length > 0 || report.error !== undefined;
      if (!wanted.isJson && isTold) process.stdout.write(`${shown(report).join('\n')}\n`);
    }
  };
  await Promise.all(Array.from({ length: wanted.atOnce ?? 1 }, playInTurn));
  const totals = totalsOf(reports.flatMap(({ findings }) => findings));
  const failed = reports.filter(({ findings, error }) => findings.length > 0 || error !== undefined).length;
  if (wanted.isJson)
    process.stdout.write(`${JSON.stringify({ tier: wanted.tier, totals, failed, seeds: reports }, null, 2)}\n`);
  else {
    for (const count of COUNTS) process.stdout.write(`${String(totals[count]).padStart(6)}  ${count}\n`);
    process.stdout.write(`${reports.length - failed} passed, ${failed} failed\n`);
  }
  return failed === 0 ? 0 : 1;
}

async function playSeed(wanted: TierArguments, seed: number): Promise<SeedReport> {
  const began = Date.now();
  const seconds = (): number => Math.round((Date.now() - began) / 1000);
  try {
    return { seed, ...(await played(wanted, seed)), seconds: seconds() };
  } catch (error) {
    const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
    return { seed, seconds: seconds(), findings: [], story: [], error: text };
  }
}

async function played(
  { tier, jobs, isKept, kind }: TierArguments,
  seed: number,
): Promise<Omit<SeedReport, 'seed' | 'seconds'>> {
  const { findings, evidence, directory } =
    tier === 'model' ? runModelSeed(seed) : await runSeed(TIERS[tier], seed, { jobs, isKept, ...(kind && { kind }) });
  const figures = figuresOf(evidence);
  // A seed without any start shows nothing: finding nothing is then no result.
  if (figures.starts === 0) throw new Error(`seed ${seed}: no command began at all`);
  const story = findings.length === 0 ? [] : tellStory(evidence, findings);
  return { findings, figures, story, ...(directory === undefined ? {} : { directory }) };
}

function shown({ seed, seconds, findings, figures, story, directory, error }: SeedReport): readonly string[] {
  if (error !== undefined) return [`seed ${seed}: could not be played to its end, ${seconds} s`, error];
  const rests = figures === undefined ? '' : `: ${shownFigures(figures)}`;
  const where = directory === undefined ? '' : `; logs and evidence: ${directory}`;
  if (findings.length === 0) return [`seed ${seed}: nothing found, ${seconds} s${where}${rests}`];
  return [`seed ${seed}: ${findings.length} found, ${seconds} s${where}${rests}`, ...story.map((line) => `  ${line}`)];
}

// The processes that chaos started end with this one (Part).
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => process.exit(130));
process.exitCode = await main();
// A connection that was cut in the middle of a call may keep a timer.
process.exit();
