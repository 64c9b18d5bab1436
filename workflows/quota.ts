import {
  allHandlersFinished,
  CancellationScope,
  condition,
  continueAsNew,
  log,
  workflowInfo,
} from '@temporalio/workflow';
import type { PoolFacts } from '../contract/quota-activities.js';
import { leaseMessageForm } from '../contract/quota-forms.js';
import { leaseMessagesSignal, type QuotaInput, wakeSignal } from '../contract/quota.js';
import { leaseKey, type LeaseMessage } from '../domain/lease.js';
import { describeBy } from './current-details.js';
import { pool as poolActivities } from './activity-options.js';
import { Inbox, notAhead } from './inbox.js';
import { carryState, inputOf, type QuotaCarry, restoreState } from './quota/carried-state.js';
import { deliverySummary } from './quota/deliveries.js';
import { answerQueries, detailsOf } from './quota/queries.js';
import { HistoryWriter } from './quota/history-log.js';
import { emptyCarry, PoolRecords } from './quota/pool-records.js';
import { Rebuild, Reconciler } from './quota/rebuild.js';
import { handleUpdates } from './quota/updates.js';

/**
 * The one writer of a pool's leases (docs/design.md, "The quota workflow"). Handlers only note facts in the book; the loop
 * decides; one activity carries a batch of decisions out. A run without carried state takes a new epoch and grants nothing
 * before it has read the open jobs and slices (`Rebuild`).
 */
export async function quota(input: QuotaInput): Promise<void> {
  // A cancel, one click in the Web UI, would cost the pool its memory, and nothing would handle it. An operator who means to end
  // it terminates it.
  await CancellationScope.nonCancellable(() => run(input));
}

async function run(input: QuotaInput): Promise<void> {
  const { pool, carry } = inputOf(input);
  const restored = carry && (await restoreState(pool, carry.state));
  const records = new PoolRecords(pool, { ...(restored ?? emptyCarry(Date.now())), ...carry?.settings }, Date.now());
  if (restored) records.apply(restored.late, Date.now());
  const loop = new QuotaLoop(records, new Inbox(carry?.kept), restored ? workflowInfo().historySize : 0);
  loop.listen();
  await loop.begin(!restored);
  while (!loop.isEnding) await loop.turn();
  await condition(allHandlersFinished);
  await continueAsNew<typeof quota>({ v: 1, pool, carry: await loop.carry(carry?.slot === 0 ? 1 : 0) });
}

class QuotaLoop {
  readonly #records: PoolRecords;
  readonly #inbox: Inbox;
  /**
   * Size of the history that this run was handed. If it counted against the limit, a pool of 10,000 leases would continue as new
   * for ever.
   */
  readonly #bytesAtStart: number;
  readonly #reconciler: Reconciler;
  readonly #history: HistoryWriter;
  #isAwake = true;
  /** Whether all leases are known. */
  #isReady = false;
  /** Number of requests to read the pool's files, and the last of them that a reading has answered. */
  #readsAsked = 0;
  #readsDone = 0;
  /** Messages that came while the state was being stored. */
  #late: LeaseMessage[] | undefined;

  constructor(records: PoolRecords, inbox: Inbox, bytesAtStart: number) {
    this.#records = records;
    this.#inbox = inbox;
    this.#bytesAtStart = bytesAtStart;
    this.#reconciler = new Reconciler(records, () => this.#wake());
    this.#history = new HistoryWriter(records.history);
  }

  /** Call it once, when the pool's records are whole: handlers run inside this call. */
  listen(): void {
    const records = this.#records;
    answerQueries(records, () => this.#isReady);
    handleUpdates(records, {
      isEnding: () => this.#late !== undefined,
      isReady: () => this.#isReady,
      applyFiles: (call) => poolActivities(`apply files of ${call.by}`).applyFiles(records.pool, call),
      readFiles: () => this.#askForFiles(),
      wake: () => this.#wake(),
    });
    this.#inbox
      .onEach(leaseMessagesSignal, LEASE_MESSAGE, (messages) => this.#hear(messages))
      .onBare(wakeSignal, () => {
        this.#reconciler.hurry();
        this.#wake();
      })
      .open();
  }

  #hear(messages: readonly LeaseMessage[]): void {
    this.#late?.push(...messages);
    this.#records.apply(messages, Date.now());
    this.#wake();
  }

  #wake(): void {
    this.#isAwake = true;
  }

