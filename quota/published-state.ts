import type { Demand, StuckDeletion } from '../domain/lease.js';
import type { EpochMs } from '../domain/units.js';
import type { HistoryLine } from './pool-history.js';
import { EVERYWHERE } from './quota-config.js';
import type { CoolDown, LeaseState, Pool, QuotaConfig, QuotaLease, QuotaMemory, QuotaRequest } from './quota-config.js';
import type { CapacityRow } from './seen-capacity.js';
import { entry, PACKED_RUN_LENGTH, packRunId, Table, unpackRunId } from './packed-values.js';

/**
 * A published pool: `list`, `why`, `quota show` and `quota plan` decide and explain from it, and ask no workflow.
 * Ids of requests and leases in `view` are lease keys: job/run/number.
 */
export interface PoolSnapshot {
  readonly pool: string;
  readonly at: EpochMs;
  readonly epoch: number;
  readonly admission: 'open' | 'frozen' | 'draining';
  readonly admissionReason?: string;
  readonly admissionSet?: AdmissionSet;
  /** Source of the files in force: a path, a URL, or `applied by alice`. */
  readonly source?: string;
  /** The problem with the files. The last good ones are in force. */
  readonly problem?: string;
  /** Set while the workflow rebuilds its memory: `view` has only the leases that it knows so far, and nothing is granted. */
  readonly rebuilding?: Rebuilding;
  /** Slices whose deletion does not end, at most `MOST_STUCK`. Absent: none. */
  readonly stuck?: readonly StuckSlice[];
  /** All zones that the pool file names, in its order. Absent: none. */
  readonly poolZones?: readonly string[];
  /** Capacity that the pool's jobs have seen, at most `MOST_PLACES` rows. Absent: none. */
  readonly capacity?: readonly CapacityRow[];
  /** The newest lines of the pool's history that were not in the store at `at`. Absent: none. */
  readonly unstored?: readonly HistoryLine[];
  readonly view: Pool;
}

/** The person who froze, drained or thawed a pool, by their own claim, and the time. */
export interface AdmissionSet {
  readonly by: string;
  readonly at: EpochMs;
}

/** The capacity that `jobctl capacity --output json` and the server answer with. */
export const capacityOf = ({ pool, at, poolZones: zones = [], capacity: rows = [] }: CapacityState) => ({
  ...{ pool, at, zones, rows },
});
export type CapacityState = Pick<PoolSnapshot, 'pool' | 'at' | 'poolZones' | 'capacity'>;

/** A slice whose deletion does not end, so that its lease goes on counting (docs/adr/0099). */
export interface StuckSlice extends StuckDeletion {
  /** Lease key. */
  readonly id: string;
  readonly slice: string;
}

/** Most stuck slices that are published. */
export const MOST_STUCK = 50;

/** A pool whose workflow lost its memory asks every open job what it holds (docs/adr/0035). */
export interface Rebuilding {
  readonly since: EpochMs;
  /** Time at which the rebuild ends, without the jobs that have not answered by then. */
  readonly until: EpochMs;
  /** Ids of jobs that have not answered, in order, 20 at most. */
  readonly waitsFor: readonly string[];
  readonly waitsForCount: number;
}

/**
 * The object `quota/<pool>/state.json`. Each row is one short tuple, values that rows share are in tables, and times are ages at
 * `at` in ms. A row takes 100 bytes or less: the answer of one query must hold 10,000 requests and 10,000 leases within 2 MB.
 */
export interface PackedPoolState extends Omit<PoolSnapshot, 'view'> {
  readonly v: 1;
  readonly config: QuotaConfig;
  readonly isFrozen?: boolean;
  readonly demands: readonly PackedDemand[];
  readonly zones: readonly string[];
  readonly requests: readonly PackedRow[];
  readonly leases: readonly PackedRow[];
  readonly memory?: PackedMemory;
}

type PackedDemand = readonly [
  project: string,
  user: string,
  priority: number,
  units: Demand['units'],
  pricing?: Demand['pricing'] | null,
  zones?: readonly string[] | null,
  isVerified?: 1,
];
type Cell = string | number | null;
/**
 * Request: id, demand, submitted, waiting since. Lease: id, demand, submitted, then see `packLease`. Absent cells at its end are
 * cut.
 */
type PackedRow = readonly Cell[];
/** Index of a row of `requests`, or the id itself if no row has it. */
type RequestRef = number | string;
interface PackedMemory {
  readonly reservations: readonly (readonly [RequestRef, tier: number, madeAt: number])[];
  readonly dissolved: readonly (readonly [RequestRef, age: number])[];
  readonly heldBack: readonly (readonly [RequestRef, ms: number, since?: number])[];
  readonly coolDowns: readonly (readonly [type: string, tier: number, zone: string, failures: number, until: number])[];
  readonly winners: readonly RequestRef[];
}

