import type { EpochMs } from '../../../domain/units.js';
import type { Grant, QuotaLease, QuotaRequest } from '../../../quota/quota-config.js';
import { allTiers, allowedTiers, count, fitsFree, inQuotaTiers, isOf, totalOf, typesOf } from './oracle.js';
import type { Facts } from './oracle.js';

/** A share as it is: 1/0 is more than any other. */
interface Share {
  readonly part: bigint;
  readonly of: bigint;
}

const ALL_OF_NOTHING: Share = { part: 1n, of: 0n };
const compareShares = (a: Share, b: Share): number => {
  if (a.of === 0n || b.of === 0n) return a.of === b.of ? 0 : a.of === 0n ? 1 : -1;
  const [left, right] = [a.part * b.of, b.part * a.of];
  return left < right ? -1 : left > right ? 1 : 0;
};
const largest = (shares: readonly Share[]): Share =>
  shares.reduce((most, share) => (compareShares(share, most) > 0 ? share : most), { part: 0n, of: 1n });
const byTime = (a: QuotaRequest, b: QuotaRequest): number =>
  a.submittedAt - b.submittedAt || (a.id < b.id ? -1 : a.id > b.id ? 1 : 0);

/** Rule 5: what the user holds of the pool, of the type that it holds most of. */
function holds({ config, leases }: Facts, user: string): Share {
  const own = leases.filter((lease) => lease.user === user && lease.state !== 'draining');
  const types = [...new Set(own.flatMap(({ units }) => typesOf(units)))];
  return largest(types.map((type) => ({ part: totalOf(own, type), of: totalOf(tiersOf(config.tiers), type) })));
}

const tiersOf = (tiers: Facts['config']['tiers']): { readonly units: Facts['config']['tiers'][number] }[] =>
  tiers.map((units) => ({ units }));

/** Rule 5: the project's dominant share if it got the request too. */
function dominantShare({ config, leases }: Facts, { project, units }: QuotaRequest): Share {
  const nominal = config.projects.find(({ name }) => isOf(name, { project }))?.nominal ?? [];
  const own = leases.filter((lease) => isOf(project, lease) && lease.state !== 'draining');
  const shares = typesOf(units).map((type) => {
    const whole = totalOf(tiersOf(nominal), type);
    return whole === 0n ? ALL_OF_NOTHING : { part: totalOf(own, type) + count(units, type), of: whole };
  });
  return largest(shares);
}

/** Rule 5: who is next among those who wait. */
function next(facts: Facts, waiting: readonly QuotaRequest[]): QuotaRequest | undefined {
  const inside = (a: QuotaRequest, b: QuotaRequest): number =>
    a.priority - b.priority || compareShares(holds(facts, a.user), holds(facts, b.user)) || byTime(a, b);
  const projects = new Set(waiting.map(({ project }) => project.toLowerCase()));
  const heads = [...projects].flatMap((name) =>
    waiting
      .filter(({ project }) => project.toLowerCase() === name)
      .toSorted(inside)
      .slice(0, 1),
  );
  const [first] = heads.toSorted(
    (a, b) => compareShares(dominantShare(facts, a), dominantShare(facts, b)) || byTime(a, b),
  );
  return first;
}

/**
 * Rules 4 and 5 where nobody can be preempted, nothing drains, nothing is reserved and no limit is set: in-quota demand,
 * then best effort, each time whoever is next, into the first tier that serves and has room; all others are passed over.
 */
export function grantsInOrder(facts: Facts, now: EpochMs): Grant[] {
  const grants: Grant[] = [];
  let seen = facts;
  const serve = (candidates: readonly QuotaRequest[], tiersFor: (request: QuotaRequest) => readonly number[]): void => {
    let left = candidates;
    for (let request = next(seen, left); request !== undefined; request = next(seen, left)) {
      const { id, units } = request;
      left = left.filter((one) => one.id !== id);
      const tier = tiersFor(request).find((each) => fitsFree(seen, units, each));
      if (tier === undefined) continue;
      grants.push({ id, tier });
      const { waitingSince: _, ...asked } = request;
      const lease: QuotaLease = { ...asked, tier, startedAt: now, state: 'asking' };
      seen = { ...seen, leases: [...seen.leases, lease] };
    }
  };
  // What no tier could ever hold is nobody's head.
  const couldFit = ({ units }: QuotaRequest, tier: number): boolean =>
    typesOf(units).every((type) => count(units, type) <= count(facts.config.tiers[tier], type));
  const able = facts.requests.filter((one) => allowedTiers(facts, one).some((tier) => couldFit(one, tier)));
  const isWaiting = ({ id }: QuotaRequest): boolean => !grants.some((grant) => grant.id === id);
  const inQuota = able.filter((request) => inQuotaTiers(facts, request, now).length > 0);
  serve(inQuota, (request) => inQuotaTiers(seen, request, now));
  // Who has no place as this step begins gets none in it, and is nobody's head either.
  const hasPlace = (one: QuotaRequest): boolean =>
    allowedTiers(seen, one).some((tier) => fitsFree(seen, one.units, tier));
  serve(able.filter(isWaiting).filter(hasPlace), (request) => allowedTiers(seen, request));
  return grants;
}

/** The pool with only those of its leases that lie on nominal quota and cannot be displaced: the best priority, not draining. */
export function withoutBorrowers(facts: Facts, isOnNominal: (lease: QuotaLease, seen: Facts) => boolean): Facts {
  const firm = facts.leases.map((lease): QuotaLease => ({ ...lease, priority: 1 }));
  return allTiers(facts).reduce<Facts>(
    (seen) => ({ ...seen, leases: seen.leases.filter((lease) => isOnNominal(lease, seen)) }),
    { ...facts, leases: firm },
  );
}
