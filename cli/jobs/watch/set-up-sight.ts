import type { StoreReader } from '../../../cloud/store/port.js';
import { JobPhase } from '../../../domain/job-state.js';
import type { JobRow } from '../../../client/job-rows.js';
import { setUpReason, withReason } from '../job-reasons.js';
import type { Screen } from './screen.js';

/** The worker writes its record at this interval. */
const LOOK_MS = 3_000;
/** A pipe keeps every line. */
const PLAIN_MS = 30_000;

/** Progress of the set-up of a watched job. It reads the store concurrently, so that watching never waits for it. */
export class SetUpSight {
  readonly #store: Pick<StoreReader, 'read'> | undefined;
  readonly #screen: Screen;
  #isLooking = false;
  #lookedAt = 0;
  #reason: string | undefined;
  #of: string | undefined;
  #toldAt = Date.now();
  #told: string | undefined;

  constructor(store: Pick<StoreReader, 'read'> | undefined, screen: Screen) {
    this.#store = store;
    this.#screen = screen;
  }

  /** The row as shown. Starts a read if one is due. */
  seen(row: JobRow): JobRow {
    if (this.#store === undefined || row.phase !== JobPhase.SettingUp) return row;
    const of = `${row.attempts} ${row.phaseSince}`;
    if (of !== this.#of) this.#reason = undefined;
    this.#of = of;
    if (!this.#isLooking && Date.now() - this.#lookedAt >= LOOK_MS) void this.#look(this.#store, row, of);
    const shown = withReason(row, this.#reason);
    this.#tellPlain(shown);
    return shown;
  }

  async #look(store: Pick<StoreReader, 'read'>, row: JobRow, of: string): Promise<void> {
    this.#isLooking = true;
    // The last known reason stays: an unavailable store says nothing about the set-up.
    const reason = await setUpReason(store, row).catch(() => this.#reason);
    this.#isLooking = false;
    this.#lookedAt = Date.now();
    if (of === this.#of) this.#reason = reason;
  }

  #tellPlain({ why, phase }: JobRow): void {
    const isDue = this.#reason !== this.#told && Date.now() - this.#toldAt >= PLAIN_MS;
    if (this.#screen.look.isLive || this.#reason === undefined || !isDue) return;
    this.#told = this.#reason;
    this.#toldAt = Date.now();
    this.#screen.line({ plain: `${this.#screen.look.symbols.now} ${phase}: ${why ?? ''}` });
  }
}
