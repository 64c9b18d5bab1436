import { randomInt } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import type { MachineRecord, OwnMachine } from '../../../domain/machine-kinds/machines/words.js';
import type { Ownership } from '../../../domain/slice.js';
import { machinePoolObject } from '../../../domain/store-layout.js';
import type { EpochMs } from '../../../domain/units.js';
import { isOfStore, objectPlace, type StorePort } from '../../store/port.js';
import { CloudRefused, CloudUnavailable } from '../port.js';

/** Reach of a machine of a slice, as the inventory had it when the slice was made. */
export type ChosenMachine = Omit<OwnMachine, 'labels' | 'check'>;

/** Names the machines on which a slice has claims. The claim on the machine is what counts (docs/adr/0070). */
export interface SliceRecord {
  readonly uid: string;
  readonly ownership: Ownership;
  readonly at: EpochMs;
  /** Ordered by the number of the host. */
  readonly machines: readonly ChosenMachine[];
  /** Other machines that may have a claim because their answer is missing. */
  readonly maybe: readonly ChosenMachine[];
  /** Whether all machines have been claimed and inspected. */
  readonly isWhole: boolean;
}

/** The record of one pool. */
export interface PoolRecord {
  /** Keyed by the slice's name. */
  readonly slices: Readonly<Record<string, SliceRecord>>;
  /** Keyed by the machine's name; a machine without an entry is like new. */
  readonly machines: Readonly<Record<string, MachineRecord>>;
}

export const EMPTY_RECORD: PoolRecord = { slices: {}, machines: {} };
export const LIKE_NEW: MachineRecord = { failures: 0 };

const text = z.string();
const time = z.number();
const chosen = (): z.ZodType<ChosenMachine> =>
  z.object({
    name: text,
    address: text,
    port: z.int(),
    user: text,
    accelerators: z.record(text, z.int()),
    key: text.exactOptional(),
    hostKey: text.exactOptional(),
  });
const form = (): z.ZodType<PoolRecord> =>
  z.object({
    slices: z.record(
      text,
      z.object({
        uid: text,
        ownership: z.object({ owner: text, job: text, run: text, generation: z.int(), spec: text }),
        at: time,
        machines: z.array(chosen()),
        maybe: z.array(chosen()),
        isWhole: z.boolean(),
      }),
    ),
    machines: z.record(
      text,
      z.object({
        failures: z.int(),
        lastProblem: z.object({ at: time, text }).exactOptional(),
        warning: text.exactOptional(),
        aside: z.object({ at: time, reason: text }).exactOptional(),
        drained: z.object({ at: time, by: text, reason: text.exactOptional() }).exactOptional(),
        forgotten: z.object({ at: time, by: text }).exactOptional(),
      }),
    ),
  });

/** Tries of a change beside other writers, 20 to 400 ms apart. */
const MOST_TRIES = 60;

/** The records of all pools, one object each. A change is made as a whole or not at all. */
export class PoolRecords {
  readonly #store: StorePort;

  constructor(store: StorePort) {
    this.#store = store;
  }

  /** @throws CloudUnavailable, CloudRefused: an error of the store says nothing about machines */
  async read(pool: string): Promise<PoolRecord> {
    return (await this.#load(pool)).record;
  }

  /**
   * Applies a change to the record.
   * @param change may be called again, with a record that others changed meanwhile; undefined: no change. Applied to its own
   * result it must change nothing, since the answer of a write can be lost.
   * @returns the record after the call
   */
  async update(pool: string, change: (record: PoolRecord) => PoolRecord | undefined): Promise<PoolRecord> {
    for (let tries = 1; ; tries++) {
      const { record, generation } = await this.#load(pool);
      const next = change(record);
      if (next === undefined) return record;
      const content = `${JSON.stringify(next, undefined, 1)}\n`;
      const expected = generation === undefined ? 'absent' : { generation };
      const { kind } = await overStore(() =>
        this.#store.write(machinePoolObject(pool), content, expected, 'application/json'),
      );
      if (kind === 'written') return next;
      if (tries === MOST_TRIES)
        throw new CloudUnavailable(
          `${objectPlace(this.#store, machinePoolObject(pool))}: others change it all the time`,
        );
      await sleep(randomInt(20, 400));
    }
  }

  async #load(pool: string): Promise<{ readonly record: PoolRecord; readonly generation?: string }> {
    const name = machinePoolObject(pool);
    const [stat, bytes] = await overStore(async () => {
      const before = await this.#store.stat(name);
      return [before, before && (await this.#store.read(name))] as const;
    });
    if (stat === undefined || bytes === undefined) return { record: EMPTY_RECORD };
    const read = form().safeParse(parsed(bytes.toString('utf8')));
    // If another writer wrote between the two reads, the next write fails and is tried again.
    if (read.success) return { record: read.data, generation: stat.generation };
    throw new CloudRefused(
      `${objectPlace(this.#store, name)} is no record of a pool's machines: ${z.prettifyError(read.error)}`,
    );
  }
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}

async function overStore<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (isOfStore(error)) throw new CloudUnavailable(error.message, { cause: error });
    throw error;
  }
}
