import { log } from '@temporalio/workflow';
import type { HistoryPart } from '../../contract/quota-activities.js';
import { type EpochMs, utcDay } from '../../domain/units.js';
import type { HistoryLine } from '../../quota/pool-history.js';
import { pool as poolActivities } from '../activity-options.js';
import type { BookEvent } from './lease-book.js';

/** Lines of a pool's history that are not stored yet. They cross a continue-as-new. */
export interface HistoryCarry {
  /** Number of the next part: parts of one epoch are numbered. */
  readonly number: number;
  readonly lines: readonly string[];
  /** The part that was given out, perhaps written already. Its name and lines do not change. */
  readonly part?: HistoryPart;
}

/**
 * A pool's history on its way to the store (docs/adr/0019). `add` takes lines. `nextPart` gives out one part at a time, until
 * `written` says that it is stored. Lines are kept in order, each once: a part's name has its epoch and number.
 */
export class HistoryLog {
  readonly #pool: string;
  readonly #epoch: number;
  #number: number;
  #lines: string[];
  #oldestAt: EpochMs | undefined;
  #part: HistoryPart | undefined;

  constructor(pool: string, epoch: number, now: EpochMs, carry: HistoryCarry = { number: 0, lines: [] }) {
    this.#pool = pool;
    this.#epoch = epoch;
    this.#number = carry.number;
    this.#lines = [...carry.lines];
    this.#part = carry.part;
    if (this.#lines.length > 0) this.#oldestAt = now;
  }

  add(line: HistoryLine): void {
    this.#oldestAt ??= line.at;
    this.#lines.push(JSON.stringify(line));
    // A store that is away for long must not stop the pool: the oldest lines are given up.
    if (this.#lines.length > MOST_LINES) this.#lines.shift();
  }

  /** Time at which there is something to write; undefined: there is nothing, or a part is on its way. */
  get dueAt(): EpochMs | undefined {
    if (this.#oldestAt === undefined) return undefined;
    return this.#lines.length >= LINES_AT_ONCE ? 0 : this.#oldestAt + WRITE_AFTER_MS;
  }

  /** A part that an earlier run had given out comes first: it may not have been written. */
  nextPart(now: EpochMs): HistoryPart | undefined {
    if (this.#part !== undefined || this.#lines.length === 0) return this.#part;
    const lines = this.#lines.splice(0, LINES_AT_ONCE);
    if (this.#lines.length === 0) this.#oldestAt = undefined;
    const { at } = JSON.parse(lines[0] ?? '{}') as Partial<HistoryLine>;
    this.#part = {
      pool: this.#pool,
      day: utcDay(at ?? now),
      name: `${this.#epoch}-${String(this.#number).padStart(NUMBER_DIGITS, '0')}`,
      lines,
    };
    this.#number += 1;
    return this.#part;
  }

  written(): void {
    this.#part = undefined;
  }

  /** The newest lines that may not be in the store yet, `MOST_PUBLISHED` at most, oldest first. */
  get unstored(): readonly HistoryLine[] {
    return [...(this.#part?.lines ?? []), ...this.#lines]
      .slice(-MOST_PUBLISHED)
      .map((line) => JSON.parse(line) as HistoryLine);
  }

  carry(): HistoryCarry {
    return {
      number: this.#number,
      lines: this.#lines,
      ...(this.#part === undefined ? {} : { part: this.#part }),
    };
  }
}

/** Writes the pool's history beside the loop, so that a store that is away holds no grant up. */
export class HistoryWriter {
  readonly #history: HistoryLog;
  #isWriting = false;

  constructor(history: HistoryLog) {
    this.#history = history;
  }

  /** When to call `writeIfDue` next. Undefined: there is nothing to write, or a part is being written. */
  get dueAt(): EpochMs | undefined {
    return this.#isWriting ? undefined : this.#history.dueAt;
  }

  writeIfDue(): void {
    if ((this.dueAt ?? Infinity) > Date.now()) return;
    const part = this.#history.nextPart(Date.now());
    if (part) void this.#write(part);
  }

  async #write(part: HistoryPart): Promise<void> {
    this.#isWriting = true;
    try {
      await poolActivities(`write ${part.lines.length} lines of the pool's history`).writeHistory(part);
      this.#history.written();
    } catch (error) {
      log.warn(`the pool's history could not be written: ${String(error)}`);
    } finally {
      this.#isWriting = false;
    }
  }
}

export function lineOf({ kind, row, at, ...more }: BookEvent): HistoryLine {
  const { lease, demand, tier, waitingSince = demand.submittedAt } = row;
  const { project, user, units } = demand;
  const waited = kind === 'granted' || kind === 'withdrawn' ? { since: waitingSince } : {};
  return { at, kind, job: lease.job, lease: lease.number, project, user, tier, units, ...waited, ...more };
}

/** Time after which lines are written: long enough for a store that charges per write, short enough for `quota history`. */
const WRITE_AFTER_MS = 30_000;
const LINES_AT_ONCE = 200;
/** Limit of lines in memory: one part that is being written, and the lines of the next. */
const MOST_PUBLISHED = 2 * LINES_AT_ONCE;
const MOST_LINES = 5_000;
const NUMBER_DIGITS = 8;
