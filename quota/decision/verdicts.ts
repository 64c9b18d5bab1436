import type { QuotaRequest } from '../quota-config.js';
import { wantedTypes } from './serving.js';
import { ServiceOrder } from './order-of-service.js';
import type { DecisionPass } from './pass.js';
import { unitsOf } from '../../domain/units.js';
import { mayLieIn } from './shapes.js';
import type { Outcome, TierProblem, Verdict } from './verdict.js';
import { isInQuota, isWaiting } from './waiting.js';
import type { WaitingRequest } from './waiting.js';

/** Reasons for the decisions of one run of the rules, found on demand. */
export class Verdicts {
  readonly #run: DecisionPass;
  readonly #isFrozen: boolean;
  #line: readonly QuotaRequest[] | undefined;
  #positions: ReadonlyMap<string, number> | undefined;
  #wanted: ReadonlySet<string> | undefined;

  constructor(run: DecisionPass, isFrozen: boolean) {
    this.#run = run;
    this.#isFrozen = isFrozen;
  }

  /**
   * Requests that go on waiting, in the order of the next pass: in-quota demand, reservations, best effort, and those that cool
   * down everywhere.
   */
  get line(): readonly QuotaRequest[] {
    if (this.#line !== undefined) return this.#line;
    const parts: WaitingRequest[][] = [[], [], [], []];
    for (const each of this.#run.state.waiting) if (isWaiting(each)) parts[this.#partOf(each)]?.push(each);
    this.#line = parts.flatMap((part) => inOrder(part).map(({ request }) => request));
    return this.#line;
  }

  of(id: string): Verdict | undefined {
    const waiting = this.#run.waitingOf(id);
    if (waiting === undefined) return undefined;
    const { config } = this.#run.state;
    return {
      request: waiting.request,
      position: this.#positionOf(id),
      isInQuota: isInQuotaAnywhere(waiting),
      outcome: this.#outcomeOf(waiting),
      problems: isWaiting(waiting) ? config.tiers.flatMap((_, tier) => this.#problems(waiting, tier)) : [],
    };
  }

  #positionOf(id: string): number {
    this.#positions ??= new Map(this.line.map((request, index) => [request.id, index + 1]));
    return this.#positions.get(id) ?? 0;
  }

  #partOf(waiting: WaitingRequest): number {
    const { kind, request } = waiting;
    if (kind.shape.tiers.some((tier) => !kind.shape.coolingUntil.has(tier) && isInQuotaIn(waiting, tier))) return 0;
    if (this.#run.reservations.of(request.id) !== undefined) return 1;
    const { tiers, coolingUntil } = kind.shape;
    return tiers.length > 0 && tiers.every((tier) => coolingUntil.has(tier)) ? 3 : 2;
  }

  #outcomeOf({ served, kind, request }: WaitingRequest): Outcome {
    if (this.#isFrozen) return { kind: 'frozen' };
    if (served !== undefined) return served;
    if (kind.blocked?.kind === 'held-back') {
      return { ...kind.blocked, until: this.#run.holdBacks.until(request.id) };
    }
    const reservation = this.#run.reservations.of(request.id);
    if (reservation === undefined) return { kind: 'passed-over' };
    const { tier, madeAt } = reservation;
    return { kind: 'collecting', tier, madeAt, until: this.#run.reservations.endOf(reservation) };
  }

  #problems(waiting: WaitingRequest, tier: number): readonly TierProblem[] {
    const { config } = this.#run.state;
    const { request, kind } = waiting;
    if (!mayLieIn(config, request, tier)) return [{ kind: 'pricing', tier }];
    const total = config.tiers[tier] ?? {};
    const tooLarge = Object.entries(request.units).filter(([type, asked]) => asked > unitsOf(total, type));
    if (tooLarge.length > 0) {
      return tooLarge.map(([type]) => ({ kind: 'size', tier, type, has: unitsOf(total, type) }));
    }
    const until = kind.shape.coolingUntil.get(tier);
    const cooling: readonly TierProblem[] = until === undefined ? [] : [{ kind: 'cool-down', tier, until }];
    return [
      ...cooling,
      ...this.#roomProblems(waiting, tier),
      ...this.#crowdProblems(waiting, tier),
      ...(isInQuotaIn(waiting, tier) ? [] : this.#run.state.limits.problems(kind, tier)),
      ...(until === undefined ? [] : this.#othersFirst(waiting, tier)),
    ];
  }

  #roomProblems({ kind: { shape } }: WaitingRequest, tier: number): readonly TierProblem[] {
    const { room, shapes } = this.#run.state;
    const { free, reserved, claimed, draining } = room.of(tier);
    return shape.types.flatMap((type, index): TierProblem[] => {
      const asked = shape.amounts[index] ?? 0;
      const there = { free: free[type] ?? 0, reserved: reserved[type] ?? 0, claimed: claimed[type] ?? 0 };
      if (asked <= there.free) return [];
      const name = shapes.types[type] ?? '';
      return [{ kind: 'room', tier, type: name, asked, ...there, draining: draining[type] ?? 0 }];
    });
  }

  #crowdProblems({ kind, served }: WaitingRequest, tier: number): readonly TierProblem[] {
    const { shape, project, priority } = kind;
    if (served !== undefined || !project.isCovered(shape, priority) || isInQuota(kind, tier)) return [];
    const { room, shapes } = this.#run.state;
    const { total, beside } = room.of(tier);
    return shape.types.flatMap((type, index): TierProblem[] => {
      const left = beside[type] ?? 0;
      if ((shape.amounts[index] ?? 0) <= left) return [];
      return [{ kind: 'crowded', tier, type: shapes.types[type] ?? '', within: (total[type] ?? 0) - left }];
    });
  }

  #othersFirst({ kind: { shape } }: WaitingRequest, tier: number): readonly TierProblem[] {
    const wanted = (this.#wanted ??= wantedTypes(this.#run.state));
    const types = shape.types.filter((type) => wanted.has(`${tier}/${type}`));
    return types.map((type) => ({ kind: 'after-others', tier, type: this.#run.state.shapes.types[type] ?? '' }));
  }
}

const isInQuotaAnywhere = (waiting: WaitingRequest): boolean =>
  waiting.kind.shape.tiers.some((tier) => isInQuotaIn(waiting, tier));

/** Whether the request is in quota at the end of the pass. Requests served before it may have taken its nominal quota. */
function isInQuotaIn({ kind, served }: WaitingRequest, tier: number): boolean {
  if (served !== undefined) return served.kind !== 'granted' && 'tier' in served && served.tier === tier;
  if (kind.blocked?.kind === 'held-back' && kind.blocked.tier === tier) return true;
  return isInQuota(kind, tier);
}

function inOrder(waiting: readonly WaitingRequest[]): readonly WaitingRequest[] {
  const order = new ServiceOrder(waiting, () => false);
  const line: WaitingRequest[] = [];
  for (let next = order.next(); next !== undefined; next = order.next()) line.push(next);
  return line;
}
