import { performance } from 'node:perf_hooks';
import { setImmediate as otherWork } from 'node:timers/promises';
import type { Context } from '@temporalio/activity';
import { WorkflowNotFoundError } from '@temporalio/common';
import { messageOf } from '../domain/errors.js';
import type { StorePort } from '../cloud/store/port.js';
import { poolStateObject, poolLineObject } from '../domain/store-layout.js';
import { type PackedPoolState, unpackState } from '../quota/published-state.js';
import { publishedQuery } from '../contract/quota.js';
import { quotaWorkflowId } from '../contract/workflow-ids.js';
import type { EpochMs } from '../domain/units.js';
import { explainedLine, type WaitingLine } from '../quota/waiting-line.js';
import { type LeasedUnits, poolCounts } from '../quota/pool-accounts.js';
import { queryPages } from './quota-open-work.js';
import type { WorkMeter } from './dependencies.js';

/**
 * Publishes the state of a pool, from one query of its workflow, at most every `EVERY_MS` and only while something changes
 * (docs/adr/0019). `changed` is called at each lease message and each delivery that this worker carries. The results are the
 * objects quota/POOL/state.json and line.json. Several workers write them; the newest stays.
 *
 * A failure is tried again every half minute, and after ten minutes every five: an idle pool neither changes nor compares, and
 * would show its last lease for ever. No call waits for it and nothing is decided by it. Its timers do not keep a process alive.
 */
export class PoolPublisher {
  readonly #store: StorePort;
  readonly #meter: PoolMeter;
  readonly #options: PublisherOptions;
  readonly #pools = new Map<string, Published>();

  constructor(store: StorePort, meter: PoolMeter, options: PublisherOptions) {
    this.#store = store;
    this.#meter = meter;
    this.#options = options;
  }

  changed(context: Access, pool: string): void {
    const published = this.#pools.get(pool) ?? this.#unpublished(pool);
    this.#pools.set(pool, published);
    published.failures = 0;
    // A first pause, so that the latest messages are decided on when the query comes.
    this.#publishAfter(Math.max(FIRST_PAUSE_MS, published.lastAt + EVERY_MS - Date.now()), context, pool, published);
  }

  #publishAfter(pauseMs: number, context: Access, pool: string, published: Published): void {
    const dueAt = Date.now() + pauseMs;
    if (published.dueAt !== undefined && published.dueAt <= dueAt) return;
    published.dueAt = dueAt;
    clearTimeout(published.timer);
    published.timer = setTimeout(() => void this.#publish(context, pool, published), pauseMs).unref();
  }

