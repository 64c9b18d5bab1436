import type { EpochMs } from '../domain/units.js';
import { passOf } from './decide.js';
import { dueTimes, Reasons, LeaseHolders } from './explanation/reasons.js';
import { plainWording, sentenceText } from './explanation/explain-words.js';
import type { Wording } from './explanation/explain-words.js';
import type { Explanation } from './explanation/explanation.js';
import { DEFAULT_RULES } from './quota-config.js';
import type { Pool, QuotaConfig, QuotaLease, QuotaRequest } from './quota-config.js';
import type { Pass, Verdict } from './decision/verdict.js';

/**
 * Explains why the jobs of a pool wait. It reads the verdicts of the pass that decides, so it never disagrees with a decision: a
 * job without a reason is granted. The pass runs once. Each job after it costs a fraction of a millisecond.
 */
export class Explainer {
  readonly pass: Pass;
  readonly #pool: Pool;
  readonly #now: EpochMs;
  readonly #reasons: Reasons | undefined;

  constructor(pool: Pool, now: EpochMs, pass: Pass = passOf(pool, now)) {
    this.pass = pass;
    this.#pool = pool;
    this.#now = now;
    this.#reasons = reasonsAfter(pool, pass, now);
  }

  /** Undefined if `id` does not wait. */
  of(id: string): Explanation | undefined {
    const verdict = this.pass.verdictOf(id);
    if (verdict === undefined) return undefined;
    const { request, position, isInQuota } = verdict;
    const behind = this.pass.line[position - 2];
    const reasons = this.#reasonsOf(verdict);
    return {
      id,
      project: request.project,
      user: request.user,
      priority: request.priority,
      units: request.units,
      position,
      of: this.pass.line.length,
      ...(behind === undefined ? {} : { behind: behind.id }),
      isInQuota,
      reasons,
      holders: this.#reasons?.holdersFor(reasons) ?? [],
      due: this.#dueTimes(verdict, reasons),
    };
  }

  /** One sentence, for a row of a list; undefined if `id` does not wait. */
  sentenceOf(id: string, words: Wording = plainWording(this.#pool.config)): string | undefined {
    const why = this.of(id);
    return why && sentenceText(why, words);
  }

  #dueTimes(verdict: Verdict, reasons: Explanation['reasons']): Explanation['due'] {
    const { config } = this.#pool;
    if (this.#reasons === undefined || config.kind === 'unlimited') return [];
    const { agingMs } = config.rules ?? DEFAULT_RULES;
    const askingEnds = this.#reasons.askingEndsFor(reasons);
    return dueTimes(verdict, reasons, { memory: this.pass.decision.memory, agingMs, askingEnds, now: this.#now });
  }

  #reasonsOf(verdict: Verdict): Explanation['reasons'] {
    if (verdict.outcome.kind === 'granted') return [];
    if (this.#reasons === undefined) return [{ code: 'frozen' }];
    return this.#reasons.of(verdict);
  }
}

/** The reasons after the decision was carried out. Undefined for an unlimited pool: jobs wait there only while it is frozen. */
function reasonsAfter({ config, requests, leases }: Pool, { decision }: Pass, now: EpochMs): Reasons | undefined {
  if (config.kind === 'unlimited') return undefined;
  const asked = new Map(requests.map((request) => [request.id, request]));
  const leaving = new Set(decision.preemptions.map(({ id }) => id));
  // An earlier grant counts first, whatever its id.
  const granted = decision.grants.flatMap(({ id, tier }, index): QuotaLease[] => {
    const request = asked.get(id);
    if (request === undefined) return [];
    return [{ ...request, tier, startedAt: now + index, askingSince: now, state: 'asking' }];
  });
  const stayed = leases.map((lease): QuotaLease => (leaving.has(lease.id) ? { ...lease, state: 'draining' } : lease));
  return new Reasons(config, decision.memory, requests, new LeaseHolders(config, [...stayed, ...granted]));
}

/** Explains why one job waits; undefined if `id` does not wait. For many jobs of one pool, use `Explainer`. */
export function explain(pool: Pool, now: EpochMs, id: string): Explanation | undefined {
  return new Explainer(pool, now).of(id);
}

/** Explains in one sentence why one job waits; undefined if `id` does not wait. For many jobs of one pool, use `Explainer`. */
export function explainWaiting(pool: Pool, now: EpochMs, id: string, words?: Wording): string | undefined {
  return new Explainer(pool, now).sentenceOf(id, words);
}

/** The waiting jobs in the order of service, including those that start now. */
export function inLine<Request extends QuotaRequest>(
  config: QuotaConfig,
  requests: readonly Request[],
  leases: readonly QuotaLease[],
): readonly Request[] {
  // In a frozen pool no job starts, so every request is in the line. The line is made of the given request objects.
  return passOf({ config, requests, leases, isFrozen: true }, 0).line as readonly Request[];
}