/** States in the order of the packed number. */
const STATES: readonly LeaseState[] = ['asking', 'held', 'draining', 'parked'];

export function packState({ view, ...head }: PoolSnapshot): PackedPoolState {
  const demands = new Table<PackedDemand>();
  const zones = new Table<string>();
  const row = (packed: QuotaRequest | QuotaLease, ...rest: readonly (Cell | undefined)[]): PackedRow =>
    trimmed([packId(packed.id), demands.indexOf(packDemand(packed)), head.at - packed.submittedAt, ...rest]);
  const requests = view.requests.map((request) => row(request, ageOf(head.at, request.waitingSince)));
  const leases = view.leases.map((lease) => row(lease, ...packLease(lease, head.at, zones)));
  return {
    v: 1,
    ...head,
    config: view.config,
    ...(view.isFrozen === undefined ? {} : { isFrozen: view.isFrozen }),
    demands: demands.values,
    zones: zones.values,
    requests,
    leases,
    ...(view.memory === undefined ? {} : { memory: packMemory(view.memory, view.requests, head.at) }),
  };
}

/** @throws RangeError if another version of jobctl wrote the object */
export function unpackState(packed: PackedPoolState): PoolSnapshot {
  const { v, config, isFrozen, demands, zones, requests, leases, memory, ...head } = packed;
  if (v !== 1) {
    throw new RangeError(
      `state of pool '${head.pool}': written in form ${String(v)}, this jobctl reads form 1: update it`,
    );
  }
  const { at } = head;
  const readRequests = requests.map((row): QuotaRequest => {
    const waitingSince = timeOf(at, row[3]);
    return { ...unpackHead(row, demands, at), ...(waitingSince === undefined ? {} : { waitingSince }) };
  });
  return {
    ...head,
    view: {
      config,
      requests: readRequests,
      leases: leases.map((row) => ({ ...unpackHead(row, demands, at), ...unpackLease(row, at, zones) })),
      ...(memory === undefined ? {} : { memory: unpackMemory(memory, readRequests, at) }),
      ...(isFrozen === undefined ? {} : { isFrozen }),
    },
  };
}

const ageOf = (at: EpochMs, time: EpochMs | undefined): number | undefined =>
  time === undefined ? undefined : at - time;
const timeOf = (at: EpochMs, age: Cell | undefined): EpochMs | undefined =>
  typeof age === 'number' ? at - age : undefined;

function packDemand({ project, user, priority, units, pricing, zones, isVerified }: Demand): PackedDemand {
  if (isVerified) return [project, user, priority, units, pricing ?? null, zones ?? null, 1];
  if (zones !== undefined) return [project, user, priority, units, pricing ?? null, zones];
  return pricing === undefined ? [project, user, priority, units] : [project, user, priority, units, pricing];
}

function packLease(lease: QuotaLease, at: EpochMs, zones: Table<string>): readonly (Cell | undefined)[] {
  const { tier, startedAt, state, heldMs, askingSince, zone, isFromReservation, everywhere } = lease;
  return [
    tier,
    at - startedAt,
    state === undefined ? undefined : STATES.indexOf(state),
    heldMs,
    ageOf(at, askingSince),
    zone === undefined ? undefined : zones.indexOf(zone),
    isFromReservation === undefined ? undefined : Number(isFromReservation),
    everywhere === undefined ? undefined : EVERYWHERE.indexOf(everywhere),
  ];
}

function unpackHead(row: PackedRow, demands: readonly PackedDemand[], at: EpochMs): Demand & { readonly id: string } {
  const [project, user, priority, units, pricing = null, zones = null, isVerified] = entry(demands, Number(row[1]));
  return {
    id: unpackId(String(row[0])),
    project,
    user,
    ...(isVerified === 1 ? { isVerified: true as const } : {}),
    priority,
    submittedAt: at - Number(row[2]),
    units,
    ...(pricing === null ? {} : { pricing }),
    ...(zones === null ? {} : { zones }),
  };
}

type LeaseOnly = Omit<QuotaLease, keyof Demand | 'id'>;

