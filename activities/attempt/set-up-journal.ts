import { log } from '@temporalio/activity';
import { messageOf } from '../../domain/errors.js';
import { readAtMost, type StorePort } from '../../cloud/store/port.js';
import { CONNECT, readSetUpRecord, type SetUpRecord, type SetUpStepRecord } from '../../domain/set-up-record.js';
import { MOST_NAMED, type UnreadyHost, type UnreadyHosts } from '../../domain/job-events/causes.js';
import type { AttemptInput } from '../../contract/job-activities.js';
import { hostsOf, placeOf } from './attempt-hosts.js';
import { largest } from '../../domain/extremes.js';

export type SetUpNews = Pick<SetUpRecord, 'modules' | 'hosts' | 'ready'>;

export interface JournalOptions {
  readonly store: StorePort;
  readonly input: AttemptInput;
  /** Object of the record. */
  readonly object: string;
  readonly modules: readonly string[];
  /** Gets the progress of the hosts, at growing intervals and only when it has changed. It must handle its own failures. */
  readonly tell: (news: SetUpNews) => void;
}

/**
 * The set-up of an attempt, host by host and step by step, on its way into the store and to the workflow. Kept cheap: the object
 * is written at most every `WRITE_MS` while something changes and once at the end. The workflow hears after `FIRST_NEWS_MS`, so
 * that a quick set-up costs it nothing, and then less and less often.
 */
export class SetUpJournal {
  readonly #options: JournalOptions;
  readonly #rows = new Map<string, SetUpStepRecord>();
  readonly #ready = new Map<string, Set<number>>();
  readonly #startedAt: number;
  readonly #hosts: number;
  readonly #timer: NodeJS.Timeout;
  #newsAt = Date.now() + FIRST_NEWS_MS;
  #newsPauseMs = FIRST_NEWS_MS;
  #told = '';
  #isDirty = false;
  #writing: Promise<void> = Promise.resolve();

  private constructor(options: JournalOptions, earlier: SetUpRecord | undefined) {
    this.#options = options;
    this.#startedAt = earlier?.startedAt ?? Date.now();
    for (const row of earlier?.steps ?? []) this.#rows.set(keyOf(row.host, row.module, row.step), row);
    this.#hosts = hostsOf(options.input).length;
    this.#timer = setInterval(() => this.#tick(), WRITE_MS);
  }

  /**
   * Continues another worker's record of this attempt, so that the number of times that a step was tried is not lost with that
   * worker.
   */
  static async open(options: JournalOptions): Promise<SetUpJournal> {
    const stored = await readAtMost(options.store, options.object).catch((error: unknown) => {
      log.warn(`an earlier record of the set-up could not be read: ${messageOf(error)}`);
      return undefined;
    });
    const earlier = stored && readSetUpRecord(stored.toString());
    return new SetUpJournal(options, earlier?.endedAt === undefined ? earlier : undefined);
  }

  /** Number of times that the step was begun on this host in this attempt. */
  tries(host: number, module: string, step: string): number {
    return this.#rows.get(keyOf(host, module, step))?.tries ?? 0;
  }

  began(host: number, module: string, step: string): void {
    const earlier = this.#rows.get(keyOf(host, module, step));
    const again = earlier && { firstStartedAt: earlier.firstStartedAt ?? earlier.startedAt };
    this.#set({ host, module, step, startedAt: Date.now(), ...again, tries: (earlier?.tries ?? 0) + 1 });
  }

  ended(host: number, module: string, step: string, code: number): void {
    const row = this.#rows.get(keyOf(host, module, step)) ?? { host, module, step, startedAt: Date.now(), tries: 1 };
    this.#set({ ...row, endedAt: Date.now(), code, outcome: code === 0 ? 'done' : 'failed' });
  }

  /** @param since time at which the call began in which its check ran */
  ready(host: number, module: string, kind: 'unchanged' | 'done', since: number): void {
    if (kind === 'unchanged') {
      const row = { host, module, step: 'check', startedAt: since, endedAt: Date.now(), code: 0, tries: 1 };
      this.#set({ ...row, outcome: kind });
    }
    const hosts = this.#ready.get(module) ?? new Set();
    this.#ready.set(module, hosts.add(host));
  }

  /** The module that this host is at or comes to next; undefined: all are ready. */
  firstUnready(host: number): string | undefined {
    return this.#unready(host)[0];
  }

