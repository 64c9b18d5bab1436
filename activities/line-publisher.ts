import { performance } from 'node:perf_hooks';
import { setImmediate as otherWork } from 'node:timers/promises';
import type { StorePort } from '../cloud/store/port.js';
import { poolLineObject } from '../domain/store-layout.js';
import { explainedLine } from '../quota/explanation/explained-line.js';
import { type PackedPoolState, unpackState } from '../quota/published-state.js';
import type { WaitingLine } from '../quota/waiting-line.js';
import { NewestObject } from './newest-object.js';

/** Of this worker's time, so much at most goes into a line: what a slice's supervision needs comes first. */
const MOST_OF_TIME = 1 / 10;
/** After so long the worker's other work has its turn. */
const STEP_MS = 20;

/**
 * Writes where the jobs of one pool stand, from its state: a pass of the decision and an explanation for each kind of waiting
 * job, once for all who look (docs/adr/0024). Of a large pool it takes part of a second, so the next one is made ten times
 * as much later; the comparison of leases, every 30 s while anybody waits, makes up for those that were left out.
 */
export class LinePublisher {
  readonly #object: NewestObject;
  /** As of `performance.now()`. */
  #notBefore = 0;
  #wasEmpty = false;

  constructor(store: StorePort, pool: string) {
    this.#object = new NewestObject(store, poolLineObject(pool));
  }

  /** Rejects with the store's errors. */
  async publish(state: PackedPoolState): Promise<void> {
    const isEmpty = state.requests.length === 0;
    // Nobody waits: that is told at once, and once.
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
        this.#notBefore = performance.now() + (spentMs + ms) / MOST_OF_TIME;
        return step.value;
      }
      if (ms < STEP_MS) continue;
      spentMs += ms;
      await otherWork();
      start = performance.now();
    }
  }
}