function unpackLease(row: PackedRow, at: EpochMs, zones: readonly string[]): LeaseOnly {
  const [tier, started, state = null, heldMs = null, asking, zone = null, isFromReservation = null, everywhere = null] =
    row.slice(3);
  const askingSince = timeOf(at, asking);
  return {
    tier: Number(tier),
    startedAt: at - Number(started),
    ...(state === null ? {} : { state: entry(STATES, Number(state)) }),
    ...(heldMs === null ? {} : { heldMs: Number(heldMs) }),
    ...(askingSince === undefined ? {} : { askingSince }),
    ...(zone === null ? {} : { zone: entry(zones, Number(zone)) }),
    ...(isFromReservation === null ? {} : { isFromReservation: isFromReservation === 1 }),
    ...(everywhere === null ? {} : { everywhere: entry(EVERYWHERE, Number(everywhere)) }),
  };
}

function packMemory(memory: QuotaMemory, requests: readonly QuotaRequest[], at: EpochMs): PackedMemory {
  const indexes = new Map(requests.map(({ id }, index) => [id, index]));
  const ref = (id: string): RequestRef => indexes.get(id) ?? id;
  return {
    reservations: memory.reservations.map(({ id, tier, madeAt }) => [ref(id), tier, at - madeAt]),
    dissolved: Object.entries(memory.dissolved).map(([id, time]) => [ref(id), at - time]),
    heldBack: Object.entries(memory.heldBack).map(([id, { ms, since }]) =>
      since === undefined ? [ref(id), ms] : [ref(id), ms, at - since],
    ),
    coolDowns: memory.coolDowns.map(({ type, tier, zone, failures, until }) => [
      type,
      tier,
      zone,
      failures,
      at - until,
    ]),
    winners: memory.winners.map(ref),
  };
}

function unpackMemory(packed: PackedMemory, requests: readonly QuotaRequest[], at: EpochMs): QuotaMemory {
  const id = (ref: RequestRef): string => (typeof ref === 'string' ? ref : entry(requests, ref).id);
  return {
    reservations: packed.reservations.map(([ref, tier, madeAt]) => ({ id: id(ref), tier, madeAt: at - madeAt })),
    dissolved: Object.fromEntries(packed.dissolved.map(([ref, age]) => [id(ref), at - age])),
    heldBack: Object.fromEntries(
      packed.heldBack.map(([ref, ms, since]) => [
        id(ref),
        { ms, ...(since === undefined ? {} : { since: at - since }) },
      ]),
    ),
    coolDowns: packed.coolDowns.map(([type, tier, zone, failures, until]): CoolDown => ({
      type,
      tier,
      zone,
      failures,
      until: at - until,
    })),
    winners: packed.winners.map(id),
  };
}

const LEASE_KEY = /^([^~].*)\/([0-9a-f-]{36})\/(\d+)$/;
const PACKED_KEY = new RegExp(`^~([^~].*)/([\\w-]{${PACKED_RUN_LENGTH}})/(\\d+)$`);

/** A lease key with its run id (a UUID) in 22 characters instead of 36, `~` before it; any other id as it is. */
function packId(id: string): string {
  const [, job = '', run = '', number = ''] = LEASE_KEY.exec(id) ?? [];
  const packed = packRunId(run);
  if (packed !== undefined) return `~${job}/${packed}/${number}`;
  return id.startsWith('~') ? `~${id}` : id;
}

function unpackId(packed: string): string {
  if (!packed.startsWith('~')) return packed;
  const [, job = '', run = '', number = ''] = PACKED_KEY.exec(packed) ?? [];
  return run === '' ? packed.slice(1) : `${job}/${unpackRunId(run)}/${number}`;
}

/** Writes absent cells as null and cuts the row off after its last value. */
function trimmed(cells: readonly (Cell | undefined)[]): PackedRow {
  const end = cells.findLastIndex((cell) => cell !== undefined) + 1;
  return cells.slice(0, end).map((cell) => cell ?? null);
}

/** One page of a text that is too long for one payload, as a workflow answers it. */
export interface TextPage {
  /** Pages of different versions belong to different texts. */
  readonly version: string;
  readonly pages: number;
  readonly text: string;
}

/** Most attempts at reading one text. Another reader, or another worker's cache, may make it anew in between. */
const MOST_TRIES = 5;

/**
 * Reads a JSON value that is answered in pages.
 * @param ask asks for one page, from 0 on
 * @param what the name of the answer, for the error
 * @throws Error if the text changed while it was read, `MOST_TRIES` times
 */
export async function readPages(ask: (page: number) => Promise<TextPage>, what: string): Promise<unknown> {
  for (let tries = 0; tries < MOST_TRIES; tries++) {
    const first = await ask(0);
    const pages = [first];
    for (let page = 1; page < first.pages; page++) pages.push(await ask(page));
    if (pages.every(({ version }) => version === first.version))
      return JSON.parse(pages.map(({ text }) => text).join('')) as unknown;
  }
  throw new Error(`${what}: the answer changed while it was read, ${MOST_TRIES} times`);
}
