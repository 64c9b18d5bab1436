import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import type { Written } from '../cloud/store/port.js';
import { janitorScheduleId } from '../contract/janitor.js';
import { messageOf } from '../domain/errors.js';
import { sweepLookObject } from '../domain/store-layout.js';
import type { Log } from './accounts.js';
import { compactReports } from './counted.js';
import type { ActivityDependencies } from './dependencies.js';
import { isSweepNeeded } from './janitor.js';
import { TerminatedJobs } from './terminated.js';

/**
 * Looks at the worker's start and then every `sweepLookMs` whether the janitor would have something to do, and starts its sweep
 * then, which otherwise comes once an hour (docs/adr/0152). A look lists and describes, which costs no action of Temporal's. Of
 * an installation's workers one looks each time: the one that has made or replaced the mark in the store. A look that fails frees
 * the mark, so the next worker looks at its own time. If the store takes no mark, every worker looks.
 */
export class SweepWatch {
  readonly #client: Client;
  readonly #dependencies: ActivityDependencies;
  readonly #log: Log;
  readonly #terminated: TerminatedJobs;
  #compactedAt = 0;
  /** Last problem of each step. */
  readonly #problems = new Map<string, string>();

  constructor(client: Client, dependencies: ActivityDependencies, log: Log) {
    this.#client = client;
    this.#dependencies = dependencies;
    this.#log = log;
    const { store, installation } = dependencies;
    this.#terminated = new TerminatedJobs(client, store, installation.taskQueue);
  }

  /** Ends with the signal. Never rejects. */
  async run(stop: AbortSignal): Promise<void> {
    const { sweepLookMs } = this.#dependencies.installation.timings;
    while (!stop.aborted) {
      await this.look();
      await sleep(sweepLookMs, undefined, { signal: stop, ref: false }).catch(() => undefined);
    }
  }

  /** Never rejects. Each problem is logged once. */
  async look(): Promise<void> {
    const mark = await this.#attempt('the janitor looks on each worker, without a mark', () => this.#takeMark());
    if (mark?.kind === 'conflict') return;
    const isDone = await this.#attempt('the janitor looks at nothing', () => this.#lookAround());
    await this.#attempt('terminated jobs are not counted', () => this.#terminated.count(Date.now()));
    await this.#attempt('the day files of ended jobs are not compacted', () => this.#compact());
    if (isDone === undefined && mark !== undefined) await this.#free(mark).catch(() => undefined);
  }

  /** Undefined if it failed. */
  async #attempt<T>(without: string, act: () => Promise<T>): Promise<T | undefined> {
    try {
      const result = await act();
      this.#problems.delete(without);
      return result;
    } catch (error) {
      const problem = messageOf(error);
      if (problem !== this.#problems.get(without)) this.#log.warn(`${without}: ${problem}`);
      this.#problems.set(without, problem);
      return undefined;
    }
  }

  /** Makes one object of each past day's many (docs/adr/0162): by the worker that looks, once an hour at most. */
  async #compact(): Promise<void> {
    const now = Date.now();
    if (now - this.#compactedAt < COMPACT_EVERY_MS) return;
    this.#compactedAt = now;
    await compactReports(this.#dependencies.store, now);
  }

  async #lookAround(): Promise<'done'> {
    const { meter, installation } = this.#dependencies;
    const schedule = this.#client.schedule.getHandle(janitorScheduleId(installation.taskQueue));
    const { state } = await schedule.describe();
    // Without a sweep that could follow, the look does not count as one: the alert for a silent janitor is to ring.
    if (state.paused) throw new Error('its schedule is paused');
    if (await isSweepNeeded(this.#client, this.#dependencies, this.#log)) await schedule.trigger();
    else meter.swept({ reclaimed: [], unknown: [], stuck: [] });
    return 'done';
  }

  /** `conflict`: another worker looks, or has looked lately. */
  async #takeMark(): Promise<Written> {
    const { store, installation } = this.#dependencies;
    const mark = await store.stat(sweepLookObject);
    const isFresh = mark !== undefined && Date.now() - mark.updatedAt < installation.timings.sweepLookMs / 2;
    if (isFresh && mark.size > 0) return { kind: 'conflict' };
    const expected = mark === undefined ? 'absent' : { generation: mark.generation };
    const content = JSON.stringify({ at: Date.now(), by: installation.claimedQueue });
    return store.write(sweepLookObject, content, expected);
  }

  /** Empties the mark, so that it belongs to no worker. */
  async #free({ generation }: Extract<Written, { kind: 'written' }>): Promise<void> {
    await this.#dependencies.store.write(sweepLookObject, '', { generation });
  }
}

const COMPACT_EVERY_MS = 3_600_000;