  /** The hosts that are not ready now, with the step of each of the slowest. */
  unready(): UnreadyHosts {
    const hosts = hostsOf(this.#options.input);
    const waiting = hosts.flatMap(({ number, target }) => {
      const place = this.#placeOf(number);
      return place === undefined ? [] : [{ ...placeOf(target), ...place }];
    });
    const slowest = waiting.toSorted((a, b) => b.forMs - a.forMs).slice(0, MOST_NAMED);
    return { hosts: hosts.length, ready: hosts.length - waiting.length, slowest };
  }

  /** Undefined: the host is ready. */
  #placeOf(host: number): Omit<UnreadyHost, 'slice' | 'host'> | undefined {
    const rows = [...this.#rows.values()].filter((row) => row.host === host);
    const connect = rows.find(({ module }) => module === CONNECT);
    if (connect?.endedAt === undefined) return this.#atStep(connect, CONNECT);
    const unready = this.#unready(host);
    const [first] = unready;
    if (first === undefined) return undefined;
    // It may be a step of a later module, whose file does not arrive.
    const last = rows
      .filter((row) => unready.includes(row.module))
      .reduce<SetUpStepRecord | undefined>((a, b) => (a !== undefined && a.startedAt > b.startedAt ? a : b), undefined);
    if (last !== undefined) return this.#atStep(last, last.module);
    const since = largest(rows.map(({ startedAt, endedAt }) => endedAt ?? startedAt));
    return { module: first, step: 'check', forMs: Date.now() - since, tries: 1 };
  }

  /** Modules that are not ready on this host, in order. */
  #unready(host: number): readonly string[] {
    return this.#options.modules.filter((name) => this.#ready.get(name)?.has(host) !== true);
  }

  #atStep(row: SetUpStepRecord | undefined, module: string): Omit<UnreadyHost, 'slice' | 'host'> {
    if (row === undefined) return { module, step: module, forMs: Date.now() - this.#startedAt, tries: 1 };
    const { step, tries, outcome, code } = row;
    const since = row.firstStartedAt ?? row.startedAt;
    const failed = outcome === 'failed' && code !== undefined ? { code } : {};
    return { module, step, forMs: Date.now() - since, tries, ...failed };
  }

  /**
   * Ends the writing. `ended`: with the final record. `handed-over`: as it stands, for the worker that goes on. `taken`: another
   * worker goes on already, and has the record.
   */
  async close(how: 'ended' | 'handed-over' | 'taken'): Promise<void> {
    clearInterval(this.#timer);
    await this.#writing;
    if (how !== 'taken') await this.#write({ ...this.#record(), ...(how === 'ended' ? { endedAt: Date.now() } : {}) });
  }

  #set(row: SetUpStepRecord): void {
    this.#rows.set(keyOf(row.host, row.module, row.step), row);
    this.#isDirty = true;
  }

  #tick(): void {
    this.#tellNews();
    if (!this.#isDirty) return;
    this.#isDirty = false;
    this.#writing = this.#writing.then(() => this.#write(this.#record()));
  }

  #tellNews(): void {
    const news = this.#record();
    const text = JSON.stringify(news.ready);
    if (Date.now() < this.#newsAt || text === this.#told) return;
    this.#told = text;
    this.#newsAt = Date.now() + this.#newsPauseMs;
    this.#newsPauseMs = Math.min(this.#newsPauseMs * 2, LONGEST_NEWS_MS);
    this.#options.tell({ modules: news.modules, hosts: news.hosts, ready: news.ready });
  }

  #record(): SetUpRecord {
    const ready = Object.fromEntries([...this.#ready].map(([module, hosts]) => [module, hosts.size]));
    const { modules } = this.#options;
    return { v: 1, modules, hosts: this.#hosts, startedAt: this.#startedAt, ready, steps: [...this.#rows.values()] };
  }

  /** The record is for people: a set-up neither waits for it nor fails with it. */
  async #write(record: SetUpRecord): Promise<void> {
    const { store, object } = this.#options;
    try {
      await store.replace(object, JSON.stringify(record), 'application/json');
    } catch (error) {
      log.warn(`the record of the set-up could not be stored: ${messageOf(error)}`);
    }
  }
}

const WRITE_MS = 3_000;
const FIRST_NEWS_MS = 5_000;
const LONGEST_NEWS_MS = 60_000;

const keyOf = (host: number, module: string, step: string): string => `${host}/${module}/${step}`;
