import {
  allHandlersFinished,
  condition,
  continueAsNew,
  log,
  patched,
  setHandler,
  workflowInfo,
} from '@temporalio/workflow';
import type { Admission, Deliveries, PoolFacts, StrayHolders } from '../activities/contract.js';
import { leaseKey, type LeaseMessage } from '../domain/lease.js';
import { packState } from '../quota/published-state.js';
import { pool as outside, poolReading } from './activity-options.js';
import {
  holdersQuery,
  leaseMessagesSignal,
  publishedQuery,
  quotaStateQuery,
  type QuotaInput,
  wakeSignal,
} from './messages.js';
import { listenToPeople } from './quota/calls.js';
import { type CarriedState, carryState, restoreState } from './quota/carried-state.js';
import { deliverySummary, PoolDetails } from './quota/details.js';
import { grantAsFirstVersion, reconcileAsFirstVersion } from './quota/first-version.js';
import type { PackedBook2 } from './quota/packed-book-2.js';
import { emptyCarry, PoolRun } from './quota/pool-run.js';
import { describePool, holdersOf, type PoolState } from './quota/pool-state.js';
import { Rebuild } from './quota/rebuild.js';
import { reconcile } from './quota/reconcile.js';
import { TextPages } from './quota/text-pages.js';

/**
 * The one writer of a pool's leases (DESIGN.md 3, "The quota workflow"). Handlers only note facts in the book; this loop
 * decides; one activity carries a batch of decisions out. A run without carried state takes a new epoch and grants nothing
 * before it has read what is open (`Rebuild`).
 */
export async function quota(input: QuotaInput): Promise<void> {
  // Runs that 0.1.0 began decide as it did while they are replayed, and end as soon as they are live.
  const isFirstVersion = !patched('preemption');
  const carry = input.carry as QuotaCarry | undefined;
  const restored = carry && (await restoreState(input.pool, stateOf(carry)));
  const bytesAtStart = restored ? workflowInfo().historySize : 0;
  const run = new PoolRun(input.pool, { ...(restored ?? emptyCarry(Date.now())), ...settingsOf(carry) }, Date.now());
  const loop = new QuotaLoop(run, isFirstVersion, bytesAtStart);
  if (restored) run.apply(restored.late, Date.now());
  await loop.begin(!restored);
  while (!loop.isEnding) await loop.turn();
  await condition(allHandlersFinished);
  await continueAsNew<typeof quota>({ ...input, carry: await loop.carry(carry?.slot === 0 ? 1 : 0) });
}

/** What crosses a continue-as-new; of version 0.1.0, `book` and `facts` alone. */
type QuotaCarry =
  | {
      readonly state: CarriedState;
      readonly facts?: PoolFacts;
      readonly admission: Admission;
      /** Of the store, where parts of the state may be. */
      readonly slot: number;
    }
  | { readonly book: PackedBook2; readonly facts: PoolFacts; readonly slot?: undefined };

const stateOf = (carry: QuotaCarry): CarriedState => ('book' in carry ? { book: carry.book } : carry.state);

function settingsOf(carry: QuotaCarry | undefined): { readonly facts?: PoolFacts; readonly admission?: Admission } {
  return {
    ...(carry?.facts === undefined ? {} : { facts: carry.facts }),
    ...(carry && 'admission' in carry ? { admission: carry.admission } : {}),
  };
}

class QuotaLoop {
  readonly #run: PoolRun;
  readonly #isFirstVersion: boolean;
  /** What this run was handed: counted against its limit, a pool of 10,000 leases would continue as new for ever. */
  readonly #bytesAtStart: number;
  readonly #details = new PoolDetails();
  #isAwake = true;
  #isReady = false;
  #reconcileAt = 0;
  #pass = 0;
  /** Read requests and reads of the pool's files. */
  #readsAsked = 0;
  #readsDone = 0;
  #isComparing = false;
  #strays: StrayHolders | undefined;
  #isWriting = false;
  /** What came while the state was on its way to the store. */
  #late: LeaseMessage[] | undefined;

