import type { EpochMs } from '../domain/units.js';
import { leaseForOtherTier, tierChangeOf, timedOutLeases } from './decision/timeouts.js';
import { rememberedCoolDowns, withFailures } from './decision/cool-downs.js';
import { DecisionPass } from './decision/pass.js';
import type { PassInput } from './decision/pass-state.js';
import { NO_MEMORY, tierOf } from './quota-config.js';
import type { Decision, Pool, Preemption, QuotaLease, QuotaRequest } from './quota-config.js';
import type { Pass, Verdict } from './decision/verdict.js';
import { Verdicts } from './decision/verdicts.js';

/**
 * Decides which waiting jobs get their units now, and which leases are preempted for them, by the rules of docs/quota.md. Pure
 * and exact. The order of `requests` and `leases` does not matter. The caller carries out grants and preemptions, marks the
 * preempted leases draining, keeps `memory` for the next call, and calls again when anything changes and at `nextAt`.
 * @param now the start of the grants
 */
export function decide(pool: Pool, now: EpochMs): Decision {
  return passOf(pool, now).decision;
}

/** Decides like `decide`, and returns the reasons too. */
export function passOf(pool: Pool, now: EpochMs): Pass {
  const { config, requests, leases, memory = NO_MEMORY, isFrozen = false } = pool;
  if (config.kind === 'unlimited') return unlimitedPass(pool);
  const input = { config, requests, leases, memory, now };
  const run = new DecisionPass(input);
  if (isFrozen) return limitedPass(run, run.frozenDecision(), true);
  run.serve();
  const back = returnedLeases(run, input);
  if (back.length === 0) return limitedPass(run, run.decision(), false);
  // The first pass did not know that these chips come free. Serve again, with their leases draining.
  const second = served(withoutAsking(input, back, run));
  const decision = second.decision();
  return limitedPass(second, { ...decision, preemptions: [...back, ...decision.preemptions] }, false);
}

function limitedPass(run: DecisionPass, decision: Decision, isFrozen: boolean): Pass {
  const verdicts = new Verdicts(run, isFrozen);
  return {
    decision,
    get line() {
      return verdicts.line;
    },
    verdictOf: (id) => verdicts.of(id),
  };
}

function served(input: PassInput): DecisionPass {
  const run = new DecisionPass(input);
  run.serve();
  return run;
}

/** Leases that are returned to the pool by rule 11. */
function returnedLeases(run: DecisionPass, input: PassInput): readonly Preemption[] {
  const forOthers = timedOutLeases(run.state, input.leases);
  if (forOthers.length > 0) return forOthers;
  return leaseForOtherTier(run.state, input.leases, (lease) => {
    const without = withoutAsking(input, [tierChangeOf(lease)], run);
    return served({ ...without, requests: [...without.requests, lease] }).state.grants;
  });
}

/** The same input with the returned leases draining and their places on cool-down (rule 11). */
function withoutAsking(input: PassInput, back: readonly Preemption[], { state }: DecisionPass): PassInput {
  const { leases, memory, now } = input;
  const ids = new Set(back.map(({ id }) => id));
  const failed = leases.flatMap((lease) =>
    ids.has(lease.id) ? [{ ...lease, tier: tierOf(lease, input.config.tiers.length) }] : [],
  );
  const isTierChange = back.some(({ cause }) => cause === 'tier');
  const cool = isTierChange ? coolWhileOthersAreTried(failed, state) : { failed, rules: state.rules };
  const remembered = rememberedCoolDowns(memory, state.rules, now);
  return {
    ...input,
    leases: leases.map((lease) => (ids.has(lease.id) ? { ...lease, state: 'draining' } : lease)),
    memory: { ...memory, coolDowns: withFailures(remembered, cool.failed, cool.rules, now) },
  };
}

/** Cools down all zones of each lease, for long enough that its job can ask in each of its other tiers. */
function coolWhileOthersAreTried(leases: readonly QuotaLease[], { rules, shapes }: DecisionPass['state']) {
  const failed = leases.map(({ zone: _, ...anywhere }) => anywhere);
  const others = Math.max(0, ...leases.map((lease) => shapes.of(lease).tiers.length - 1));
  return { failed, rules: { ...rules, coolDownMs: Math.max(rules.coolDownMs, others * rules.askingTimeoutMs) } };
}

function unlimitedPass({ requests, memory = NO_MEMORY, isFrozen = false }: Pool): Pass {
  const waiting = requests.toSorted(inServiceOrder);
  const verdictOf = (id: string): Verdict | undefined => {
    const index = waiting.findIndex((request) => request.id === id);
    const request = waiting[index];
    if (request === undefined) return undefined;
    const outcome = isFrozen
      ? ({ kind: 'frozen' } as const)
      : ({ kind: 'granted', tier: 0, isFromReservation: false } as const);
    return { request, position: isFrozen ? index + 1 : 0, isInQuota: false, outcome, problems: [] };
  };
  const grants = isFrozen ? [] : waiting.map(({ id }) => ({ id, tier: 0 }));
  return { decision: { grants, preemptions: [], memory }, line: isFrozen ? waiting : [], verdictOf };
}

/** Sorts by priority, then submit time, then id. The id is arbitrary but fixed. */
export function inServiceOrder(a: QuotaRequest, b: QuotaRequest): number {
  return a.priority - b.priority || a.submittedAt - b.submittedAt || (a.id < b.id ? -1 : a.id > b.id ? 1 : 0);
}
