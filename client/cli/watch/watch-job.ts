import type { StoreReader } from '../../../cloud/store/port.js';
import type { JobClient } from '../../job-client.js';
import { isOver, type JobRow } from '../../job-rows.js';
import { currentLine, progressLines } from '../render/progress.js';
import { oneLine } from '../render/columns.js';
import type { FollowedLog } from '../../log-follower.js';
import { isOutage, pause } from '../../outage.js';
import type { Screen } from './screen.js';
import { SetUpSight } from './set-up-sight.js';
import { WorkerWatch } from './worker-watch.js';

export interface Watch {
  readonly client: Pick<JobClient, 'row' | 'unattended'>;
  readonly id: string;
  readonly screen: Screen;
  /** Absent: phases alone. */
  readonly logs?: FollowedLog;
  /** Of the job's bucket. Absent: its set-up is shown without how far it is. */
  readonly store?: Pick<StoreReader, 'read'>;
  /** That no worker polls for the job was told, if it was so at first. */
  readonly isVerdictTold?: boolean;
  /** Ends the watching, not the job. */
  readonly signal: AbortSignal;
  /** Each look is a request that a server counts: they are made as rarely as for a calm job. */
  readonly isServed?: boolean;
  /** No progress lines: the hosts' lines alone. */
  readonly isQuiet?: boolean;
}

/** A look at the row is one call to Temporal and wakes no worker. A job that runs for hours is looked at less often. */
const LOOK_MS = 500;
const CALM_LOOK_MS = 2_000;
const YOUNG_MS = 10 * 60_000;
const REDRAW_MS = 1_000;

/**
 * Shows a job until it is over, and all its lines: when it returns, everything that was stored of them is out.
 * @returns the row of the job that is over; undefined when the signal ended the watching
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
      // An attempt's lines stand before the news that it is over.
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

/** Logs that cannot be read (no rights, no bucket) are told; they do not end the watching, unless they are all there is. */
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

/** The job's row, asked for again while Temporal is away; a job that was never seen is not waited for. */
class Sight {
  readonly #watch: Watch;
  #wasSeen = false;

  constructor(watch: Watch) {
    this.#watch = watch;
  }

  /** Undefined: the signal came first. */
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
