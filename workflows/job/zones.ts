import { askedMachines } from '../../domain/machines.js';
import type { EpochMs } from '../../domain/units.js';
import type { ZoneAnswer } from '../../contract/job.js';
import { MOST_ANSWER } from '../../domain/lease.js';
import type { RefusalScope } from '../../domain/slice.js';
import { boundedLine } from '../../domain/outside-text.js';
import type { JobFile } from './job-file.js';

/** State about its zones in a job that takes any zone. */
export interface ZonesCarry {
  /** The pool's last order, the best first. Absent: the pool has not given one. */
  readonly order?: readonly string[];
  /** Zones that were asked since all slices were last ready, or since each of them had its turn. */
  readonly asked?: readonly string[];
  /** Time at which the provider took all slices in a zone. */
  readonly preemptedAt?: Readonly<Record<string, EpochMs>>;
  /** A person chose the present zone. */
  readonly isChosen?: true;
}

/**
 * The zones of a job. A try is a number that counts through the zones, round after round. Zones of a list are asked in its order.
 * With `zones: any`, each zone also has one turn in a round, the best first, as the pool sees them. Zones that were asked in this
 * round come later. Among the others, a zone that preempted this job lately comes last (docs/adr/0119).
 */
export class Zones {
  #current: number;
  #order: readonly string[];
  readonly #asked: Set<string>;
  readonly #preemptedAt: Map<string, EpochMs>;
  #isChosen: boolean;
  /** The pool's order is newer than the choice of the present zone. */
  #isOrderNew = false;
  readonly #file: JobFile;

  constructor(file: JobFile, current = 0, carry: ZonesCarry = {}) {
    this.#file = file;
    this.#current = current;
    this.#order = carry.order ?? [];
    this.#asked = new Set(carry.asked);
    this.#preemptedAt = new Map(Object.entries(carry.preemptedAt ?? {}));
    this.#isChosen = carry.isChosen ?? false;
  }

  /** The try whose slices are the job's own. */
  get current(): number {
    return this.#current;
  }

  get zone(): string {
    return this.of(this.#current);
  }

  get #zones(): readonly string[] {
    return askedMachines(this.#file.spec).zones;
  }

  get #isAny(): boolean {
    return askedMachines(this.#file.spec).isAnyZone === true;
  }

  of(zoneTry: number): string {
    const zones = this.#zones;
    return zones[zoneTry % zones.length] as string;
  }

  /** The other tries of one round, the next first. */
  get others(): readonly number[] {
    const others = Array.from({ length: this.#zones.length - 1 }, (_, at) => this.#current + 1 + at);
    return this.#isAny ? this.#ordered(others) : others;
  }

  follow(zoneTry: number): void {
    this.#turn(this.zone);
    this.#current = zoneTry;
  }

  /** @throws RangeError for a zone that the job does not name */
  begin(zone: string): void {
    const next = [this.#current, ...this.others].find((each) => this.of(each) === zone);
    if (next === undefined) throw new RangeError(`'${zone}' is none of the job's zones`);
    this.#current = next;
    this.#isChosen = this.#isAny;
  }

  /** Leaves the zone: the next slices are asked for in the next zone. */
  leave(): void {
    this.#turn(this.zone);
    this.#current = this.others[0] ?? this.#current + 1;
    this.#isOrderNew = false;
    this.#isChosen = false;
  }

  /** Notes that the zone has had its turn: it is asked beside the first, or was asked and is left. */
  turn(zoneTry: number): void {
    this.#turn(this.of(zoneTry));
  }

  // For a job that takes any zone ------------------------------------------------------------------------------------

  /** @param order the pool's order, the best first */
  advise(order: readonly string[]): void {
    this.#order = order;
    this.#isOrderNew = true;
  }

  /** Begins in the best zone, if the pool has sent a new order and no person chose a zone. Called while nothing is asked for. */
  choose(): void {
    const isFree = this.#isAny && this.#isOrderNew && !this.#isChosen;
    this.#isOrderNew = false;
    this.#isChosen = false;
    if (isFree) this.#current = this.#ordered([this.#current, ...this.others])[0] ?? this.#current;
  }

  /** Called when the provider took all slices of the job in the present zone. */
  preempted(now: EpochMs): void {
    if (this.#isAny) this.#preemptedAt.set(this.zone, now);
  }

  /** Called when all slices are ready: a new round begins. */
  settle(): void {
    this.#asked.clear();
    this.#isOrderNew = false;
    this.#isChosen = false;
  }

  #turn(zone: string): void {
    if (!this.#isAny) return;
    this.#asked.add(zone);
    if (this.#zones.every((each) => this.#asked.has(each))) this.#asked.clear();
  }

  #ordered(tries: readonly number[]): readonly number[] {
    const now = Date.now();
    const places = new Map(this.#order.map((zone, at) => [zone, at]));
    const isPreempted = (zone: string): boolean =>
      now - (this.#preemptedAt.get(zone) ?? Number.NEGATIVE_INFINITY) < PREEMPTED_LATELY_MS;
    const rank = (zoneTry: number): readonly number[] => {
      const zone = this.of(zoneTry);
      return [Number(this.#asked.has(zone)), Number(isPreempted(zone)), places.get(zone) ?? places.size];
    };
    const ranks = new Map(tries.map((zoneTry) => [zoneTry, rank(zoneTry)]));
    return tries.toSorted((a, b) => compared(ranks.get(a) ?? [], ranks.get(b) ?? []) || a - b);
  }

  /** Undefined: there is nothing to carry. */
  carry(): ZonesCarry | undefined {
    if (!this.#isAny) return undefined;
    return {
      ...(this.#order.length > 0 && { order: this.#order }),
      ...(this.#asked.size > 0 && { asked: [...this.#asked] }),
      ...(this.#preemptedAt.size > 0 && { preemptedAt: Object.fromEntries(this.#preemptedAt) }),
      ...(this.#isChosen && { isChosen: true }),
    };
  }
}

/** Time for which a preemption counts against a zone, since the zone may do it again. */
const PREEMPTED_LATELY_MS = 60 * 60_000;

function compared(a: readonly number[], b: readonly number[]): number {
  const at = a.findIndex((value, index) => value !== b[index]);
  return at === -1 ? 0 : (a[at] ?? 0) - (b[at] ?? 0);
}

/** The last refusal of each zone since the slices of the job were last all ready. State only; it grows with zones alone. */
export class ZoneAnswers {
  readonly #last: Map<string, ZoneAnswer>;
  readonly #asked: Set<string>;

  constructor(carry: readonly ZoneAnswer[] = [], asked: readonly string[] = []) {
    this.#last = new Map(carry.map((answer) => [answer.zone, answer]));
    this.#asked = new Set(asked);
  }

  /** Notes that the zone is asked. */
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

  /** Called when all slices are ready. */
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
