import type { StoreReader } from '../../../cloud/store/port.js';
import type { JobClient } from '../../../client/job-client.js';
import { isOver, type JobRow } from '../../../client/job-rows.js';
import { currentLine, progressLines } from '../../terminal/render/progress.js';
import { oneLine } from '../../terminal/render/columns.js';
import type { FollowedLog } from '../../../client/log-follower.js';
import { isOutage, pause } from '../../../client/errors.js';
import type { Screen } from './screen.js';
import { JobPhase } from '../../../domain/job-state.js';
import { setUpReason, withReason } from '../job-reasons.js';
import { noWorkerRemedy, noWorkerText } from '../../terminal/render/job-phrases.js';

interface Watch {
  readonly client: Pick<JobClient, 'row' | 'unattended'>;
  readonly id: string;
  readonly screen: Screen;
  /** Absent: only phases are shown. */
  readonly logs?: FollowedLog;
  /** Store of the job's bucket. Absent: the set-up is shown without its progress. */
  readonly store?: Pick<StoreReader, 'read'>;
  /** True if the user was already told, where it applies, that no worker polls for the job. */
  readonly isVerdictTold?: boolean;
  /** Aborting it ends the watching, not the job. */
  readonly signal: AbortSignal;
  /** True for a job on a `jobctl serve`, which counts each request: looks are then as rare as for a calm job. */
  readonly isServed?: boolean;
  /** Shows only the hosts' lines, no progress lines. */
  readonly isQuiet?: boolean;
}

/** Interval between looks at the row: one call to Temporal each, which wakes no worker. It grows after `YOUNG_MS`. */
const LOOK_MS = 500;
const CALM_LOOK_MS = 2_000;
const YOUNG_MS = 10 * 60_000;
const REDRAW_MS = 1_000;

/**
 * Shows a job and all its lines until it is over; on return, every stored line was printed.
 * @returns the row of the job that is over; undefined if the signal ended the watching
 */
export async function watchJob(watch: Watch): Promise<JobRow | undefined> {
  const { screen, logs, signal, isQuiet = false, isServed = false } = watch;
  const following = new Following(logs?.run(signal), screen);
  const sight = new Sight(watch);
  const setUp = new SetUpSight(isQuiet ? undefined : watch.store, screen);
  const workers = new WorkerWatch(watch.client, screen, watch.isVerdictTold ?? false);
  const current = (row: JobRow): string | undefined =>
    isOver(row) ? undefined : currentLine(setUp.seen(row), Date.now(), screen.look);
  let before: JobRow | undefined;
  const redraw = setInterval(() => {
    if (before && !isQuiet && !isOver(before)) screen.current(current(before));
  }, REDRAW_MS);
  try {
    for (;;) {
      const row = await sight.row();
      if (row === undefined) return undefined;
      // An attempt's lines come before the news of its end.
      if (before?.phase === 'running' && row.phase !== 'running') await logs?.caughtUp(signal);
      if (!isQuiet) {
        for (const line of progressLines(before, row, screen.look)) if (line.plain !== '') screen.line(line);
        screen.current(current(row));
      }
      workers.seen(row);
      before = row;
      logs?.reached(row);
      following.throwIfRefused(isQuiet);
      if (isOver(row)) {
        await following.end;
        following.throwIfRefused(isQuiet);
        return signal.aborted ? undefined : row;
      }
      const isYoung = Date.now() - row.submittedAt < YOUNG_MS;
      await pause(isYoung && !isServed ? LOOK_MS : CALM_LOOK_MS, signal);
    }
  } finally {
    clearInterval(redraw);
    screen.current(undefined);
  }
}

/** Reports unreadable logs (no rights, no bucket). They do not end the watching, unless only logs are shown. */
class Following {
  readonly end: Promise<void>;
  #refusal: unknown;

  constructor(run: Promise<void> | undefined, screen: Screen) {
    this.end = (run ?? Promise.resolve()).catch((error: unknown) => {
      this.#refusal = error;
      const text = `${screen.look.symbols.note} the logs cannot be shown: ${oneLine(String((error as Error).message))}`;
      screen.line(both(text));
    });
  }

  throwIfRefused(isAll: boolean): void {
    if (isAll && this.#refusal !== undefined) throw this.#refusal;
  }
}

/** Reads the job's row, with retries while Temporal is away. Before the first row was read, an outage is an error. */
class Sight {
  readonly #watch: Watch;
  #wasSeen = false;

  constructor(watch: Watch) {
    this.#watch = watch;
  }

