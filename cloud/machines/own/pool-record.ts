import { randomInt } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import type { MachineRecord, OwnMachine } from '../../../domain/machine-kinds/machines/words.js';
import type { MachineSlot, Ownership } from '../../../domain/slice.js';
import { machinePoolObject } from '../../../domain/store-layout.js';
import type { EpochMs } from '../../../domain/units.js';
import { labelsOf, ownershipFrom } from '../../../domain/identity.js';
import type { Inspection } from '../../hosts/machine-verbs.js';
import { isOfStore, objectPlace, type StorePort, type StoreReader } from '../../store/port.js';
import { CloudRefused, CloudUnavailable } from '../port.js';
import type { AuditedResource } from '../audited-resource.js';

/** Reach of a machine of a slice, as the inventory had it when the slice was made. */
export interface ChosenMachine extends Omit<OwnMachine, 'labels' | 'check' | 'maker' | 'model'> {
  /** Other slots of the same shared machine. The slice has a claim on each, for its GPU, and runs nothing as their users. */
  readonly beside?: readonly ChosenMachine[];
  /** UUIDs of all GPUs that the slice has there, once they are known. */
  readonly uuids?: readonly string[];
}

/** Each place where these hosts have a claim, by itself. */
export const claimsOf = (hosts: readonly ChosenMachine[]): readonly ChosenMachine[] =>
  hosts.flatMap(({ beside = [], ...first }) => [first, ...beside]);

/** Names the machines on which a slice has claims. The claim on the machine is what counts (docs/adr/0070). */
export interface SliceRecord {
  readonly uid: string;
  readonly ownership: Ownership;
  readonly at: EpochMs;
  /** Ordered by the number of the host. */
  readonly machines: readonly ChosenMachine[];
  /** Other machines that were asked for a claim and did not answer, so they may hold one. */
  readonly maybe: readonly ChosenMachine[];
  /** Whether all machines have been claimed and inspected. */
  readonly isWhole: boolean;
}

export interface PoolRecord {
  /** Keyed by the slice's name. */
  readonly slices: Readonly<Record<string, SliceRecord>>;
  /** Keyed by the machine's name; a machine without an entry is like new. */
  readonly machines: Readonly<Record<string, MachineRecord>>;
  /**
   * Slots of shared machines that no other slice takes, until the slice can have them all. Keyed by the slice's name without its
   * generation. `at`: of its last request.
   */
  readonly kept?: Readonly<Record<string, { at: EpochMs; job: string; slots: readonly string[] }>>;
}

export const EMPTY_RECORD: PoolRecord = { slices: {}, machines: {} };
export const LIKE_NEW: MachineRecord = { failures: 0 };

const text = z.string();
const time = z.number();
const slot = (): z.ZodType<MachineSlot> => z.object({ number: z.int(), of: z.int(), gpus: z.array(z.int()) });
const reach = () =>
  z.object({
    name: text,
    address: text,
    port: z.int(),
    user: text,
    slot: slot().exactOptional(),
    isShared: z.literal(true).exactOptional(),
    accelerators: z.record(text, z.int()),
    key: text.exactOptional(),
    hostKey: text.exactOptional(),
    uuids: z.array(text).exactOptional(),
    isRehearsed: z.literal(true).exactOptional(),
  });
const chosen = (): z.ZodType<ChosenMachine> => reach().extend({ beside: z.array(reach()).exactOptional() });
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
        model: text.exactOptional(),
        uuids: z.array(text).exactOptional(),
        ended: z.object({ at: time, job: text, text }).exactOptional(),
        warning: text.exactOptional(),
        aside: z.object({ at: time, reason: text }).exactOptional(),
        drained: z.object({ at: time, by: text, reason: text.exactOptional() }).exactOptional(),
        forgotten: z.object({ at: time, by: text }).exactOptional(),
      }),
    ),
    kept: z.record(text, z.object({ at: time, job: text, slots: z.array(text) })).exactOptional(),
  });

/** Number of failures in a row at which a machine is put aside. */
const MOST_FAILURES = 2;

export function failedOnce(before: MachineRecord = LIKE_NEW, text: string, at: number): MachineRecord {
  const failures = before.failures + 1;
  const isAside = before.aside !== undefined || failures >= MOST_FAILURES;
  // Keeps the time since when it is aside, with the newest reason.
  const aside = isAside && { aside: { at: before.aside?.at ?? at, reason: text } };
  return { ...before, failures, lastProblem: { at, text }, ...aside };
}

/** Notes that the machine passed its inspection. Its present use by others is not a failure of the machine. */
export function inspectedWell(
  { lastProblem: _, warning: __, ...before }: MachineRecord = LIKE_NEW,
  { busy, warnings, model, uuids }: Pick<Inspection, 'busy' | 'warnings' | 'model'> & Pick<MachineRecord, 'uuids'> = {
    warnings: [],
  },
  at: number,
): MachineRecord {
  return {
    ...before,
    failures: 0,
    ...(busy !== undefined && { lastProblem: { at, text: busy } }),
    ...(warnings.length > 0 && { warning: warnings.join('; ') }),
    ...(model !== undefined && { model }),
    ...(uuids !== undefined && { uuids }),
  };
}

/** Processes that were ended when machines were given back, by the machine's name. */
export type Ended = Map<string, { readonly job: string; readonly text: string }>;

