import { refIn } from '../../../domain/machine-kinds/machines/index.js';
import type { MachinesPlan, MachinesRef, OwnMachine } from '../../../domain/machine-kinds/machines/words.js';
import {
  type Condition,
  type CreateAnswer,
  isOf,
  type Owner,
  type Ownership,
  type SshHost,
} from '../../../domain/slice.js';
import type { StorePort } from '../../store/port.js';
import {
  type Claim,
  CloudUnavailable,
  type Machines,
  type OwnedResource,
  type RemoveAnswer,
  type WatchOptions,
} from '../port.js';
import { DEFAULT_LISTING_PERIODS, type ListingPeriods, SharedLister } from '../api-load.js';
import { Claiming } from './claiming.js';
import {
  type ChosenMachine,
  claimsOf,
  type Ended,
  LIKE_NEW,
  type PoolRecord,
  PoolRecords,
  type SliceRecord,
  readClaim,
  takenText,
  withEnded,
  withoutSlice,
} from './pool-record.js';
import { MachineVisits, noteEnded, type VisitOptions } from './machine-visits.js';

interface OwnMachinesOptions {
  /** The machines in a pool's present pool file. @throws Error that says why it cannot be read */
  readonly inventory: (pool: string) => Promise<readonly OwnMachine[]>;
  readonly records: PoolRecords;
  readonly visits: MachineVisits;
  readonly periods?: ListingPeriods;
}

const LOOK_MS = 10_000;
/** Time after which a removal is answered. It continues in the background. */
const REMOVE_MS = 20_000;
/** Grace of processes that the command left behind. The job has already ended the command itself. */
const GRACE_MS = 5_000;
const VACATE_MS = 45_000;

/** @param options the worker's: the source of pool files, and the means to reach machines */
export function createOwnMachines({
  inventory,
  store,
  periods,
  ...ways
}: VisitOptions & Pick<OwnMachinesOptions, 'inventory' | 'periods'> & { readonly store: StorePort }): OwnMachines {
  const parts = { inventory, records: new PoolRecords(store), visits: new MachineVisits(ways) };
  return new OwnMachines({ ...parts, ...(periods !== undefined && { periods }) });
}

/** The looks at all slices of a pool. */
interface PoolListing {
  readonly record: PoolRecord;
  readonly looks: ReadonlyMap<string, readonly Look[]>;
}

/**
 * A pool's own machines. The claim on each machine is the truth; the pool's record in the store only says on which machines to
 * look for claims (docs/adr/0070).
 */
export class OwnMachines implements Machines<'machines'> {
  readonly #options: OwnMachinesOptions;
  readonly #listers = new Map<string, SharedLister<WatchOptions, PoolListing>>();
  /** Keyed by pool and uid. */
  readonly #removals = new Map<string, Promise<readonly string[]>>();
  #isClosed = false;

  constructor(options: OwnMachinesOptions) {
    this.#options = options;
  }

  async create(plan: MachinesPlan): Promise<CreateAnswer> {
    const { inventory, records, visits } = this.#options;
    let machines: readonly OwnMachine[];
    try {
      machines = await inventory(plan.ref.pool);
    } catch (error) {
      return { kind: 'refused', scope: 'moment', message: (error as Error).message };
    }
    try {
      return await new Claiming(plan, machines, { records, visits }).run();
    } catch (error) {
      return { kind: 'unanswered', message: (error as Error).message };
    }
  }

  async observe({ ref, ownership }: Claim<MachinesRef>): Promise<Condition> {
    const record = await this.#options.records.read(ref.pool);
    const slice = record.slices[ref.name];
    const looks = slice === undefined ? [] : await this.#lookAt(ref.pool, record, slice);
    return conditionOf(ref, slice, looks, ownership, Date.now());
  }

  async watch({ ref, ownership }: Claim<MachinesRef>, options: WatchOptions): Promise<Condition> {
    const { record, looks } = await this.#listerOf(ref.pool).next(options);
    return conditionOf(ref, record.slices[ref.name], looks.get(ref.name) ?? [], ownership, Date.now());
  }

  #lookAt(pool: string, record: PoolRecord, slice: SliceRecord): Promise<readonly Look[]> {
    return Promise.all(claimsOf(slice.machines).map((machine) => this.#lookAtOne(pool, record, slice, machine)));
  }

  async #lookAtOne(pool: string, record: PoolRecord, slice: SliceRecord, machine: ChosenMachine): Promise<Look> {
    const { uid } = slice;
    const visited = await this.#options.visits.visit(pool, machine, LOOK_MS, (verbs) => verbs.holder(uid));
    if (visited.kind === 'silent')
      return isForgotten(record, machine, slice) ? { kind: 'free' } : { kind: 'silent', message: visited.message };
    const { claim, isEnded } = visited.value;
    if (claim === undefined || isEnded) return { kind: 'free' };
    return readClaim(claim)?.uid === uid ? { kind: 'held' } : { kind: 'other', message: takenText(claim) };
  }

