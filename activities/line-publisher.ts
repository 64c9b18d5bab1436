import { performance } from 'node:perf_hooks';
import { setImmediate as otherWork } from 'node:timers/promises';
import type { StorePort } from '../cloud/store/port.js';
import { poolLineObject } from '../domain/store-layout.js';
import { explainedLine } from '../quota/explanation/explained-line.js';
import { type PackedPoolState, unpackState } from '../quota/published-state.js';
import type { WaitingLine } from '../quota/waiting-line.js';
import { NewestObject } from './newest-object.js';

/** Most of this worker's time that goes into a line: the supervision of slices comes first. */
const MOST_OF_TIME = 1 / 10;
/** After this long the worker's other work has its turn. */
const STEP_MS = 20;

/**
 * Writes the waiting line of one pool, from its state: a pass of the decision and an explanation for each kind of waiting job,
 * once for all readers (docs/adr/0024). For a large pool it takes part of a second, so the next line is made ten times that long
 * later. The comparison of leases, every 30 s while any job waits, makes up for lines that were left out.
 */
export class LinePublisher {
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
