import { serveBestEffort, serveCoolingDown, serveFree, serveInQuota, serveWinners } from './serving.js';
import { rememberedCoolDowns } from './cool-downs.js';
import { HoldBacks, Reservations } from './reservations.js';
import { nextAt } from './timeouts.js';
import { PassState } from './pass-state.js';
import type { PassInput } from './pass-state.js';
import type { ProjectUsage } from './usage.js';
import type { Decision, QuotaLease, QuotaMemory } from '../quota-config.js';
import { growInQuota, isWaiting, requestsOf } from './waiting.js';
import type { WaitingRequest } from './waiting.js';

/** One pass of the rules over a pool with a quota file. Rule numbers are those of docs/quota.md. */
export class DecisionPass {
  readonly state: PassState;
  readonly reservations: Reservations;
  readonly holdBacks: HoldBacks;
  readonly #leases: readonly QuotaLease[];
  #byId: ReadonlyMap<string, WaitingRequest> | undefined;

  constructor(input: PassInput) {
    this.state = new PassState(input);
    this.#leases = input.leases;
    this.reservations = new Reservations(this.state, (id) => this.waitingOf(id));
    this.holdBacks = new HoldBacks(input.memory.heldBack, this.state, () => this.reservations.ids());
  }

  /** The waiting request with that id. The index is built on first use: most passes never need it. */
  waitingOf(id: string): WaitingRequest | undefined {
    this.#byId ??= new Map(this.state.waiting.map((waiting) => [waiting.request.id, waiting]));
    return this.#byId.get(id);
  }

  /** Serves requests for which chips were freed (rule 7), those that were held back long enough (rule 8), then all by rule 4. */
  serve(): void {
    const means = { state: this.state, holdBacks: this.holdBacks };
    serveWinners(this.#winners(), means);
    serveInQuota(this.#inQuota(this.holdBacks.usedUp()), means);
    this.reservations.collect();
    serveInQuota(this.state.waiting.filter(isInQuotaAndUnserved), means);
    this.#serveGrown();
    serveBestEffort(this.state);
    serveCoolingDown(this.state);
    this.#serveGrown();
  }

  /** Serves requests that came within nominal quota through decisions of this pass. The next pass may come much later. */
  #serveGrown(): void {
    for (let seen = 0; seen !== this.#served;) {
      seen = this.#served;
      const grown = this.state.kinds.filter((kind) => kind.blocked?.kind !== 'held-back' && growInQuota(kind));
      serveFree(grown.flatMap(requestsOf).filter(isInQuotaAndUnserved), this.state);
    }
  }

  get #served(): number {
    return this.state.grants.length + this.state.claimants.length;
  }

  decision(): Decision {
    const { grants, preemptions } = this.state;
    const next = nextAt(this.state, this.#leases, this.reservations, this.holdBacks);
    return { grants, preemptions, memory: this.#memory(), ...(next === undefined ? {} : { nextAt: next }) };
  }

  /** A decision for a frozen pool: nothing is granted. The clocks of held-back requests stand still (rule 10). */
  frozenDecision(): Decision {
    const { memory } = this.state;
    const isKnown = (id: string): boolean => this.waitingOf(id) !== undefined;
    const reservations = memory.reservations.filter(({ id }) => isKnown(id));
    const dissolved = Object.entries(memory.dissolved).filter(([id]) => isKnown(id));
    const winners = memory.winners.filter(isKnown);
    return {
      grants: [],
      preemptions: [],
      memory: { ...this.#memory(), reservations, dissolved: Object.fromEntries(dissolved), winners },
    };
  }

  #memory(): QuotaMemory {
    const { memory, rules, now } = this.state;
    return {
      ...this.reservations.memory(),
      heldBack: this.holdBacks.clocks((id) => isOpen(this.waitingOf(id))),
      coolDowns: rememberedCoolDowns(memory, rules, now),
      winners: this.#wonAndWaiting(),
    };
  }

  /** Requests for which a lease was preempted, and requests of their projects with a better priority. */
  #winners(): readonly WaitingRequest[] {
    const winners = this.#inQuota(this.state.memory.winners);
    if (winners.length === 0) return [];
    const worst = new Map<ProjectUsage, number>();
    for (const { kind } of winners) {
      worst.set(kind.project, Math.max(kind.priority, worst.get(kind.project) ?? kind.priority));
    }
    const before = this.state.kinds.filter(
      ({ project, priority, inQuota }) => inQuota.length > 0 && priority < (worst.get(project) ?? 0),
    );
    return [...new Set([...winners, ...before.flatMap(requestsOf)])];
  }

  #wonAndWaiting(): readonly string[] {
    const had = new Set(this.state.memory.winners);
    return this.state.waiting
      .filter(({ request, served }) => {
        if (served?.kind === 'claimed') return served.targets.length > 0 || had.has(request.id);
        return served?.kind === 'protected' && had.has(request.id);
      })
      .map(({ request }) => request.id)
      .toSorted();
  }

  #inQuota(ids: readonly string[]): readonly WaitingRequest[] {
    return ids
      .map((id) => this.waitingOf(id))
      .filter((waiting) => waiting !== undefined)
      .filter(isInQuotaAndUnserved);
  }
}

const isOpen = (waiting: WaitingRequest | undefined): boolean => waiting !== undefined && isWaiting(waiting);
const isInQuotaAndUnserved = ({ served, kind }: WaitingRequest): boolean =>
  served === undefined && kind.inQuota.length > 0;