  #listerOf(pool: string): SharedLister<WatchOptions, PoolListing> {
    if (this.#isClosed) throw new CloudUnavailable('the worker is ending');
    const lister =
      this.#listers.get(pool) ??
      new SharedLister(() => this.#list(pool), this.#options.periods ?? DEFAULT_LISTING_PERIODS);
    this.#listers.set(pool, lister);
    return lister;
  }

  async #list(pool: string): Promise<PoolListing> {
    const record = await this.#options.records.read(pool);
    const looks = Object.entries(record.slices).map(
      async ([name, slice]) => [name, await this.#lookAt(pool, record, slice)] as const,
    );
    return { record, looks: new Map(await Promise.all(looks)) };
  }

  /** Does nothing if the slice has been given back, because the record does not know it any more. */
  async putAside({ ref, uid, host }: { ref: MachinesRef; uid: string; host: number }, reason: string): Promise<void> {
    await this.#options.records.update(ref.pool, (before) => {
      const slice = before.slices[ref.name];
      const broken = slice?.uid === uid ? slice.machines[host] : undefined;
      const isUsed = ({ name }: ChosenMachine): boolean => before.machines[name]?.aside === undefined;
      // Which of a host's GPUs it was is not known.
      const names =
        broken === undefined
          ? []
          : claimsOf([broken])
              .filter(isUsed)
              .map(({ name }) => name);
      if (names.length === 0) return undefined;
      const aside = { at: Date.now(), reason };
      const put = names.map((name) => [name, { ...(before.machines[name] ?? LIKE_NEW), aside }] as const);
      return { ...before, machines: { ...before.machines, ...Object.fromEntries(put) } };
    });
  }

  /** Ends the processes on each machine before its claim is removed. The slice is not gone while one machine does not answer. */
  async remove(ref: MachinesRef, { owner, job, run }: Owner): Promise<RemoveAnswer> {
    const record = await this.#options.records.read(ref.pool);
    const slice = record.slices[ref.name];
    if (slice === undefined) return { kind: 'gone' };
    if (!isOf(slice.ownership, { owner, job, run })) {
      const message = `${ref.name}: belongs to ${ownerText(slice.ownership)}, not to owner ${owner}, job ${job}, run ${run}`;
      return { kind: 'refused', message };
    }
    const removal = this.#removalOf(ref, record, slice);
    const silent = await Promise.race([removal, later(REMOVE_MS)]);
    if (silent !== undefined && silent.length > 0) return { kind: 'unanswered', message: silent.join('; ') };
    return { kind: 'accepted', operation: JSON.stringify({ pool: ref.pool, name: ref.name, uid: slice.uid }) };
  }

  /** Runs at most one removal per slice, however many callers ask. */
  #removalOf(ref: MachinesRef, record: PoolRecord, slice: SliceRecord): Promise<readonly string[]> {
    const key = `${ref.pool}/${slice.uid}`;
    const underWay = this.#removals.get(key);
    if (underWay) return underWay;
    const removal = this.#removeClaims(ref, record, slice).finally(() => this.#removals.delete(key));
    // The caller that waited may be gone.
    removal.catch(() => undefined);
    this.#removals.set(key, removal);
    return removal;
  }

  /** @returns the machines about which nothing is known */
  async #removeClaims(ref: MachinesRef, record: PoolRecord, slice: SliceRecord): Promise<readonly string[]> {
    const { uid } = slice;
    const ended: Ended = new Map();
    const silent = await Promise.all(
      [...slice.machines, ...slice.maybe].map(async ({ beside = [], ...first }) => {
        const give = (machine: ChosenMachine) => this.#giveBack(ref.pool, record, slice, machine, ended);
        const problem = await give(first);
        // A run there has the GPUs of these claims.
        return problem === undefined
          ? (await Promise.all(beside.map(give))).find((each) => each !== undefined)
          : problem;
      }),
    ).then((answers) => answers.filter((answer) => answer !== undefined));
    const at = Date.now();
    await this.#options.records.update(ref.pool, (before) => {
      const noted = withEnded(before, ended, at);
      const left = silent.length === 0 ? withoutSlice(noted, ref.name, uid) : undefined;
      return left ?? (noted === before ? undefined : noted);
    });
    return silent;
  }

  async #giveBack(
    pool: string,
    record: PoolRecord,
    slice: SliceRecord,
    machine: ChosenMachine,
    ended: Ended,
  ): Promise<string | undefined> {
    const visited = await this.#options.visits.visit(pool, machine, VACATE_MS, (verbs) =>
      verbs.vacate(slice.uid, GRACE_MS),
    );
    if (visited.kind === 'done') noteEnded(ended, machine.name, slice.ownership.job, visited.value);
    if (visited.kind === 'done' || isForgotten(record, machine, slice)) return undefined;
    const { name } = machine;
    return `machine ${name} does not answer, so what runs on it may go on: ${visited.message}. If it is off: jobctl machines forget ${name} --pool ${pool}`;
  }

  async removal(operation: string): Promise<'under way' | 'done' | 'unknown'> {
    const { pool, name, uid } = JSON.parse(operation) as { pool: string; name: string; uid: string };
    const { slices } = await this.#options.records.read(pool);
    if (slices[name] === undefined) return 'done';
    return slices[name].uid === uid ? 'under way' : 'unknown';
  }

  async listOwned(account: string, owner: string): Promise<readonly OwnedResource<MachinesRef>[]> {
    const { slices } = await this.#options.records.read(account);
    return Object.entries(slices).flatMap(([name, { ownership, machines, maybe }]) => {
      const [machine] = [...machines, ...maybe];
      return ownership.owner === owner ? [{ ref: refIn(account, name, machine?.isRehearsed), ownership }] : [];
    });
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    for (const lister of this.#listers.values()) lister.close('the worker');
  }
}

