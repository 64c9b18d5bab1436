import { type EpochMs, unitsOf } from '../../domain/units.js';
import type { Explanation, Holder } from './explanation.js';
import { passOf } from '../decide.js';
import { type Pool, type QuotaLease, tierOf } from '../quota-config.js';
import type { Verdict } from '../decision/verdict.js';
import { jobOfLeaseKey } from '../../domain/lease.js';
import { Explainer } from '../explain.js';
import { plainWording } from './explain-words.js';
import type { PoolSnapshot } from '../published-state.js';

/** The reason why a job waits, and the changes that would let it start. */

/** A change that would unblock a waiting job. Each was tried by a separate pass, so nothing here is a guess. */
export type Remedy =
  /** The end of any one of these jobs would do. `type` is the type of their units. */
  | { readonly kind: 'one-ends'; readonly type: string; readonly of: readonly Holder[] }
  /** The end of all of these jobs would do, and fewer would not. */
  | { readonly kind: 'all-end'; readonly type: string; readonly of: readonly Holder[] }
  /** The smallest change of priority with which the job would start now, or be the first in line. */
  | { readonly kind: 'priority'; readonly priority: number; readonly position: number; readonly starts: boolean };

/** Most passes of one search for ends: at 10,000 jobs each takes about 10 ms. */
const MOST_TRIES = 12;
/** Most jobs that are named. */
const MOST_NAMED = 3;

/** Changes that would let the job start, the smallest of each kind. Takes several passes: meant for one person's question. */
export function remedies(pool: Pool, now: EpochMs, why: Explanation): readonly Remedy[] {
  const isComing = why.reasons.some((reason) => reason.code === 'draining' && reason.isForIt);
  if (why.reasons.length === 0 || isComing || pool.isFrozen === true) return [];
  return [...endsThatDo(pool, now, why), ...betterPriority(pool, now, why)];
}

/** The fewest units of one type that must come free in one tier, by the reasons; undefined if the job does not lack units. */
function leastShort(
  why: Explanation,
): { readonly tier: number; readonly type: string; readonly short: number } | undefined {
  const short = why.reasons.filter((reason) => reason.code === 'short');
  const shut = new Set(
    why.reasons.flatMap((reason) =>
      ['pricing', 'never-fits'].includes(reason.code) && 'tier' in reason ? [reason.tier] : [],
    ),
  );
  const worst = new Map<number, (typeof short)[number]>();
  for (const reason of short.filter(({ tier }) => !shut.has(tier))) {
    if (reason.short > (worst.get(reason.tier)?.short ?? 0)) worst.set(reason.tier, reason);
  }
  return [...worst.values()].toSorted((a, b) => a.short - b.short || a.tier - b.tier)[0];
}

function endsThatDo(pool: Pool, now: EpochMs, why: Explanation): readonly Remedy[] {
  const shortage = leastShort(why);
  if (shortage === undefined || pool.config.kind === 'unlimited') return [];
  const tiers = pool.config.tiers.length;
  const units = (lease: QuotaLease): number => unitsOf(lease.units, shortage.type);
  const there = pool.leases
    .filter((lease) => tierOf(lease, tiers) === shortage.tier && units(lease) > 0 && lease.state !== 'draining')
    .toSorted((a, b) => units(a) - units(b) || (a.id < b.id ? -1 : 1));
  const startsWithout = (gone: readonly QuotaLease[]): boolean => starts(withoutLeases(pool, gone), now, why.id);
  const named = (leases: readonly QuotaLease[]): readonly Holder[] =>
    leases.map((lease) => ({ id: lease.id, project: lease.project, units: units(lease) }));
  const enough = there.filter((lease) => units(lease) >= shortage.short).slice(0, MOST_TRIES);
  const single: QuotaLease[] = [];
  for (const lease of enough) if (single.length < MOST_NAMED && startsWithout([lease])) single.push(lease);
  if (single.length > 0) return [{ kind: 'one-ends', type: shortage.type, of: named(single) }];
  const together = fewestTogether(there.toReversed(), startsWithout);
  return together.length === 0 ? [] : [{ kind: 'all-end', type: shortage.type, of: named(together) }];
}

/** The fewest leases, largest first, whose ends together would let the job start. Empty if `MOST_NAMED` are not enough. */
function fewestTogether(
  leases: readonly QuotaLease[],
  does: (gone: readonly QuotaLease[]) => boolean,
): readonly QuotaLease[] {
  for (let count = 2; count <= Math.min(MOST_NAMED, leases.length); count++) {
    const gone = leases.slice(0, count);
    if (does(gone)) return gone;
  }
  return [];
}

function betterPriority(pool: Pool, now: EpochMs, why: Explanation): readonly Remedy[] {
  for (let priority = why.priority - 1; priority >= 1; priority--) {
    const requests = pool.requests.map((request) => (request.id === why.id ? { ...request, priority } : request));
    const verdict = passOf({ ...pool, requests }, now).verdictOf(why.id);
    if (verdict === undefined) return [];
    const isStarting = startsBy(verdict);
    const isFirst = verdict.position === 1 && why.position !== 1;
    if (isStarting || isFirst) return [{ kind: 'priority', priority, position: verdict.position, starts: isStarting }];
  }
  return [];
}

function withoutLeases(pool: Pool, gone: readonly QuotaLease[]): Pool {
  const ids = new Set(gone.map(({ id }) => id));
  return { ...pool, leases: pool.leases.filter(({ id }) => !ids.has(id)) };
}

function starts(pool: Pool, now: EpochMs, id: string): boolean {
  const verdict = passOf(pool, now).verdictOf(id);
  return verdict !== undefined && startsBy(verdict);
}

/** Whether the request is granted, or chips are on their way to it. */
const startsBy = ({ outcome }: Verdict): boolean => outcome.kind === 'granted' || outcome.kind === 'claimed';

/** The reason why a job waits in its pool, as the pool was last published. */
export interface WhyWaiting {
  readonly why: Explanation;
  readonly remedies: readonly Remedy[];
  /** The least number of units that must come free, if the job lacks units. */
  readonly short?: { readonly type: string; readonly units: number };
  readonly at: EpochMs;
  readonly pool: string;
  readonly hasTiers: boolean;
  /** Freeze or drain by an admin. */
  readonly admission: PoolSnapshot['admission'];
  readonly admissionReason?: string;
  readonly admissionSet?: PoolSnapshot['admissionSet'];
  /** The problem of the pool's files. */
  readonly problem?: string;
  /** Slices whose chips do not come free, because their deletion does not end. */
  readonly stuck?: PoolSnapshot['stuck'];
}

/** Returns undefined if the published pool has no request of the job. */
export function whyWaiting(state: PoolSnapshot, job: string): WhyWaiting | undefined {
  const { view, at, pool, admission, admissionReason, admissionSet, problem, stuck } = state;
  const request = view.requests.find(({ id }) => jobOfLeaseKey(id) === job);
  const why = request && new Explainer(view, at).of(request.id);
  if (why === undefined) return undefined;
  const short = leastShort(why);
  return {
    why,
    remedies: remedies(view, at, why),
    ...(short === undefined ? {} : { short: { type: short.type, units: short.short } }),
    at,
    pool,
    hasTiers: plainWording(view.config).hasTiers,
    admission,
    ...(admissionReason === undefined ? {} : { admissionReason }),
    ...(admissionSet === undefined ? {} : { admissionSet }),
    ...(problem === undefined ? {} : { problem }),
    ...(stuck === undefined ? {} : { stuck }),
  };
}
