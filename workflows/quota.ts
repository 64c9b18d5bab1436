import {
  allHandlersFinished,
  condition,
  continueAsNew,
  log,
  setCurrentDetails,
  setHandler,
  workflowInfo,
} from '@temporalio/workflow';
import type { Deliveries, PoolFacts } from '../activities/contract.js';
import { leaseKey } from '../domain/lease.js';
import { decide } from '../quota/decide.js';
import { pool as outside } from './activity-options.js';
import { count } from './markdown.js';
import { meter } from './meter.js';
import { leaseMessagesSignal, quotaStateQuery, wakeSignal, type QuotaInput } from './messages.js';
import { LeaseBook } from './quota/lease-book.js';
import { packBook, type PackedBook, unpackBook } from './quota/packed-book.js';
import { describePool, type PoolState } from './quota/pool-state.js';
import { poolDetails, toLease, toRequest } from './quota/details.js';
import { Rebuild } from './quota/rebuild.js';
import { reconcile } from './quota/reconcile.js';

/**
 * The one writer of a pool's leases (DESIGN.md 3, "The quota workflow"). Handlers only note facts in the book; this loop
 * decides; one activity carries a batch of decisions out. A run without carried state takes a new epoch and grants nothing
 * before it has read what is open (`Rebuild`).
 */
export async function quota(input: QuotaInput): Promise<void> {
  const carry = input.carry as QuotaCarry | undefined;
  const book = new LeaseBook(carry ? unpackBook(carry.book) : { epoch: Date.now(), rows: [], freed: [] });
  let facts: PoolFacts | undefined = carry?.facts;
  let isAwake = true;
  let reconcileAt = 0;

  setHandler(leaseMessagesSignal, (messages) => {
    for (const message of messages) book.apply(message, Date.now());
    isAwake = true;
  });
  setHandler(wakeSignal, () => {
    isAwake = true;
    reconcileAt = 0;
  });
  setHandler(quotaStateQuery, (): PoolState => describePool(input.pool, book, facts, Date.now()));
  const details = new PoolDetails(input.pool);
  let pass = 0;

  facts = inForce(facts, await readFile(input.pool));
  if (!carry) await new Rebuild(input.pool, book, facts.timings).run();

  while (!isFull(facts)) {
    if (Date.now() >= reconcileAt) {
      facts = inForce(facts, await readFile(input.pool));
      await reconcile(book, pass++);
      reconcileAt = Date.now() + facts.timings.reconcileMs;
    }
    isAwake = false;
    const deliveries = decideNow(book, facts);
    if (deliveries) await carryOut(book, deliveries);
    details.show(book, facts);
    await rest(() => isAwake || book.hasPending || isFull(facts), reconcileAt, book);
  }
  await condition(allHandlersFinished);
  await continueAsNew<typeof quota>({ ...input, carry: { book: packBook(book.carry()), facts } satisfies QuotaCarry });
}

interface QuotaCarry {
  readonly book: PackedBook;
  readonly facts: PoolFacts;
}

/** A file that is wrong changes nothing: the last good one stays in force, and its problem is shown. */
function inForce(before: PoolFacts | undefined, read: PoolFacts): PoolFacts {
  return before?.config && !read.config ? { ...read, config: before.config } : read;
}

/** With nothing leased and nobody waiting there is nothing to reconcile: the next message wakes it. */
async function rest(isDue: () => boolean, reconcileAt: number, book: LeaseBook): Promise<void> {
  const isIdle = book.waiting.length === 0 && book.leased.length === 0;
  if (isIdle) await condition(isDue);
  else await condition(isDue, Math.max(1, reconcileAt - Date.now()), { summary: 'until leases are compared again' });
}

function isFull(facts: PoolFacts | undefined): boolean {
  const { historyLength, historySize, continueAsNewSuggested } = workflowInfo();
  if (!facts) return continueAsNewSuggested;
  return (
    continueAsNewSuggested ||
    historyLength >= facts.timings.quotaHistoryEvents ||
    historySize >= facts.timings.quotaHistoryBytes
  );
}

/** Grants by rule, and what the book owes to jobs and slices. Undefined: nothing to say. */
function decideNow(book: LeaseBook, facts: PoolFacts): Deliveries | undefined {
  const now = Date.now();
  const requests = book.waiting.map(toRequest);
  const leases = book.leased.map(toLease);
  const { grants } = facts.config ? decide({ config: facts.config, requests, leases }, now) : { grants: [] };
  const granted = grants.slice(0, GRANTS_PER_BATCH).flatMap(({ id, tier }) => {
    book.grant(id, tier, now);
    return book.get(id)?.lease ?? [];
  });
  for (const { pool } of granted) meter.granted(pool);
  const { regrants, answers, reclaims, releases } = book.takePending();
  if (granted.length + regrants.length + answers.length + reclaims.length + releases.length === 0) return undefined;
  return { epoch: book.epoch, grants: [...granted, ...regrants], answers, reclaims, releases, restate: [] };
}

/** A batch must fit one activity's input and time; what is left over is decided again right after. */
const GRANTS_PER_BATCH = 200;

async function carryOut(book: LeaseBook, deliveries: Deliveries): Promise<void> {
  const { closedJobs } = await outside(deliverySummary(deliveries)).deliver(deliveries);
  for (const lease of closedJobs) {
    log.info(`lease ${leaseKey(lease)} was granted to a job that is closed: taken back`);
    book.jobClosed(leaseKey(lease), Date.now(), `job ${lease.job} is closed`);
  }
}

const readFile = (pool: string): Promise<PoolFacts> => outside(`read the quota file of pool ${pool}`).loadPool(pool);

/** `grant 3, answer 4 slices`: what is not in the batch is not named. */
function deliverySummary({ grants, answers, reclaims, releases }: Deliveries): string {
  const parts: [number, string][] = [
    [grants.length, `grant or confirm ${count(grants.length, 'lease')}`],
    [answers.length, `answer ${count(answers.length, 'slice')}`],
    [releases.length, `tell ${count(releases.length, 'slice')} to go`],
    [reclaims.length, `reclaim ${count(reclaims.length, 'slice')}`],
  ];
  return parts.flatMap(([number, text]) => (number > 0 ? [text] : [])).join(', ');
}

/** Current Details of the pool, at a bounded cost: a long queue is sorted for it once in a while only. */
class PoolDetails {
  #shownAt = 0;
  readonly #pool: string;

  constructor(pool: string) {
    this.#pool = pool;
  }

  show(book: LeaseBook, { config, problem }: PoolFacts): void {
    const at = Date.now();
    const { waiting, leased } = book;
    if (waiting.length + leased.length > MANY_ROWS && at - this.#shownAt < LONG_QUEUE_EVERY_MS) return;
    this.#shownAt = at;
    const file = { ...(config ? { config } : {}), ...(problem === undefined ? {} : { problem }) };
    setCurrentDetails(poolDetails({ pool: this.#pool, ...file, waiting, leased, at }));
  }
}

/** Up to so many the details are made new at each decision, and cost next to nothing. */
const MANY_ROWS = 200;
/** With more, at most so often; the comparison of leases makes a decision at least every `reconcileMs`. */
const LONG_QUEUE_EVERY_MS = 5_000;