function later(ms: number): Promise<undefined> {
  return new Promise((resolve) => setTimeout(() => resolve(undefined), ms).unref());
}

/** The observed claim on one machine of a slice. */
type Look =
  | { readonly kind: 'held' }
  /** Unclaimed, or given back. */
  | { readonly kind: 'free' }
  | { readonly kind: 'other'; readonly message: string }
  /** The machine did not answer, which says nothing about its claim. */
  | { readonly kind: 'silent'; readonly message: string };

/** Time after which no further machines are claimed. A create call ends within a minute. */
const CREATE_MS = 120_000;

/**
 * Reads the claims of a slice as its condition.
 * @param looks at its claims, in their order
 */
function conditionOf(
  ref: MachinesRef,
  slice: SliceRecord | undefined,
  looks: readonly Look[],
  wanted: Owner | Ownership,
  now: number,
): Condition {
  if (slice === undefined) return { kind: 'missing' };
  if (!isOf(slice.ownership, wanted)) return { kind: 'foreign', message: `belongs to ${ownerText(slice.ownership)}` };
  const claims = claimsOf(slice.machines);
  const held = looks.filter(({ kind }) => kind === 'held').length;
  if (!slice.isWhole) {
    const detail = `${held} of ${claims.length} machines are claimed`;
    if (now - slice.at < CREATE_MS) return { kind: 'waiting', detail };
    return { kind: 'lost', cause: 'failed', message: `${detail}, and whoever claimed them has stopped` };
  }
  const lost = claims.flatMap((machine, index) => lossOf(machine, looks[index]));
  if (lost.length > 0) return { kind: 'lost', cause: 'failed', message: lost.join('; ') };
  return {
    kind: 'ready',
    uid: slice.uid,
    hosts: slice.machines.map((machine, index) => hostOf(ref, slice.uid, machine, index)),
  };
}

/** A silent machine is still held: its claim ends only when it answers, or when a person says that it is off. */
function lossOf({ name }: ChosenMachine, look: Look | undefined): readonly string[] {
  switch (look?.kind) {
    case 'free':
      return [`machine ${name} is not claimed any more`];
    case 'other':
      return [`machine ${name} ${look.message}`];
    default:
      return [];
  }
}

function hostOf({ pool }: MachinesRef, claim: string, machine: ChosenMachine, index: number): SshHost {
  const { name, address, port, user, slot, uuids, key } = machine;
  const gpus = { ...(slot && { slot }), ...(uuids && { uuids }) };
  const own = { pool, name, port, user, claim, ...gpus, ...(key !== undefined && { key }) };
  return { reach: 'ssh', index, internalIp: address, own };
}

/** Returns whether a person has given the machine up, so that the claims on it are not waited for. */
function isForgotten({ machines }: PoolRecord, { name }: ChosenMachine, slice: SliceRecord): boolean {
  const at = machines[name]?.forgotten?.at;
  return at !== undefined && at > slice.at;
}

const ownerText = ({ owner, job, run, generation }: Ownership): string =>
  `owner ${owner}, job ${job}, run ${run}, generation ${generation}`;
