import { readdirSync, rmSync } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { readJsonLines } from './json-lines.js';
import { loadSnapshot, replaceFile, Saving } from './snapshot.js';
import type { NodeRecord, Operation, QueuedResourceRecord } from './tpu/model.js';
import type { Touched } from './tpu/records.js';
import type { CloudState } from './tpu/state.js';

type Table<T> = Record<string, T | null>;

/** One line of the log: the rows that changed. A null row was deleted. */
interface Change {
  readonly nodes?: Table<NodeRecord>;
  readonly queuedResources?: Table<QueuedResourceRecord>;
  readonly operations?: Table<Operation>;
  /** All of the state outside the tables, if any of it changed. */
  readonly rest?: Partial<CloudState>;
}

/** The log is folded into the whole state once it is longer than this many times the whole state, and than LEAST_FOLD_BYTES. */
const FOLD_RATIO = 2;
const LEAST_FOLD_BYTES = 4 * 1024 * 1024;

const CLOUD_FILE = 'cloud.json';

/**
 * The cloud's state on disk. `cloud.json` is the whole state at one time; `cloud-N.log` has a JSON line for each change since. N
 * is stored in cloud.json, so that no log is applied to the wrong state. A write costs as much as what changed, however many
 * resources exist (ADR 0014). Half a line from a killed process is dropped: its caller had no answer yet. After a failed write
 * the whole state is written anew, since it is unknown how much of the change is in the log.
 */
export class StateFile {
  readonly #saving: Saving;
  readonly #folder: string;
  readonly #state: CloudState;
  readonly #takeTouched: () => Touched;
  #epoch: number;
  #log: FileHandle | undefined;
  #logBytes = 0;
  #wholeBytes = Infinity;
  #rest = '';
  #isClosed = false;

  /** @param takeTouched returns the names of what changed since its last call */
  constructor(folder: string, state: CloudState, takeTouched: () => Touched) {
    this.#folder = folder;
    this.#state = state;
    this.#takeTouched = takeTouched;
    this.#epoch = epochOf(folder) ?? 0;
    this.#saving = new Saving(join(folder, CLOUD_FILE), () => this.#write());
  }

  /** Why the state on disk is out of date; undefined if it is current or will be in a moment. */
  get trouble(): string | undefined {
    return this.#saving.trouble;
  }

  /** Resolves when everything up to now is on disk. Does nothing after `close`. */
  save(): Promise<void> {
    return this.#isClosed ? Promise.resolve() : this.#saving.save();
  }

  async close(): Promise<void> {
    try {
      await this.save();
    } finally {
      this.#isClosed = true;
      this.#saving.close();
      await this.#closeLog();
    }
  }

  async #write(): Promise<void> {
    // The first write, and one after the log has grown too long, writes the whole state.
    if (this.#log === undefined || this.#logBytes > Math.max(LEAST_FOLD_BYTES, FOLD_RATIO * this.#wholeBytes)) {
      await this.#writeWhole();
      return;
    }
    const line = this.#takeChange();
    if (line === undefined) return;
    try {
      await this.#log.appendFile(line);
      this.#logBytes += line.length;
    } catch (error) {
      await this.#closeLog();
      throw error;
    }
  }

  async #closeLog(): Promise<void> {
    const log = this.#log;
    this.#log = undefined;
    await log?.close();
  }

  async #writeWhole(): Promise<void> {
    await this.#closeLog();
    this.#takeTouched();
    this.#rest = JSON.stringify(restOf(this.#state));
    const epoch = this.#epoch + 1;
    const text = JSON.stringify({ epoch, state: this.#state });
    const log = await open(logFile(this.#folder, epoch), 'w');
    try {
      await replaceFile(join(this.#folder, CLOUD_FILE), () => text);
    } catch (error) {
      await log.close();
      throw error;
    }
    await rm(logFile(this.#folder, this.#epoch), { force: true });
    this.#log = log;
    this.#epoch = epoch;
    this.#logBytes = 0;
    this.#wholeBytes = text.length;
  }

  #takeChange(): string | undefined {
    const { nodes, queuedResources, operations } = this.#takeTouched();
    const rest = JSON.stringify(restOf(this.#state));
    const change: Change = {
      ...(nodes.size > 0 && { nodes: rowsOf(this.#state.nodes, nodes) }),
      ...(queuedResources.size > 0 && { queuedResources: rowsOf(this.#state.queuedResources, queuedResources) }),
      ...(operations.size > 0 && { operations: rowsOf(this.#state.operations, operations) }),
      ...(rest !== this.#rest && { rest: JSON.parse(rest) as Partial<CloudState> }),
    };
    this.#rest = rest;
    return Object.keys(change).length === 0 ? undefined : `${JSON.stringify(change)}\n`;
  }
}

/**
 * Returns the state last saved in the folder, or undefined if there is none.
 * @throws Error that says what to do if it is unreadable
 */
export function loadState(folder: string): Partial<CloudState> | undefined {
  const found = loadSnapshot<{ epoch?: number; state?: Partial<CloudState> }>(join(folder, CLOUD_FILE));
  if (found?.epoch === undefined || found.state === undefined) return found as Partial<CloudState> | undefined;
  const log = logFile(folder, found.epoch);
  for (const name of readdirSync(folder)) {
    if (/^cloud-\d+\.log$/.test(name) && join(folder, name) !== log) rmSync(join(folder, name));
  }
  const { state } = found;
  readJsonLines(log, (change) => applyChange(state, change as Change));
  return state;
}

function epochOf(folder: string): number | undefined {
  return loadSnapshot<{ epoch?: number }>(join(folder, CLOUD_FILE))?.epoch;
}

function applyChange(state: Partial<CloudState>, { nodes, queuedResources, operations, rest }: Change): void {
  Object.assign(state, rest);
  lay(state.nodes, nodes);
  lay(state.queuedResources, queuedResources);
  lay(state.operations, operations);
}

function lay<T>(table: Record<string, T> | undefined, rows: Table<T> | undefined): void {
  if (table === undefined) return;
  for (const [name, row] of Object.entries(rows ?? {})) {
    if (row === null) delete table[name];
    else table[name] = row;
  }
}

function rowsOf<T>(table: Readonly<Record<string, T>>, names: ReadonlySet<string>): Table<T> {
  return Object.fromEntries([...names].map((name) => [name, table[name] ?? null]));
}

function restOf({ nodes: _nodes, queuedResources: _requests, operations: _operations, ...rest }: CloudState): object {
  return rest;
}

function logFile(folder: string, epoch: number): string {
  return join(folder, `cloud-${epoch}.log`);
}