  /** Undefined: `signal` aborted first. */
  async row(): Promise<JobRow | undefined> {
    const { client, id, screen, signal } = this.#watch;
    for (let isTold = false; !signal.aborted; isTold = true) {
      try {
        const row = await client.row(id);
        this.#wasSeen = true;
        if (isTold) screen.line(both(`${screen.look.symbols.note} it answers again`));
        return row;
      } catch (error) {
        if (!this.#wasSeen || !isOutage(error)) throw error;
        if (!isTold)
          screen.line(
            both(`${screen.look.symbols.note} ${oneLine((error as Error).message)}; still trying, the job goes on`),
          );
        await pause(CALM_LOOK_MS, signal);
      }
    }
    return undefined;
  }
}

const both = (text: string): { live: string; plain: string } => ({ live: ` ${text}`, plain: text });

/** Interval between reads of the set-up's record, the same as that of the worker's writes. */
const SET_UP_LOOK_MS = 3_000;
/** Interval of progress lines in a pipe, which keeps every line. */
const PLAIN_MS = 30_000;

/** Progress of the set-up of a watched job. It reads the store concurrently, so that watching never waits for it. */
class SetUpSight {
  readonly #store: Pick<StoreReader, 'read'> | undefined;
  readonly #screen: Screen;
  #isLooking = false;
  #lookedAt = 0;
  #reason: string | undefined;
  #of: string | undefined;
  #toldAt = Date.now();
  #told: string | undefined;

  constructor(store: Pick<StoreReader, 'read'> | undefined, screen: Screen) {
    this.#store = store;
    this.#screen = screen;
  }

  /** The row as shown. Starts a read if one is due. */
  seen(row: JobRow): JobRow {
    if (this.#store === undefined || row.phase !== JobPhase.SettingUp) return row;
    const of = `${row.attempts} ${row.phaseSince}`;
    if (of !== this.#of) this.#reason = undefined;
    this.#of = of;
    if (!this.#isLooking && Date.now() - this.#lookedAt >= SET_UP_LOOK_MS) void this.#look(this.#store, row, of);
    const shown = withReason(row, this.#reason);
    this.#tellPlain(shown);
    return shown;
  }

  async #look(store: Pick<StoreReader, 'read'>, row: JobRow, of: string): Promise<void> {
    this.#isLooking = true;
    // The last known reason stays: an unavailable store says nothing about the set-up.
    const reason = await setUpReason(store, row).catch(() => this.#reason);
    this.#isLooking = false;
    this.#lookedAt = Date.now();
    if (of === this.#of) this.#reason = reason;
  }

  #tellPlain({ why, phase }: JobRow): void {
    const isDue = this.#reason !== this.#told && Date.now() - this.#toldAt >= PLAIN_MS;
    if (this.#screen.look.isLive || this.#reason === undefined || !isDue) return;
    this.#told = this.#reason;
    this.#toldAt = Date.now();
    this.#screen.line({ plain: `${this.#screen.look.symbols.now} ${phase}: ${why ?? ''}` });
  }
}

const FIRST_MS = 1_500;
const WORKER_LOOK_MS = 15_000;

/** Reports once when no worker polls the task queue of a watched job, and once when a worker polls again. */
class WorkerWatch {
  readonly #client: Pick<JobClient, 'unattended'>;
  readonly #screen: Screen;
  #dueAt = Date.now() + FIRST_MS;
  #isLooking = false;
  #isIdle: boolean | undefined;

  /** @param isToldFirst the first state was already reported */
  constructor(client: Pick<JobClient, 'unattended'>, screen: Screen, isToldFirst: boolean) {
    this.#client = client;
    this.#screen = screen;
    if (isToldFirst) this.#dueAt += WORKER_LOOK_MS;
  }

  /** Checks in the background and returns at once. */
  seen(row: JobRow): void {
    if (this.#isLooking || Date.now() < this.#dueAt) return;
    this.#isLooking = true;
    this.#look(row)
      // A user who may see jobs may lack the right to ask about task queues.
      .catch(() => undefined)
      .finally(() => {
        this.#isLooking = false;
        this.#dueAt = Date.now() + WORKER_LOOK_MS;
      });
  }

  async #look(row: JobRow): Promise<void> {
    const idle = await this.#client.unattended(row);
    const was = this.#isIdle;
    this.#isIdle = idle !== undefined;
    const { note } = this.#screen.look.symbols;
    if (idle !== undefined && was !== true) {
      this.#say(`${note} ${noWorkerText(idle, Date.now())}`);
      this.#say(`  ${noWorkerRemedy()}`);
    } else if (idle === undefined && was === true) this.#say(`${note} a worker polls the task queue again`);
  }

  #say(text: string): void {
    this.#screen.line({ live: ` ${text}`, plain: text });
  }
}
