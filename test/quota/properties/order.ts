import type { EpochMs } from '../../../domain/units.js';
import type { Grant, QuotaLease, QuotaRequest } from '../../../quota/quota-config.js';
import { allowedTiers, count, fitsFree, homeFirst, inQuotaTiers, isOf, totalOf, typesOf } from './oracle.js';
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

/** Rule 5, inside a project: who of these is first. */
function headOf(facts: Facts, waiting: readonly QuotaRequest[]): QuotaRequest | undefined {
  const inside = (a: QuotaRequest, b: QuotaRequest): number =>
    a.priority - b.priority || compareShares(holds(facts, a.user), holds(facts, b.user)) || byTime(a, b);
  return waiting.toSorted(inside)[0];
}

/**
 * Tiers where the request lies on nominal quota once those of its project that go before it have got theirs, wherever they
 * may: what it is promised. Its own project's other demand can keep it waiting for ever.
 */
export function promisedTiers(facts: Facts, request: QuotaRequest, now: EpochMs): readonly number[] {
  let seen = facts;
  let left = facts.requests.filter((one) => isOf(request.project, one));
  for (let head = headOf(seen, left); head !== undefined && head.id !== request.id; head = headOf(seen, left)) {
    const { waitingSince: _, ...asked } = head;
    const own = inQuotaTiers(seen, head, now);
    const laid = own.map((tier): QuotaLease => ({ ...asked, tier, startedAt: now, state: 'asking' }));
    seen = { ...seen, leases: [...seen.leases, ...laid] };
    left = left.filter(({ id }) => id !== head.id);
  }
  return inQuotaTiers(seen, request, now);
}

/** Rule 5, between projects: whose head is first. */
const firstOf = (facts: Facts, heads: readonly QuotaRequest[]): QuotaRequest | undefined =>
  heads.toSorted((a, b) => compareShares(dominantShare(facts, a), dominantShare(facts, b)) || byTime(a, b))[0];

/**
 * Rules 4 and 5 where nobody can be preempted, nothing drains, nothing is reserved and no limit is set: in-quota demand,
 * then best effort, each time whoever is next, into the first tier that serves and has room. A project's head is the first
 * that has a place, found when the one before it had its turn, or when a user got more who had a place there as the step began; one
 * whose place was taken meanwhile gives way when its turn comes.
 */
export function grantsInOrder(facts: Facts, now: EpochMs): Grant[] {
  const grants: Grant[] = [];
  let seen = facts;
  const isWaiting = ({ id }: QuotaRequest): boolean => !grants.some((grant) => grant.id === id);
  const serve = (all: readonly QuotaRequest[], tiersFor: (request: QuotaRequest) => readonly number[]): void => {
    const placeOf = (one: QuotaRequest): number | undefined =>
      tiersFor(one).find((tier) => fitsFree(seen, one.units, tier));
    const served = all.filter((one) => placeOf(one) !== undefined);
    let left = served;
    const heads = new Map<string, QuotaRequest>();
    const find = (project: string): void => {
      const head = headOf(
        seen,
        left.filter((one) => isOf(project, one) && placeOf(one) !== undefined),
      );
      if (head === undefined) heads.delete(project);
      else heads.set(project, head);
    };
    const projects = [...new Set(all.map(({ project }) => project.toLowerCase()))];
    projects.forEach(find);
    for (let next = firstOf(seen, [...heads.values()]); next !== undefined; next = firstOf(seen, [...heads.values()])) {
      const { id, user } = next;
      const tier = placeOf(next);
      if (tier !== undefined) {
        grants.push({ id, tier });
        const { waitingSince: _, ...asked } = next;
        const lease: QuotaLease = { ...asked, tier, startedAt: now, state: 'asking' };
        seen = { ...seen, leases: [...seen.leases, lease] };
        left = left.filter((one) => one.id !== id);
        projects.filter((project) => served.some((one) => one.user === user && isOf(project, one))).forEach(find);
      }
      find(next.project.toLowerCase());
    }
  };
  serve(facts.requests, (request) => homeFirst(seen, request, inQuotaTiers(seen, request, now), now));
  serve(facts.requests.filter(isWaiting), (request) => allowedTiers(seen, request));
  return grants;
}

/** The pool with only those of its leases that lie on nominal quota and cannot be displaced: the best priority, not draining. */
export function withoutBorrowers(facts: Facts, isOnNominal: (lease: QuotaLease, seen: Facts) => boolean): Facts {
  const firm = facts.leases.map((lease): QuotaLease => ({ ...lease, priority: 1 }));
  const seen = { ...facts, leases: firm };
  return { ...seen, leases: firm.filter((lease) => isOnNominal(lease, seen)) };
}
