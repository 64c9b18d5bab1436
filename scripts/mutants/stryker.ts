import { execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import type { Area } from './areas.js';

const ROOT = join(import.meta.dirname, '../..');
const NODE = `node-${process.platform}-${process.arch}`;
/**
 * Exact versions. They are no development dependencies: Stryker 10 refuses Node 20, which this repository supports, and
 * would add 260 MB to each `npm ci`.
 */
const TOOLS = { [NODE]: '22.23.3', '@stryker-mutator/core': '10.0.0', '@stryker-mutator/mocha-runner': '10.0.0' };
/** Cases of each property: enough that none fails for want of interesting cases, few enough that a mutant costs a second. */
const PROPERTY_CASES = 60;
/** Fixed, so that a mutant that survives once survives again. */
const PROPERTY_SEED = 1;

/** One mutant of Stryker's JSON report (mutation-testing-report-schema 2). */
export interface Mutant {
  readonly status: 'Killed' | 'Timeout' | 'Survived' | 'NoCoverage' | 'Ignored' | 'RuntimeError' | 'CompileError';
  readonly statusReason?: string;
  readonly mutatorName: string;
  readonly replacement?: string;
  readonly location: { readonly start: { readonly line: number; readonly column: number } };
}

export interface MutantReport {
  readonly files: Readonly<Record<string, { readonly mutants: readonly Mutant[] }>>;
}

/**
 * Changes one place of the area's code at a time, and runs the area's tests on each change. Results of changes that are
 * the same as in the last run are taken from it.
 * @param files globs to judge instead of the whole area; empty: the whole area
 * @param isForced takes no results from the last run
 * @throws Error if Stryker ends without a report, e.g. because a test fails on unchanged code
 */
export async function judge(area: Area, files: readonly string[], isForced: boolean): Promise<MutantReport> {
  const home = join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'jobctl', 'mutants');
  const tools = join(home, 'tools');
  installTools(tools);
  const work = join(home, area.name.replaceAll(/[^a-z]+/g, '-'));
  mkdirSync(work, { recursive: true });
  const report = join(work, 'report.json');
  writeFileSync(
    join(work, 'stryker.json'),
    JSON.stringify(config(area, files, { tools, work, report, isForced }), null, 2),
  );
  const modules = join(tools, 'node_modules');
  // Of one run: each has copies of the code in a folder of another name.
  const compiled = join(work, 'compiled');
  rmSync(compiled, { recursive: true, force: true });
  const code = await run(
    join(modules, NODE, 'bin/node'),
    [
      ...['--require', join(import.meta.dirname, 'mocha-12.cjs')],
      join(modules, '@stryker-mutator/core/bin/stryker.js'),
      ...['run', join(work, 'stryker.json')],
    ],
    { NODE_COMPILE_CACHE: compiled },
  );
  if (code !== 0) throw new Error(`${area.name}: Stryker ended with exit code ${code}; its output is above`);
  return JSON.parse(readFileSync(report, 'utf8')) as MutantReport;
}

function config(
  { mutate, tests }: Area,
  files: readonly string[],
  {
    tools,
    work,
    report,
    isForced,
  }: { readonly tools: string; readonly work: string; readonly report: string; readonly isForced: boolean },
): object {
  return {
    mutate: files.length > 0 ? files : mutate,
    testRunner: 'mocha',
    plugins: [join(tools, 'node_modules/@stryker-mutator/mocha-runner/dist/src/index.js')],
    testRunnerNodeArgs: ['--require', join(import.meta.dirname, 'mocha-12.cjs'), '--import', 'tsx'],
    mochaOptions: { spec: tests, require: ['./test/mutants/fixed-seed.ts'], 'no-config': true },
    coverageAnalysis: 'perTest',
    concurrency: Number(process.env['JOBCTL_MUTANTS_CONCURRENCY'] ?? 1),
    incremental: true,
    force: isForced,
    incrementalFile: join(work, 'incremental.json'),
    tempDirName: join(work, 'sandbox'),
    reporters: ['json', 'progress-append-only'],
    jsonReporter: { fileName: report },
    ignorePatterns: ['dist', 'docs', 'bench', 'examples', 'deploy', 'coverage', 'test/long', 'test/replay'],
    // Its rewriting of a tsconfig needs TypeScript beside it; tsx reads the file as it is.
    tsconfigFile: 'none.json',
    // A change that makes a loop endless is killed by time: five seconds and three times what the tests took unchanged.
    timeoutMS: 5_000,
    timeoutFactor: 3,
    allowConsoleColors: false,
  };
}

function installTools(folder: string): void {
  const stamp = join(folder, 'installed.json');
  const wanted = JSON.stringify(TOOLS);
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === wanted) return;
  console.log(`installing Stryker into ${folder}`);
  const packages = Object.entries(TOOLS).map(([name, version]) => `${name}@${version}`);
  mkdirSync(folder, { recursive: true });
  execFileSync('npm', ['install', '--silent', '--no-save', '--no-audit', '--no-fund', '--prefix', folder, ...packages]);
  writeFileSync(stamp, wanted);
}

function run(command: string, args: readonly string[], more: NodeJS.ProcessEnv): Promise<number | null> {
  const env = {
    ...process.env,
    // A mutant of a table at the top of a module costs a process of its own, which spends most of its time loading code.
    ...more,
    JOBCTL_PROPERTY_RUNS: String(PROPERTY_CASES),
    JOBCTL_PROPERTY_SEED: String(PROPERTY_SEED),
  };
  const child = spawn(command, args, { cwd: ROOT, env, stdio: ['ignore', 'inherit', 'inherit'] });
  return new Promise((resolve, reject) => {
    child.once('error', reject).once('close', resolve);
  });
}