  constructor(run: PoolRun, isFirstVersion: boolean, bytesAtStart: number) {
    this.#run = run;
    this.#isFirstVersion = isFirstVersion;
    this.#bytesAtStart = bytesAtStart;
    this.#listen();
  }

  // Hearing --------------------------------------------------------------------------------------------------------

  #listen(): void {
    const run = this.#run;
    setHandler(leaseMessagesSignal, (messages) => {
      this.#late?.push(...messages);
      run.apply(messages, Date.now());
      this.#isAwake = true;
    });
    setHandler(wakeSignal, () => {
      this.#isAwake = true;
      this.#reconcileAt = 0;
    });
    setHandler(quotaStateQuery, (): PoolState => describePool(run.pool, run.book, run.facts, Date.now()));
    const published = new TextPages(() => JSON.stringify(packState(run.snapshot())));
    const holders = new TextPages(() => JSON.stringify(holdersOf(run.book)));
    const version = (): string => {
      if (!this.#isReady) throw new Error(`pool ${run.pool} is being rebuilt`);
      return `${workflowInfo().runId}/${run.changes}`;
    };
    setHandler(publishedQuery, (page) => published.page(version(), page));
    setHandler(holdersQuery, (page) => holders.page(version(), page));
    listenToPeople(run, {
      isEnding: () => this.#late !== undefined,
      isReady: () => this.#isReady,
      applyFiles: (call) => outside(`apply files of ${call.by}`).applyFiles(run.pool, call),
      readFiles: () => this.#askForFiles(),
      wake: () => {
        this.#isAwake = true;
      },
    });
  }

  /** The next run reads them at its beginning, so an ending one does not. */
  async #askForFiles(): Promise<void> {
    const mine = ++this.#readsAsked;
    this.#isAwake = true;
    await condition(() => this.#readsDone >= mine || this.isEnding);
  }

  // Life -----------------------------------------------------------------------------------------------------------

  async begin(isWithoutMemory: boolean): Promise<void> {
    const run = this.#run;
    const { timings } = await this.#readFiles();
    if (isWithoutMemory) {
      const admission = await new Rebuild(run.pool, run.book, timings).run();
      if (admission) run.restoreAdmission(admission);
    }
    this.#isReady = true;
  }

