import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import { janitorScheduleId } from '../contract/janitor.js';
import { messageOf } from '../domain/errors.js';
import { sweepLookObject } from '../domain/store-layout.js';
import type { Log } from './accounts.js';
import type { ActivityDependencies } from './dependencies.js';
import { isSweepNeeded } from './janitor.js';

/**
 * Looks every `sweepLookMs` whether the janitor would have something to do, and starts its sweep then, which otherwise comes once an
 * hour (docs/adr/0152). A look lists and describes, which costs no action of Temporal's. Of an installation's workers one looks each
 * time: the one that has made or replaced the mark in the store.
 */
export class SweepWatch {
  readonly #client: Client;
  readonly #dependencies: ActivityDependencies;
  readonly #log: Log;
  #problem: string | undefined;

  constructor(client: Client, dependencies: ActivityDependencies, log: Log) {
    this.#client = client;
    this.#dependencies = dependencies;
    this.#log = log;
  }

  /** Ends with the signal. Never rejects. */
  async run(stop: AbortSignal): Promise<void> {
    const { sweepLookMs } = this.#dependencies.installation.timings;
    while (!stop.aborted) {
      await sleep(sweepLookMs, undefined, { signal: stop, ref: false }).catch(() => undefined);
      if (!stop.aborted) await this.look();
    }
  }

  /** Each problem is logged once. */
  async look(): Promise<void> {
    const { meter, installation } = this.#dependencies;
    try {
      if (!(await this.#isOurTurn())) return;
      const schedule = this.#client.schedule.getHandle(janitorScheduleId(installation.taskQueue));
      const { state } = await schedule.describe();
      // Without a sweep that could follow, the look does not count as one: the alert for a silent janitor is to ring.
      if (state.paused) throw new Error('its schedule is paused');
      if (await isSweepNeeded(this.#client, this.#dependencies, this.#log)) await schedule.trigger();
      else meter.swept({ reclaimed: [], unknown: [], stuck: [] });
      this.#problem = undefined;
    } catch (error) {
      const problem = messageOf(error);
      if (problem !== this.#problem) this.#log.warn(`the janitor looks at nothing: ${problem}`);
      this.#problem = problem;
    }
  }

  async #isOurTurn(): Promise<boolean> {
    const { store, installation } = this.#dependencies;
    const mark = await store.stat(sweepLookObject);
    if (mark !== undefined && Date.now() - mark.updatedAt < installation.timings.sweepLookMs / 2) return false;
    const expected = mark === undefined ? 'absent' : { generation: mark.generation };
    const content = JSON.stringify({ at: Date.now(), by: installation.claimedQueue });
    return (await store.write(sweepLookObject, content, expected)).kind === 'written';
  }
}
