import assert from 'node:assert/strict';
import { decide } from '../../quota/decide.js';
import { DEFAULT_RULES, NO_MEMORY } from '../../quota/quota-config.js';
import type { Pool, PoolRules, QuotaConfig, QuotaMemory, QuotaRequest } from '../../quota/quota-config.js';

export const MINUTE = 60_000;
/** Late enough that all times of a case lie before it. */
export const NOW = 10_000 * MINUTE;
export const minutesAgo = (minutes: number): number => NOW - minutes * MINUTE;

export interface Case extends Omit<Pool, 'memory' | 'leases'>, Partial<Pick<Pool, 'leases'>> {
  readonly memory?: Partial<QuotaMemory>;
  /** `id@tier`, `id@tier reserved`, in the order of the grants. */
  readonly grants?: readonly string[];
  /** `id for id`, or `id for id (cause)` where the cause is not `quota`. */
  readonly preemptions?: readonly string[];
  /** Parts of the memory that the case is about. */
  readonly after?: Partial<QuotaMemory>;
  /** In minutes from now. */
  readonly nextIn?: number;
}

export function withRules(config: QuotaConfig, rules: Partial<PoolRules>): QuotaConfig {
  assert.ok(config.kind === 'limited');
  return { ...config, rules: { ...DEFAULT_RULES, ...rules } };
}

/** A case that gives a small number only says who came first: a minute ago, no aging. */
const recent = (request: QuotaRequest): QuotaRequest =>
  request.submittedAt < 1000 ? { ...request, submittedAt: minutesAgo(1) + request.submittedAt } : request;

/** One test for each case: what is decided, and nothing else. */
export function decideEach(cases: Readonly<Record<string, Case>>): void {
  for (const [name, { memory, grants = [], preemptions = [], after = {}, nextIn, ...rest }] of Object.entries(cases)) {
    it(name, () => {
      const pool = { leases: [], ...rest, requests: rest.requests.map(recent) };
      const decision = decide({ ...pool, memory: { ...NO_MEMORY, ...memory } }, NOW);
      assert.deepEqual(
        {
          grants: decision.grants.map(
            (grant) => `${grant.id}@${grant.tier}${grant.isFromReservation ? ' reserved' : ''}`,
          ),
          preemptions: decision.preemptions.map(
            (each) => `${each.id} for ${each.for}${each.cause === 'quota' ? '' : ` (${each.cause})`}`,
          ),
        },
        { grants, preemptions },
      );
      assert.deepEqual({ ...decision.memory, ...after }, decision.memory);
      if (nextIn !== undefined) assert.equal(decision.nextAt, NOW + nextIn * MINUTE);
    });
  }
}