  /** Looked at in the loop's own condition too, so that a busy pool does not outgrow it. */
  get isEnding(): boolean {
    const { historyLength, historySize, continueAsNewSuggested, targetWorkerDeploymentVersionChanged, runStartTime } =
      workflowInfo();
    const { timings } = this.#run.facts ?? {};
    if (this.#isFirstVersion && patched('preemption-next-run')) return true;
    return (
      continueAsNewSuggested ||
      (!this.#isFirstVersion &&
        (targetWorkerDeploymentVersionChanged || Date.now() >= runStartTime.getTime() + LONGEST_RUN_MS)) ||
      (timings !== undefined &&
        (historyLength >= timings.quotaHistoryEvents || historySize - this.#bytesAtStart >= timings.quotaHistoryBytes))
    );
  }

  async turn(): Promise<void> {
    const run = this.#run;
    await this.#compare();
    this.#isAwake = this.#decide();
    const deliveries = run.takeDeliveries(this.#isFirstVersion ? Infinity : GRANTS_PER_BATCH);
    if (deliveries) await this.#deliver(deliveries);
    this.#details.show(run);
    this.#writeHistory();
    await this.#rest();
  }

  #decide(): boolean {
    const run = this.#run;
    if (!this.#isFirstVersion) return run.decide(Date.now());
    if (run.facts?.config) grantAsFirstVersion(run.book, run.facts.config, Date.now());
    return false;
  }

  async #deliver(deliveries: Deliveries): Promise<void> {
    const { closedJobs } = await outside(deliverySummary(deliveries)).deliver(deliveries);
    for (const lease of closedJobs) {
      log.info(`the job of lease ${leaseKey(lease)} is closed: taken back`);
      this.#run.book.jobClosed(leaseKey(lease), Date.now(), `job ${lease.job} is closed`);
      this.#run.touch(Date.now());
    }
  }

  // Comparing ------------------------------------------------------------------------------------------------------

  async #compare(): Promise<void> {
    const isDue = Date.now() >= this.#reconcileAt;
    if (isDue || this.#readsAsked > this.#readsDone) await this.#readFiles();
    this.#takeStrays();
    if (!isDue) return;
    if (this.#isFirstVersion) await reconcileAsFirstVersion(this.#run.book, this.#pass++);
    else this.#findStrays();
    this.#reconcileAt = Date.now() + (this.#run.facts?.timings.reconcileMs ?? 0);
  }

  async #readFiles(): Promise<PoolFacts> {
    const asked = this.#readsAsked;
    const { pool, facts } = this.#run;
    const known = facts?.mark === undefined ? [] : [facts.mark];
    const read = await outside(`read the files of pool ${pool}`).loadPool(pool, ...known);
    this.#readsDone = asked;
    return this.#run.takeFiles(read, Date.now());
  }

  /** Beside the loop: thousands of rows take seconds, and grants do not wait for it. */
  #findStrays(): void {
    if (this.#isComparing || this.#run.isIdle) return;
    this.#isComparing = true;
    const summary = `are the holders of ${this.#run.book.leased.length} leases and those who wait still open?`;
    void poolReading(summary)
      .findStrays(this.#run.pool)
      .then(
        (strays) => {
          this.#strays = strays;
          this.#isAwake = true;
        },
        (error: unknown) => log.warn(`leases could not be compared: ${String(error)}`),
      )
      .then(() => {
        this.#isComparing = false;
      });
  }

  #takeStrays(): void {
    if (!this.#strays) return;
    reconcile(this.#run.book, this.#strays, Date.now());
    this.#run.touch(Date.now());
    this.#strays = undefined;
  }

  // Resting --------------------------------------------------------------------------------------------------------

  /** With nothing leased and nobody waiting there is nothing to compare: the next message wakes it. */
  async #rest(): Promise<void> {
    const run = this.#run;
    const isDue = (): boolean =>
      this.#isAwake || run.book.hasPending || this.#readsAsked > this.#readsDone || this.isEnding;
    if (this.#isFirstVersion && run.isIdle) await condition(isDue);
    else
      await condition(isDue, Math.max(SHORTEST_REST_MS, this.#wakeAt() - Date.now()), {
        summary: 'until leases are compared again, or time changes a decision',
      });
  }

  #wakeAt(): number {
    if (this.#isFirstVersion) return this.#reconcileAt;
    const run = this.#run;
    const times = [
      run.isIdle ? undefined : this.#reconcileAt,
      run.nextAt,
      this.#isWriting ? undefined : run.history.dueAt,
      workflowInfo().runStartTime.getTime() + LONGEST_RUN_MS,
    ];
    return Math.min(...times.filter((time) => time !== undefined));
  }

  /** Beside the loop: a store that is away stops no grant. */
  #writeHistory(): void {
    const { history } = this.#run;
    if (this.#isFirstVersion || this.#isWriting || (history.dueAt ?? Infinity) > Date.now()) return;
    const part = history.nextPart(Date.now());
    if (!part) return;
    this.#isWriting = true;
    void outside(`write ${part.lines.length} lines of the pool's history`)
      .writeHistory(part)
      .then(
        () => history.written(),
        (error: unknown) => log.warn(`the pool's history could not be written: ${String(error)}`),
      )
      .then(() => {
        this.#isWriting = false;
      });
  }

  async carry(slot: number): Promise<QuotaCarry> {
    const { pool, facts, admission } = this.#run;
    this.#late = [];
    const state = await carryState(pool, this.#run.carry(), slot, this.#late);
    return { state, ...(facts === undefined ? {} : { facts }), admission, slot };
  }
}

/** A batch must fit one activity's input and time; the rest is told right after. */
const GRANTS_PER_BATCH = 200;
/** A time that has just passed must not make a loop of it. */
const SHORTEST_REST_MS = 100;
const LONGEST_RUN_MS = 24 * 60 * 60_000;
