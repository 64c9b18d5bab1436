import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import type { Area } from './areas.js';
import { instrument, type Mutant } from './instrument.js';
import type { Answer } from './run-mutants.js';

/** Cases of each property: enough that none fails for want of interesting cases, few enough that a mutant costs a second. */
const PROPERTY_CASES = 60;
/** Fixed, so that a mutant that survives once survives again. */
const PROPERTY_SEED = 1;
/** A mutant may spoil state that later ones share, e.g. a global. After this many mutants, unchanged code must pass again. */
const MUTANTS_BETWEEN_CONTROLS = 200;
/**
 * Limit of processor time beyond three times what the tests took on unchanged code. It ends endless loops that a mutant made. Other
 * programs on the machine do not change the verdict.
 */
const PATIENCE_MS = 5_000;
/** A child that waits for what no longer comes uses no processor. Its own patience with a test is shorter than this (run-mutants.ts). */
const LONGEST_WAIT_MS = 600_000;
const LOOK_EVERY_MS = 500;

export interface Judged extends Omit<Mutant, 'status'> {
  /** Timeout: the process that runs the tests did not answer, or died. */
  readonly status: 'Killed' | 'Timeout' | 'Survived' | 'NoCoverage' | 'Ignored';
  /** For a killed mutant: the test that failed first, and its error. */
  readonly by?: string;
}

/**
 * Changes one place of the area's code at a time and runs the tests that reach it, in one process per core. A JSON file beside
 * the script then says which test killed which mutant.
 * @param globs files to judge instead of the whole area; empty: the whole area
 * @throws Error if a test fails on unchanged code, before, between or after the mutants
 */
export async function judge(area: Area, globs: readonly string[]): Promise<readonly Judged[]> {
  const { script, mutants } = await instrument(area, globs);
  const judged: Judged[] = [];
  const left = mutants.entries();
  let done = 0;
  const judgeOnes = async (): Promise<void> => {
    const tests = new Tests(script, area.name);
    try {
      let sinceControl = 0;
      for (const [at, { status, ...mutant }] of left) {
        judged[at] = { ...mutant, ...(status === undefined ? await tests.on(mutant.id) : { status }) };
        if (++sinceControl % MUTANTS_BETWEEN_CONTROLS === 0) await tests.control();
        if (++done % MUTANTS_BETWEEN_CONTROLS === 0) console.log(`${done} of ${mutants.length} judged`);
      }
      await tests.control();
    } finally {
      tests.end();
    }
  };
  await Promise.all(Array.from({ length: availableParallelism() }, judgeOnes));
  writeFileSync(script.replace(/cjs$/, 'json'), JSON.stringify(judged, null, 1));
  return judged;
}

/** A process that runs the tests on one mutant after another. A process that does not answer is replaced. */
class Tests {
  readonly #script: string;
  readonly #area: string;
  #child: ChildProcess | undefined;
  #patienceMs = Number.POSITIVE_INFINITY;

  constructor(script: string, area: string) {
    this.#script = script;
    this.#area = area;
  }

  async on(mutant: string): Promise<Pick<Judged, 'status' | 'by'>> {
    const child = (this.#child ??= await this.#started());
    child.send(mutant);
    const answer = await answerOf(child, this.#patienceMs);
    if (answer !== undefined) {
      const { status = 'Survived', by } = answer;
      return by === undefined ? { status } : { status, by };
    }
    this.end();
    console.log(`mutant ${mutant}: no answer in ${this.#patienceMs} ms of a processor`);
    return { status: 'Timeout' };
  }

  async control(): Promise<void> {
    const { status, by } = await this.on('');
    if (status !== 'Survived')
      throw new Error(`${this.#area}: after some mutants unchanged code fails: ${by ?? status}`);
  }

  end(): void {
    this.#child?.kill('SIGKILL');
    this.#child = undefined;
  }

  async #started(): Promise<ChildProcess> {
    const env = { ...process.env, JOBCTL_PROPERTY_RUNS: `${PROPERTY_CASES}`, JOBCTL_PROPERTY_SEED: `${PROPERTY_SEED}` };
    const child = fork(join(import.meta.dirname, 'run-mutants.ts'), [this.#script], {
      env,
      // Tests log what their mutants break.
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    });
    const began = await answerOf(child, Number.POSITIVE_INFINITY);
    if (began?.tookMs === undefined)
      throw new Error(`${this.#area}: unchanged code fails: ${began?.by ?? 'no answer'}`);
    this.#patienceMs = PATIENCE_MS + 3 * began.tookMs;
    return child;
  }
}

/** The child's next message; undefined if it ends, or has used that much of a processor. */
async function answerOf(child: ChildProcess, patienceMs: number): Promise<Answer | undefined> {
  const stop = new AbortController();
  const { signal } = stop;
  const [began, asked] = [Date.now(), cpuMsOf(child)];
  const looks = setInterval(() => {
    if (cpuMsOf(child) - asked > patienceMs || Date.now() - began > LONGEST_WAIT_MS) stop.abort();
  }, LOOK_EVERY_MS);
  const ended = once(child, 'exit', { signal }).then(() => []);
  try {
    const [answer] = (await Promise.race([once(child, 'message', { signal }), ended])) as readonly Answer[];
    return answer;
  } catch {
    return undefined;
  } finally {
    clearInterval(looks);
    stop.abort();
  }
}

/** Linux counts in hundredths of a second. The program's name, which may hold spaces, is in parentheses. */
function cpuMsOf({ pid }: ChildProcess): number {
  try {
    const [user = 0, system = 0] = (readFileSync(`/proc/${pid}/stat`, 'latin1').split(') ')[1] ?? '')
      .split(' ')
      .slice(11, 13)
      .map(Number);
    return 10 * (user + system);
  } catch {
    return 0;
  }
}
