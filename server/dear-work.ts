import { createRequire } from 'node:module';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { Piscina } from 'piscina';
import { ApiError, TooManyRequests } from './problem.js';
import { Shares } from './shares.js';
import type * as Tasks from './dear-tasks.js';

type Task = keyof typeof Tasks;
type Input<Name extends Task> = Parameters<(typeof Tasks)[Name]>[0];
type Result<Name extends Task> = Awaited<ReturnType<(typeof Tasks)[Name]>>['result'];

/** Time limit of one piece of work. Longer work is abandoned, and its thread ended. */
const MOST_MS = 15_000;
const THREADS = 2;
/** Calls of one subject that run at the same time. Calls of other subjects come in between. */
const AT_ONCE = 1;
/** Limit for one subject's waiting calls, and for all calls that wait for a thread. */
const MOST_WAITING = 200;
/** Milliseconds of one thread per subject and minute. A usual submit takes 5 ms, a plan of 10,000 jobs a second or two. */
const MOST_MS_PER_MINUTE = 20_000;
const MINUTE = 60_000;

const IS_SOURCE = import.meta.url.endsWith('.ts');

/** Loads the hooks that run TypeScript sources: a thread does not inherit them from the main thread. */
function sourceLoader(): string {
  const api = new URL('index.mjs', pathToFileURL(createRequire(import.meta.url).resolve('tsx/esm/api'))).href;
  return `data:text/javascript,${encodeURIComponent(`import { register } from '${api}'; register();`)}`;
}

interface DearLimits {
  readonly mostMs?: number;
  readonly mostMsPerMinute?: number;
}

/**
 * Runs work that would hold up all other calls. It runs in a thread, has a time limit, and is charged to the calling subject
 * (docs/adr/0095). A limit on the number of calls would ignore the cost of each.
 */
export class DearWork {
  readonly #threads: Piscina;
  readonly #shares = new Shares({ atOnce: AT_ONCE, mostOpen: MOST_WAITING, windowMs: MINUTE });
  readonly #mostMs: number;
  readonly #mostMsPerMinute: number;

  /** @param limits absent: the constants of this file */
  constructor({ mostMs = MOST_MS, mostMsPerMinute = MOST_MS_PER_MINUTE }: DearLimits = {}) {
    this.#mostMs = mostMs;
    this.#mostMsPerMinute = mostMsPerMinute;
    this.#threads = new Piscina({
      filename: fileURLToPath(new URL(`./dear-tasks.${IS_SOURCE ? 'ts' : 'js'}`, import.meta.url)),
      execArgv: IS_SOURCE ? ['--import', sourceLoader()] : [],
      minThreads: 0,
      maxThreads: THREADS,
      idleTimeout: 600_000,
      maxQueue: MOST_WAITING,
      resourceLimits: { maxOldGenerationSizeMb: 1_024 },
    });
    // The call whose thread died gets an error. An `error` event without a listener would end the server.
    this.#threads.on('error', () => undefined);
  }

  /**
   * @throws ApiError `too-many-requests` if the subject's share is used up; `unavailable` if the work takes too long or all
   * threads are busy
   */
  run<Name extends Task>(name: Name, input: Input<Name>, subject: string): Promise<Result<Name>> {
    return this.#shares.turn(
      subject,
      () => this.#run(name, input, subject),
      (open) => new TooManyRequests(`${open} such calls of ${subject} wait already`, 'wait for some'),
    );
  }

  async #run<Name extends Task>(name: Name, input: Input<Name>, subject: string): Promise<Result<Name>> {
    this.#refuseSpent(subject);
    const begun = performance.now();
    let ms: number | undefined;
    try {
      const options = { name, signal: AbortSignal.timeout(this.#mostMs) };
      const done = (await this.#threads.run(input, options)) as { readonly ms: number; readonly result: Result<Name> };
      ms = done.ms;
      return done.result;
    } catch (error) {
      throw refusalOf(error, this.#mostMs);
    } finally {
      // For work that was given up, the time includes the wait for a thread.
      this.#shares.use(subject, ms ?? performance.now() - begun);
    }
  }

  #refuseSpent(subject: string): void {
    const ms = this.#shares.used(subject);
    if (ms < this.#mostMsPerMinute) return;
    throw new TooManyRequests(
      `the calls of ${subject} have taken ${Math.round(ms / 1_000)} s of computing in a minute`,
      'wait a minute; smaller files take less',
      this.#shares.left(subject),
    );
  }

  close(): Promise<void> {
    return this.#threads.destroy();
  }
}

function refusalOf(error: unknown, mostMs: number): unknown {
  if (!(error instanceof Error)) return error;
  if (error.name === 'AbortError')
    return new ApiError('unavailable', `it takes longer than ${mostMs / 1_000} s`, 'send less at once');
  return /queue/i.test(error.message) ? new ApiError('unavailable', 'the server is busy', 'repeat in a minute') : error;
}