  #unpublished(pool: string): Published {
    const state = new NewestObject(this.#store, poolStateObject(pool));
    return {
      isBusy: false,
      lastAt: 0,
      failures: 0,
      state,
      line: new LinePublisher(this.#store, pool),
      gauges: new PoolGauges(this.#meter, pool, { isNewest: () => state.isStillOurs(), keepMs: this.#options.keepMs }),
    };
  }

  async #publish(context: Access, pool: string, published: Published): Promise<void> {
    delete published.dueAt;
    if (published.isBusy) {
      this.changed(context, pool);
      return;
    }
    published.isBusy = true;
    published.lastAt = Date.now();
    try {
      const { client } = context;
      const state = (await client.withDeadline(Date.now() + QUERY_DEADLINE_MS, () =>
        queryPages(client, quotaWorkflowId(pool), publishedQuery),
      )) as PackedPoolState;
      // Half of a pool would look like a pool that is half as busy.
      if (state.rebuilding === undefined) published.gauges.show(state);
      await published.state.write(state);
      await published.line.publish(state);
      delete published.problem;
    } catch (error) {
      const problem = messageOf(error);
      if (published.problem !== problem) context.log.warn(`pool ${pool} could not be published: ${problem}`);
      published.problem = problem;
      // A pool whose workflow is gone has nothing more to publish.
      if (error instanceof WorkflowNotFoundError) return;
      const { tryAgainMs = TRY_AGAIN_MS } = this.#options;
      const pauseMs = published.failures++ < OFTEN ? tryAgainMs : LATER * tryAgainMs;
      this.#publishAfter(pauseMs, context, pool, published);
    } finally {
      published.isBusy = false;
    }
  }
}

interface PublisherOptions {
  /** A pool whose state was shown longer ago has no gauges any more. */
  readonly keepMs: number;
  readonly tryAgainMs?: number;
}

type Access = Pick<Context, 'client' | 'log'>;

interface Published {
  /** When the pool is published next. Absent: no timer runs. */
  dueAt?: EpochMs;
  timer?: NodeJS.Timeout;
  isBusy: boolean;
  /** When the last query was sent. */
  lastAt: number;
  /** Number of failures since the last change. */
  failures: number;
  readonly state: NewestObject;
  readonly line: LinePublisher;
  readonly gauges: PoolGauges;
  /** Problem of the last try; each is logged once. */
  problem?: string;
}

const EVERY_MS = 2_000;
const FIRST_PAUSE_MS = 200;
const TRY_AGAIN_MS = 30_000;
/** After so many failures the pause is `LATER` times as long: each try is a query, which is an action of Temporal's. */
const OFTEN = 20;
const LATER = 10;
const QUERY_DEADLINE_MS = 20_000;

/** Largest share of this worker's time that goes into lines: the supervision of slices comes first. */
const MOST_OF_TIME_FOR_LINES = 1 / 10;
/** Time after which the worker's other work gets its turn. */
const STEP_MS = 20;

/**
 * Writes the waiting line of one pool, from its state: a pass of the decision and an explanation for each kind of waiting job,
 * once for all readers (docs/adr/0024). For a large pool it takes part of a second, so the next line is made ten times that long
 * later. A pool in which a job waits compares its leases each 30 s, which makes up for lines that were left out.
 */
class LinePublisher {
  readonly #object: NewestObject;
  /** A time of `performance.now()`. */
  #notBefore = 0;
  #wasEmpty = false;

  constructor(store: StorePort, pool: string) {
    this.#object = new NewestObject(store, poolLineObject(pool));
  }

  /** Rejects with the store's errors. */
  async publish(state: PackedPoolState): Promise<void> {
    const isEmpty = state.requests.length === 0;
    // An empty line is told at once, and once.
    if (isEmpty ? this.#wasEmpty : performance.now() < this.#notBefore) return;
    await this.#object.write(await this.#lineOf(state));
    this.#wasEmpty = isEmpty;
  }

  async #lineOf(state: PackedPoolState): Promise<WaitingLine> {
    let start = performance.now();
    let spentMs = 0;
    const steps = explainedLine(unpackState(state));
    for (let step = steps.next(); ; step = steps.next()) {
      const ms = performance.now() - start;
      if (step.done === true) {
        this.#notBefore = performance.now() + (spentMs + ms) / MOST_OF_TIME_FOR_LINES;
        return step.value;
      }
      if (ms < STEP_MS) continue;
      spentMs += ms;
      await otherWork();
      start = performance.now();
    }
  }
}

/** The epoch of a pool and a time. Of two contents the later one stays. */
interface Dated {
  readonly epoch: number;
  readonly at: number;
}

const MOST_TRIES = 3;

/** An object of a pool that several workers write, as JSON. The newest content stays, whichever worker wrote it. */
class NewestObject {
  readonly #store: StorePort;
  readonly #name: string;
  /** The generation as far as this worker knows. */
  #generation: string | undefined;
  /** This worker wrote that generation. */
  #isOurs = false;

  constructor(store: StorePort, name: string) {
    this.#store = store;
    this.#name = name;
  }

  /** Whether the content is what this worker wrote last. Rejects with the store's errors. */
  async isStillOurs(): Promise<boolean> {
    return this.#isOurs && (await this.#store.stat(this.#name))?.generation === this.#generation;
  }

