import { SHUTDOWN_PATIENCE_MS } from '../../domain/recovery/decisions.js';
import { begin, next } from '../../domain/recovery/supervision.js';
import type { Effect, News, SupervisedEnd, Supervision } from '../../domain/recovery/supervision-state.js';
import { GRACE_MS, type Processes } from './processes.js';
import type { VirtualCloud } from './virtual-cloud.js';

/** A stop is over after this time, even if no process has ended. */
export const STOP_MS = 2 * GRACE_MS;

/** Supervises one attempt on one slice by the shipped rules, with the virtual cloud's time and the model's processes. */
export class ModelSupervision {
  readonly #cloud: VirtualCloud;
  readonly #processes: Processes;
  #state: Supervision;
  /** When the supervision first did more than look at the processes; undefined before that. */
  #decidesSince: number | undefined;
  /** The answer to the last effect, and the time at which it arrives. */
  #awaited: { readonly answer: News; readonly until: number; readonly isEarly?: () => boolean } | undefined;

  constructor(cloud: VirtualCloud, processes: Processes, hosts: number) {
    [this.#cloud, this.#processes] = [cloud, processes];
    const places = Array.from({ length: hosts }, (_, host) => ({ slice: 0, host }));
    this.#state = begin({ hosts: places, isLed: false, success: 'all' });
  }

  get isDeciding(): boolean {
    return this.#decidesSince !== undefined;
  }

  /**
   * @param loss evidence that the slice is lost
   * @returns the end of the attempt, once there is one
   */
  step(loss: 'preempted' | 'failed' | undefined): SupervisedEnd | undefined {
    for (const end of this.#processes.ends)
      if (!this.#state.stored.some(({ at }) => at.host === end.at.host))
        this.#hear({ of: 'host', end, isStored: true });
    if (loss !== undefined && this.#state.lost.length === 0)
      this.#hear({ of: 'loss', slice: { index: 0, cause: loss, message: '' } });
    const { answer, until = 0, isEarly } = this.#awaited ?? {};
    if (answer !== undefined && (isEarly?.() || this.#cloud.now >= until)) {
      this.#awaited = undefined;
      this.#hear(answer);
    }
    return this.#state.step.at === 'over' ? this.#state.step.end : undefined;
  }

  #hear(news: News): void {
    const { state, effects } = next(this.#state, news);
    this.#state = state;
    if (state.step.at !== 'running') this.#decidesSince ??= this.#cloud.now;
    for (const effect of effects) this.#do(effect);
  }

  #do(effect: Effect): void {
    const { now } = this.#cloud;
    const lookUntil = (this.#decidesSince ?? now) + SHUTDOWN_PATIENCE_MS;
    switch (effect.do) {
      case 'stop':
        this.#processes.stop('{"v":1,"cause":"attempt"}');
        this.#awaited = { answer: { of: 'stopped' }, until: now + STOP_MS, isEarly: () => this.#processes.areOver };
        break;
      case 'wait':
        this.#awaited = { answer: { of: 'wait over', step: effect.step }, until: now + effect.ms };
        break;
      case 'look at slices':
        // A loss that is seen meanwhile is reported separately.
        this.#awaited = {
          answer: { of: 'look', isLost: false },
          until: effect.patience === 'shutdown' ? lookUntil : now,
        };
        break;
      case 'read stored ends':
        this.#awaited = { answer: { of: 'stored ends', ends: [] }, until: now };
        break;
      case 'end rest':
        this.#awaited = { answer: { of: 'rest ended' }, until: now };
        break;
      // Without effect here: the hosts of the one slice are taken together, and print all the time.
      case 'tell gang':
      case 'tell left':
      case 'store stacks':
    }
  }
}