export function withEnded(record: PoolRecord, ended: Ended, at: EpochMs): PoolRecord {
  if (ended.size === 0) return record;
  const noted = [...ended].map(
    ([name, what]) => [name, { ...(record.machines[name] ?? LIKE_NEW), ended: { at, ...what } }] as const,
  );
  return { ...record, machines: { ...record.machines, ...Object.fromEntries(noted) } };
}

/** The record without the slice. Undefined if another slice has the name now, or no slice has it. */
export function withoutSlice(record: PoolRecord, name: string, uid: string): PoolRecord | undefined {
  if (record.slices[name]?.uid !== uid) return undefined;
  const { [name]: _, ...slices } = record.slices;
  return { ...record, slices };
}

/** Limit of attempts to change the record beside other writers, 20 to 400 ms apart. */
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

/** The contents of a claim on a machine. */
export interface MachineClaim {
  /** Random, one per create call. It prevents a late claim for a slice that has been given back. */
  readonly uid: string;
  /** The slice's name. */
  readonly slice: string;
  /** The pool whose inventory contains the machine: two pools may name the same machine by mistake. */
  readonly pool: string;
  readonly ownership: Ownership;
  /** The slot of the same machine as whose user the slice runs its command. Absent: this one. */
  readonly first?: { readonly name: string; readonly user: string };
}

/** The same claim always makes the same text, by which a machine recognizes it. */
export function claimText({ slice, uid, pool, ownership, first }: MachineClaim): string {
  const beside = first && { 'first-slot': first.name, 'first-user': first.user };
  const lines = Object.entries({ ...labelsOf(ownership), slice, pool, ...beside }).map(
    ([key, value]) => `${key}=${value}`,
  );
  return `${[uid, ...lines].join('\n')}\n`;
}

/** Undefined if the text is not a claim of jobctl's. */
export function readClaim(text: string): MachineClaim | undefined {
  const [uid = '', ...lines] = text.trim().split('\n');
  const values: Readonly<Record<string, string>> = Object.fromEntries(
    lines.map((line) => splitAt(line, line.indexOf('='))),
  );
  const ownership = ownershipFrom(values);
  const { slice, pool } = values as { readonly slice?: string; readonly pool?: string };
  if (uid === '' || ownership === undefined || slice === undefined || pool === undefined) return undefined;
  const { 'first-slot': name, 'first-user': user } = values;
  return { slice, uid, pool, ownership, ...(name !== undefined && user !== undefined && { first: { name, user } }) };
}

const splitAt = (line: string, at: number): readonly [string, string] => [line.slice(0, at), line.slice(at + 1)];

/** Returns whether this installation and pool made the claim. One that the record does not know was left behind; others stay. */
export const isOurs = (claim: MachineClaim | undefined, owner: string, pool: string): claim is MachineClaim =>
  claim !== undefined && claim.ownership.owner === owner && claim.pool === pool;

const releaseText = (claim: string): string =>
  `if nobody looks after that any more, an admin ends it: jobctl machines release NAME --claim ${claim}`;

/** Says by whom the machine with this claim is held. */
export function takenText(text: string): string {
  const claim = readClaim(text);
  if (claim === undefined) {
    const word = /^[\w-][\w.-]*$/.exec(text.split('\n', 1)[0] ?? '')?.[0];
    const release = word === undefined ? 'remove it there' : releaseText(word);
    return `is held by a claim that jobctl cannot read, ~/.jobctl/machine/claim on it: ${release}`;
  }
  const { slice, pool, ownership, uid, first } = claim;
  const where = first === undefined ? '' : `, which runs on ${first.name}`;
  return `is held by slice ${slice} of job ${ownership.job} (pool ${pool}, installation ${ownership.owner})${where}: ${releaseText(uid)}`;
}

/** The fields of a pool's record that this reader needs. */
interface RawRecord {
  readonly slices?: Readonly<Record<string, RawSlice>>;
}
interface RawSlice {
  readonly at: number;
  readonly ownership: Readonly<Record<string, string | number>>;
  readonly machines: readonly {
    readonly name: string;
    readonly accelerators: Readonly<Record<string, number>>;
    readonly beside?: readonly { readonly name: string }[];
  }[];
}

/**
 * Lists the pool's own machines that slices of any owner hold, by the pool's record. It is the auditor's own reader and shares no
 * code with the adapter that it judges. `jobctl machines check` finds claims on machines that no record names.
 * @throws CloudUnavailable if the record cannot be read
 */
export async function listMachinesForAudit(store: StoreReader, pool: string): Promise<readonly AuditedResource[]> {
  const name = machinePoolObject(pool);
  const bytes = await store.read(name).catch((error: unknown) => {
    throw new CloudUnavailable(`audit: ${objectPlace(store, name)} could not be read: ${(error as Error).message}`);
  });
  if (bytes === undefined) return [];
  const { slices = {} } = JSON.parse(bytes.toString()) as RawRecord;
  return Object.entries(slices).map(([slice, { at, ownership, machines }]) => {
    const labels = Object.fromEntries(
      Object.entries(ownership).map(([key, value]) => [`jobctl-${key}`, String(value)]),
    );
    const chips = machines.flatMap(({ accelerators }) => Object.values(accelerators)).reduce((a, b) => a + b, 0);
    return {
      ...{ kind: 'claim', account: pool, zone: 'own-machines', name: slice, labels, chips },
      state: ownershipFrom(labels) === undefined ? 'UNREADABLE' : 'CLAIMED',
      accelerator: machines
        .flatMap(({ name: first, beside = [] }) => [first, ...beside.map((each) => each.name)])
        .join(' '),
      createTime: new Date(at).toISOString(),
    };
  });
}
