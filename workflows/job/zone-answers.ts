import type { ZoneAnswer } from '../../contract/job.js';
import { MOST_ANSWER } from '../../domain/lease.js';
import type { RefusalScope } from '../../domain/slice.js';
import { boundedLine } from '../../domain/visible-text.js';

/** The last refusal of each zone since the slices of the job were last all ready. State only; it grows with zones alone. */
export class ZoneAnswers {
  readonly #last: Map<string, ZoneAnswer>;
  readonly #asked: Set<string>;

  constructor(carry: readonly ZoneAnswer[] = [], asked: readonly string[] = []) {
    this.#last = new Map(carry.map((answer) => [answer.zone, answer]));
    this.#asked = new Set(asked);
  }

  /** The zone is asked. */
  asks(zone: string): void {
    this.#asked.add(zone);
  }

  /** Zones that were asked since the slices of the job were last all ready. */
  get asked(): readonly string[] {
    return [...this.#asked];
  }

  note(zone: string, { scope, message }: { readonly scope: RefusalScope; readonly message: string }): void {
    this.#last.set(zone, { zone, at: Date.now(), scope, message: boundedLine(message, MOST_ANSWER) });
  }

  /** All slices are ready. */
  clear(): void {
    this.#last.clear();
    this.#asked.clear();
  }

  get all(): readonly ZoneAnswer[] {
    return [...this.#last.values()];
  }

  /** The answers in words, each shortened. Empty: there are none. @param but zones that are left out */
  text(but: readonly string[] = []): string {
    return this.all
      .filter(({ zone }) => !but.includes(zone))
      .map(
        ({ zone, scope, message }) =>
          `${zone} refused${RIGHTS.has(scope) ? ', a right is missing' : ''}: ${boundedLine(message, MOST_SHOWN)}`,
      )
      .join('; ');
  }
}

const MOST_SHOWN = 160;
const RIGHTS: ReadonlySet<RefusalScope> = new Set(['permission', 'installation']);
