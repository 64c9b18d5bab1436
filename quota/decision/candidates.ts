import type { ProjectQuota, Workload } from './project-quota.js';
import type { EpochMs } from '../../domain/units.js';
import type { PoolRules, QuotaLease } from '../quota-config.js';
import { add } from './room.js';
import type { Shape } from './shapes.js';
import { compareIds } from './time-order.js';

/**
 * Time until which a borrowing lease is protected from preemption (rule 6), or undefined if it is not. Asking and parked
 * leases have no minimum runtime. A lease that started from a reservation is protected for its first asking timeout.
 */
export function protectedUntil(lease: QuotaLease, rules: PoolRules, now: EpochMs): EpochMs | undefined {
  const until = protectionEnd(lease, rules, now);
  return until > now ? until : undefined;
}

function protectionEnd(lease: QuotaLease, rules: PoolRules, now: EpochMs): EpochMs {
  switch (lease.state ?? 'held') {
    case 'asking':
      return lease.isFromReservation === true ? lease.startedAt + rules.askingTimeoutMs : now;
    case 'held':
      return now + rules.minRuntimeMs - (lease.heldMs ?? now - lease.startedAt);
    default:
      return now;
  }
}

/** Rule 6: asking leases first, then parked, then held. Among equals the lowest priority, the latest start, then the id. */
function inCandidateOrder(a: Workload, b: Workload): number {
  return rank(a) - rank(b) || b.priority - a.priority || b.startedAt - a.startedAt || compareIds(a.id, b.id);
}

const rank = ({ lease }: Workload): number => (lease?.state === 'asking' ? 0 : lease?.state === 'parked' ? 1 : 2);

/** The borrowing leases of one tier during a pass: those that may be preempted now, and those still protected. */
export class Candidates {
  readonly #tier: number;
  readonly #rules: PoolRules;
  readonly #now: EpochMs;
  /** The borrowing leases of each quota. */
  readonly #byQuota = new Map<ProjectQuota, readonly Workload[]>();
  /** Preemptible leases of all quotas in the order of rule 6. Undefined: not sorted yet. */
  #inOrder: Workload[] | undefined;
  readonly #quotaOf = new Map<Workload, ProjectQuota>();
  readonly #taken = new Set<Workload>();
  /** Index into `#inOrder` by number of the type. All leases of the type before that index are taken. */
  #from: number[] = [];

  constructor(quotas: Iterable<ProjectQuota>, tier: number, rules: PoolRules, now: EpochMs) {
    this.#tier = tier;
    this.#rules = rules;
    this.#now = now;
    for (const quota of quotas) if (quota.hasLeases) this.#read(quota);
  }

