import { setTimeout as sleep } from 'node:timers/promises';
import type { MachineRow, MachineVerb } from '../../../contract/machines.js';
import { POOL } from '../parts.js';
import type { Stage } from '../stage.js';

/** Sends an operator's command about machines, as `jobctl machines` does. */
export async function operatorSays(
  { stack }: Stage,
  verb: MachineVerb,
  names: readonly string[],
): Promise<readonly MachineRow[]> {
  return (await stack.jobs.machines(POOL).call({ verb, names, by: 'operator', reason: 'chaos' })).machines;
}

const NOT_PUT_BACK: ReadonlySet<MachineRow['state']> = new Set(['drained', 'aside', 'silent', 'foreign']);
const TOUR_MS = 3_000;

/** An operator who puts machines back once all faults have ended. Call `tour` again and again. */
export class Operator {
  readonly #stage: Stage;
  #nextAt = 0;

  constructor(stage: Stage) {
    this.#stage = stage;
  }

  /** Looks every few seconds. A failure is ignored: a worker that has just been started answers later. */
  async tour(): Promise<void> {
    const { rack } = this.#stage.stack;
    if (rack === undefined || Date.now() < this.#nextAt) return;
    try {
      const rows = await operatorSays(this.#stage, 'ls', []);
      const named = (isOf: (row: MachineRow) => boolean): readonly string[] =>
        rows.filter(isOf).map(({ name }) => name);
      const drained = named(({ state }) => state === 'drained');
      const others = named(({ state }) => NOT_PUT_BACK.has(state));
      if (drained.length > 0) await operatorSays(this.#stage, 'undrain', drained);
      if (others.length > 0) {
        const after = await operatorSays(this.#stage, 'check', others);
        const text = after.map(({ name, state, problem = '' }) => `${name} ${state} ${problem}`.trim()).join('; ');
        this.#stage.note('note', `an operator puts back ${others.join(', ')}: ${text}`);
      }
    } catch {
      await sleep(500);
    }
    this.#nextAt = Date.now() + TOUR_MS;
  }
}