  /** Rejects with the store's errors; repeating is safe. */
  async write(content: Dated): Promise<void> {
    const text = JSON.stringify(content);
    for (let tries = 0; tries < MOST_TRIES; tries++) {
      const expected = this.#generation === undefined ? 'absent' : { generation: this.#generation };
      const written = await this.#store.write(this.#name, text, expected, 'application/json');
      this.#isOurs = written.kind === 'written';
      if (written.kind === 'written') {
        this.#generation = written.generation;
        return;
      }
      this.#generation = (await this.#store.stat(this.#name))?.generation;
      if (isNewer(await this.#store.read(this.#name), content)) return;
    }
  }
}

/** Content that cannot be read is replaced. */
function isNewer(content: Buffer | undefined, than: Dated): boolean {
  try {
    const there = JSON.parse(content?.toString('utf8') ?? '') as Dated;
    return there.epoch > than.epoch || (there.epoch === than.epoch && there.at > than.at);
  } catch {
    return false;
  }
}

/** Limit of projects per pool; with types and states these are some hundreds of series. */
const MOST_PROJECTS = 50;
/** Largest share of this worker's time that goes into counting. */
const MOST_OF_TIME_FOR_GAUGES = 1 / 20;
/** Time after which a worker checks whether another one has published the pool since. */
const FORGET_AFTER_MS = 90_000;

export type PoolMeter = Pick<WorkMeter, 'waitingJobs' | 'stuckDeletions' | 'leasedUnits'>;

export interface GaugesOptions {
  /** Whether the published state is still the one that this worker wrote. */
  readonly isNewest: () => Promise<boolean>;
  /** A state that was shown longer ago belongs to a pool that is no longer published. */
  readonly keepMs: number;
  readonly forgetAfterMs?: number;
}

/**
 * The gauges of one pool, from each state that this worker publishes. If there are several workers, the one that published last
 * is right. The others reset their gauges to 0, so the maximum over the workers is the pool as of the last 90 s. A quiet pool is
 * not published for minutes (docs/adr/0151), and its gauges stay. While the store cannot tell who published last, they are 0: a
 * worker with news shows them without the store.
 */
export class PoolGauges {
  readonly #meter: PoolMeter;
  readonly #pool: string;
  readonly #options: GaugesOptions;
  /** Series that are not 0. */
  #shown = new Map<string, LeasedUnits>();
  #last: Counts = NOTHING;
  #shownAt: EpochMs = 0;
  #notBefore = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(meter: PoolMeter, pool: string, options: GaugesOptions) {
    this.#meter = meter;
    this.#pool = pool;
    this.#options = options;
  }

  show(state: PackedPoolState): void {
    const start = performance.now();
    const isEmpty = state.requests.length + state.leases.length === 0;
    if (!isEmpty && start < this.#notBefore) {
      // It may be the last for minutes.
      this.#after(this.#notBefore - start, () => this.show(state));
      return;
    }
    const { waiting, leased } = poolCounts(unpackState(state), MOST_PROJECTS);
    this.#last = { waiting, leased, stuck: state.stuck?.length ?? 0 };
    this.#set(this.#last);
    const end = performance.now();
    this.#notBefore = end + (end - start) / MOST_OF_TIME_FOR_GAUGES;
    this.#shownAt = Date.now();
    this.#lookLater();
  }

  #lookLater(): void {
    this.#after(this.#options.forgetAfterMs ?? FORGET_AFTER_MS, () => void this.#look());
  }

  /** Its timer keeps no process alive. */
  #after(ms: number, act: () => void): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(act, ms).unref();
  }

  async #look(): Promise<void> {
    const { isNewest, keepMs } = this.#options;
    const timer = this.#timer;
    const isRight = Date.now() - this.#shownAt < keepMs && (await isNewest().catch(() => 'unknown' as const));
    if (timer !== this.#timer) return;
    this.#set(isRight === true ? this.#last : NOTHING);
    if (isRight !== false) this.#lookLater();
  }

  #set({ waiting, leased, stuck }: Counts): void {
    const before = this.#shown;
    this.#shown = new Map(leased.map((series) => [keyOf(series), series]));
    this.#meter.waitingJobs(this.#pool, waiting);
    this.#meter.stuckDeletions(this.#pool, stuck);
    for (const series of leased) this.#meter.leasedUnits(this.#pool, series);
    // A gauge keeps its last value for ever.
    for (const [key, series] of before)
      if (!this.#shown.has(key)) this.#meter.leasedUnits(this.#pool, { ...series, units: 0 });
  }
}

interface Counts {
  readonly waiting: number;
  readonly leased: readonly LeasedUnits[];
  readonly stuck: number;
}

const NOTHING: Counts = { waiting: 0, leased: [], stuck: 0 };

const keyOf = ({ project, type, state }: LeasedUnits): string => JSON.stringify([project, type, state]);