  /** Must be called after a workload was added to or removed from the quota. */
  changed(quota: ProjectQuota): void {
    const before = this.#byQuota.get(quota) ?? [];
    const after = this.#read(quota);
    if (this.#inOrder === undefined) return;
    const [had, has] = [new Set(before), new Set(after)];
    const more = after.filter((workload) => !had.has(workload) && this.#isPreemptible(workload));
    const isFewer = before.some((workload) => !has.has(workload));
    if (isFewer) this.#inOrder = this.#inOrder.filter((workload) => !had.has(workload) || has.has(workload));
    if (more.length > 0) this.#inOrder = [...this.#inOrder, ...more].sort(inCandidateOrder);
    if (isFewer || more.length > 0) this.#from = [];
  }

  /** Removes a target from the candidates and from its quota. */
  take(target: Workload): void {
    this.#taken.add(target);
    this.#quotaOf.get(target)?.remove(target);
  }

  /**
   * The leases to preempt for a request: no proper subset would do. Undefined if all candidates together are not enough.
   * @param shortage units by type of `shape`; 0 or less means that the type needs no preemption
   * @param own the request's own quota. Its candidates are the leases that borrow once the request counts
   */
  targets(
    shape: Shape,
    priority: number,
    own: ProjectQuota,
    shortage: readonly number[],
  ): readonly Workload[] | undefined {
    const left = shortageByType(shape, shortage);
    const taken: Workload[] = [];
    const ownCandidates = this.#ownCandidates(shape, priority, own);
    const others = this.#ordered();
    let [at, ownAt] = [this.#firstOf(others, left), 0];
    while (at < others.length || ownAt < ownCandidates.length) {
      const [other, mine] = [others[at], ownCandidates[ownAt]];
      const isMine = other === undefined || (mine !== undefined && inCandidateOrder(mine, other) < 0);
      const workload = isMine ? mine : other;
      if (isMine) ownAt += 1;
      else at += 1;
      if (workload === undefined || !hasAny(workload.shape, left)) continue;
      if (!isMine && (this.#taken.has(workload) || this.#quotaOf.get(workload) === own)) continue;
      taken.push(workload);
      subtract(left, workload.shape, 1);
      if (isEnough(left)) return fillBack(taken, left);
    }
    return undefined;
  }

  /** Whether candidates and protected leases together would be enough. */
  isEnoughLater(shape: Shape, priority: number, own: ProjectQuota, shortage: readonly number[]): boolean {
    const left = shortageByType(shape, shortage);
    const isEnoughWith = (borrowed: readonly Workload[]): boolean =>
      borrowed.some((workload) => {
        if (!this.#taken.has(workload)) subtract(left, workload.shape, 1);
        return isEnough(left);
      });
    if (own.hasLeases && isEnoughWith(this.#leasesHere(own.usageWith(shape, priority).borrowing))) return true;
    for (const [quota, borrowed] of this.#byQuota) if (quota !== own && isEnoughWith(borrowed)) return true;
    return false;
  }

  /** Protected leases that hold a type of which there is a shortage. Call it after the request was added to its quota. */
  protected(shape: Shape, shortage: readonly number[]): readonly Workload[] {
    const left = shortageByType(shape, shortage);
    return [...this.#byQuota.values()]
      .flat()
      .filter(
        (workload) => !this.#isPreemptible(workload) && !this.#taken.has(workload) && hasAny(workload.shape, left),
      );
  }

  until(workload: Workload): EpochMs | undefined {
    return workload.lease === undefined ? undefined : protectedUntil(workload.lease, this.#rules, this.#now);
  }

  #ownCandidates(shape: Shape, priority: number, own: ProjectQuota): readonly Workload[] {
    if (!own.hasLeases) return [];
    return this.#leasesHere(own.usageWith(shape, priority).borrowing)
      .filter((workload) => this.#isPreemptible(workload))
      .sort(inCandidateOrder);
  }

  #ordered(): readonly Workload[] {
    return (this.#inOrder ??= [...this.#byQuota.values()]
      .flat()
      .filter((workload) => this.#isPreemptible(workload) && !this.#taken.has(workload))
      .sort(inCandidateOrder));
  }

  /** Index of the first lease that is not taken and holds a type of which there is a shortage. */
  #firstOf(inOrder: readonly Workload[], left: readonly number[]): number {
    let first = inOrder.length;
    for (let type = 0; type < left.length; type += 1) {
      if ((left[type] ?? 0) > 0) first = Math.min(first, this.#firstOfType(inOrder, type));
    }
    return first;
  }

  #firstOfType(inOrder: readonly Workload[], type: number): number {
    let at = this.#from[type] ?? 0;
    for (let workload = inOrder[at]; workload !== undefined; workload = inOrder[at]) {
      if (workload.shape.types.includes(type) && !this.#taken.has(workload)) break;
      at += 1;
    }
    this.#from[type] = at;
    return at;
  }

  /** Leases of this tier, without requests that this pass granted or claimed units for: those cannot be preempted. */
  #leasesHere(borrowing: readonly Workload[]): Workload[] {
    return borrowing.filter(({ lease, tier }) => lease !== undefined && tier === this.#tier);
  }

  #isPreemptible(workload: Workload): boolean {
    return this.until(workload) === undefined;
  }

  #read(quota: ProjectQuota): readonly Workload[] {
    const borrowed = this.#leasesHere(quota.usage().borrowing);
    this.#byQuota.set(quota, borrowed);
    for (const workload of borrowed) this.#quotaOf.set(workload, quota);
    return borrowed;
  }
}

/**
 * Gives targets back that are not needed, from the last to the first.
 * @param left shortage that remains: 0 or less in every type
 */
function fillBack(taken: readonly Workload[], left: number[]): readonly Workload[] {
  return taken
    .toReversed()
    .filter((workload) => {
      subtract(left, workload.shape, -1);
      if (isEnough(left)) return false;
      subtract(left, workload.shape, 1);
      return true;
    })
    .toReversed();
}

/** Shortage by number of the type. A type without one starts at 0 and only decreases, so it never counts as short. */
function shortageByType({ types }: Shape, shortage: readonly number[]): number[] {
  const left: number[] = [];
  for (const [index, type] of types.entries()) {
    while (left.length <= type) left.push(0);
    left[type] = Math.max(0, shortage[index] ?? 0);
  }
  return left;
}

function hasAny({ types }: Shape, left: readonly number[]): boolean {
  for (const type of types) if ((left[type] ?? 0) > 0) return true;
  return false;
}

function isEnough(left: readonly number[]): boolean {
  for (const units of left) if (units > 0) return false;
  return true;
}

function subtract(left: number[], { types, amounts }: Shape, sign: 1 | -1): void {
  for (let index = 0; index < types.length; index += 1) {
    const type = types[index] ?? 0;
    if (type < left.length) add(left, type, -sign * (amounts[index] ?? 0));
  }
}
