import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { Script } from 'node:vm';
import Mocha from 'mocha';

/**
 * The process of `npm run test:mutants` that runs tests. It reads ids of mutants from its parent and answers each; '' stands for
 * the unchanged code. Its first message comes unasked and is about the unchanged code, with `tookMs` of processor time if all
 * tests passed.
 *
 * All modules are evaluated anew for each mutant. So a mutant in a table at the top of a module costs no more than another, and
 * none sees what an earlier one left in a module's variables. Packages are loaded once.
 */
export interface Answer {
  /** Absent: the tests passed. */
  readonly status?: 'Killed' | 'NoCoverage';
  readonly by?: string;
  readonly tookMs?: number;
}

/** State that the instrumented code reads and writes, with Stryker's names. */
interface Switch {
  activeMutant?: string;
  currentTestId?: string | undefined;
  mutantCoverage?: { static: Hits; perTest: Record<string, Hits> };
  hitCount?: number;
  hitLimit?: number;
}
type Hits = Record<string, number>;

/** A mutant whose place runs this many times as often as on unchanged code is an endless loop. */
const HITS = 100;
/** Tests that took at most this time run first: they kill most mutants. */
const QUICK_MS = 20;
/**
 * Time limit of a test beyond three times what the longest test took on unchanged code: a mutant may let it wait for ever. Long,
 * so that no mutant is killed by a busy machine; one that computes for ever is ended by its processor time (judge.ts).
 */
const PATIENCE_MS = 300_000;

const [file = ''] = process.argv.slice(2);
const script = new Script(`(function (require, module, exports) {${readFileSync(file, 'utf8')}\n})`, {
  filename: file,
});
const require = createRequire(new URL('../../test/', import.meta.url));
const strykers = ((globalThis as { __stryker__?: Switch }).__stryker__ ??= {});
// A mutant may leave promises behind that reject after its tests.
process.on('unhandledRejection', () => undefined).on('uncaughtException', () => undefined);

/** Time limit of a test. Long for the unchanged code, because the tests' times are not known yet. */
let timeoutMs = 120_000;
/** Time that each test took on unchanged code. */
const tookMs = new Map<string, number>();
const failure = await run({ isMeant: () => true });
timeoutMs = PATIENCE_MS + 3 * Math.max(0, ...tookMs.values());
const coverage = strykers.mutantCoverage ?? { static: {}, perTest: {} };
process.send?.(failure === undefined ? { tookMs: cpuMs() } : { by: failure });

function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}

process.on('message', (mutant: string) => {
  void answerTo(mutant).then((answer) => process.send?.(answer));
});

async function answerTo(mutant: string): Promise<Answer> {
  const tests = Object.keys(coverage.perTest).filter((test) => mutant in (coverage.perTest[test] ?? {}));
  const isOfLoading = mutant === '' || mutant in coverage.static;
  if (!isOfLoading && tests.length === 0) return { status: 'NoCoverage' };
  const hits = [coverage.static, ...Object.values(coverage.perTest)].reduce((sum, of) => sum + (of[mutant] ?? 0), 0);
  Object.assign(strykers, { activeMutant: mutant, hitCount: 0, hitLimit: HITS * hits });
  const isQuick = (test: string): boolean => (tookMs.get(test) ?? 0) <= QUICK_MS;
  const reaches = (test: string): boolean => isOfLoading || tests.includes(test);
  const by =
    (await run({ isMeant: (test) => reaches(test) && isQuick(test) })) ??
    (await run({ isMeant: (test) => reaches(test) && !isQuick(test) }));
  const isEndless = (strykers.hitCount ?? 0) > HITS * hits;
  if (by === undefined && !isEndless) return {};
  return { status: 'Killed', by: by ?? 'endless loop' };
}

/** The first test that fails, and its error; undefined if all pass. A test's name is its position among all tests. */
async function run({ isMeant }: { isMeant: (test: string) => boolean }): Promise<string | undefined> {
  const mocha = new Mocha({ ui: 'bdd', bail: true, timeout: timeoutMs, reporter: Mocha.reporters.Base });
  mocha.suite.emit('pre-require', globalThis, '', mocha);
  strykers.currentTestId = undefined;
  try {
    (script.runInThisContext() as (...args: unknown[]) => void)(require, { exports: {} }, {});
  } catch (error) {
    return `while loading: ${String(error)}`;
  }
  const names = new Map<Mocha.Test, string>();
  mocha.suite.eachTest((test) => names.set(test, String(names.size)));
  const withoutOthers = (suite: Mocha.Suite): void => {
    suite.tests = suite.tests.filter((test) => isMeant(names.get(test) ?? ''));
    suite.suites.forEach(withoutOthers);
  };
  withoutOthers(mocha.suite);
  let first: string | undefined;
  await new Promise((resolve) => {
    mocha
      .run(resolve)
      .on('suite', () => (strykers.currentTestId = undefined))
      .on('test', (test: Mocha.Test) => (strykers.currentTestId = names.get(test)))
      .on('pass', (test: Mocha.Test) => {
        if (strykers.activeMutant === undefined) tookMs.set(names.get(test) ?? '', test.duration ?? 0);
      })
      .on('fail', (test: Mocha.Test, error: unknown) => (first ??= `${test.fullTitle()}: ${String(error)}`));
  });
  mocha.dispose();
  return first;
}