  async begin(isWithoutMemory: boolean): Promise<void> {
    const { timings } = await this.#readFiles();
    if (isWithoutMemory) await new Rebuild(this.#records, timings).run();
    this.#isReady = true;
    describeBy(() => detailsOf(this.#records));
  }

  async turn(): Promise<void> {
    if (this.#reconciler.isDue || this.#mustReadFiles) await this.#readFiles();
    this.#reconciler.takeFound();
    this.#reconciler.compareIfDue();
    this.#isAwake = this.#records.decide(Date.now());
    await this.#deliver();
    this.#history.writeIfDue();
    await this.#rest();
  }

  async #deliver(): Promise<void> {
    const deliveries = this.#records.takeDeliveries(NEWS_PER_BATCH, Date.now());
    if (!deliveries) return;
    const { closedJobs } = await poolActivities(deliverySummary(deliveries)).deliver(deliveries);
    for (const lease of closedJobs) {
      log.info(`the job of lease ${leaseKey(lease)} is closed: taken back`);
      this.#records.book.jobClosed(leaseKey(lease), Date.now(), `job ${lease.job} is closed`);
      this.#records.touch(Date.now());
    }
  }

  /** Waits until a message comes, a comparison is due, or time changes a decision. An idle pool compares nothing. */
  async #rest(): Promise<void> {
    const records = this.#records;
    const times = [
      records.isIdle ? undefined : this.#reconciler.dueAt,
      records.nextAt,
      this.#history.dueAt,
      workflowInfo().runStartTime.getTime() + LONGEST_RUN_MS,
    ];
    const wakeAt = Math.min(...times.filter((time) => time !== undefined));
    const isDue = (): boolean => this.#isAwake || records.book.hasPending || this.#mustReadFiles || this.isEnding;
    await condition(isDue, Math.max(SHORTEST_REST_MS, wakeAt - Date.now()), {
      summary: 'until leases are compared again, or time changes a decision',
    });
  }

  // The pool's files -----------------------------------------------------------------------------------------------

  get #mustReadFiles(): boolean {
    return this.#readsAsked > this.#readsDone;
  }

  async #readFiles(): Promise<PoolFacts> {
    const asked = this.#readsAsked;
    const { pool, facts } = this.#records;
    const known = facts?.mark === undefined ? [] : [facts.mark];
    const read = await poolActivities(`read the files of pool ${pool}`).loadPool(pool, ...known);
    this.#readsDone = asked;
    return this.#records.takeFiles(read, Date.now());
  }

  /** Resolves when the files were read. The next run reads them at its beginning, so an ending run does not. */
  async #askForFiles(): Promise<void> {
    const mine = ++this.#readsAsked;
    this.#wake();
    await condition(() => this.#readsDone >= mine || this.isEnding);
  }

  // The end of a run -----------------------------------------------------------------------------------------------

  /** Whether this run must end. The loop's own condition reads it too, so that a busy pool does not outgrow its limits. */
  get isEnding(): boolean {
    const { historyLength, historySize, continueAsNewSuggested, runStartTime } = workflowInfo();
    const { timings } = this.#records.facts ?? {};
    return (
      continueAsNewSuggested ||
      Date.now() >= runStartTime.getTime() + LONGEST_RUN_MS ||
      (timings !== undefined &&
        (historyLength >= timings.quotaHistoryEvents || historySize - this.#bytesAtStart >= timings.quotaHistoryBytes))
    );
  }

  async carry(slot: number): Promise<QuotaCarry> {
    const { pool, settings } = this.#records;
    this.#late = [];
    const state = await carryState(pool, this.#records.carry(), slot, this.#late);
    return { state, settings, slot, kept: this.#inbox.kept };
  }
}

/** The highest sequence of a sender counts. */
const LEASE_MESSAGE = notAhead(leaseMessageForm, 'sequence', ({ sequence }) => sequence);
/** Limit of messages in a batch, which must fit one activity's input and time. The rest follows right after. */
const NEWS_PER_BATCH = 200;
/** Shortest pause of the loop, so that a time that has just passed causes no busy loop. */
const SHORTEST_REST_MS = 100;
const LONGEST_RUN_MS = 24 * 60 * 60_000;
