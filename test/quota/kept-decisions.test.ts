import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { decide } from '../../quota/decide.js';
import { parseQuotaFile } from '../../quota/files/quota-file.js';
import { DEFAULT_RULES, NO_MEMORY } from '../../quota/quota-config.js';
import type { Decision, LimitedQuota, Pool, PoolRules, QuotaLease, QuotaRequest } from '../../quota/quota-config.js';
import { Random, seededState } from '../../rehearsal/random.js';

const POOLS = 250;
const SEED = 126;
const MINUTE = 60_000;
const START = 10_000 * MINUTE;
const PRICINGS = ['reserved', 'spot', 'ondemand'] as const;

/**
 * What was decided for these pools before quota was one sum over tiers (docs/adr/0126), as one digest for each kind. In a pool of
 * one tier, and where each job may use one tier only, a sum has one term: not one byte of a decision may differ. A change of the
 * rules that means to alter them draws these digests anew. 1,500 pools were compared until 2026-11-28; these are the first 250.
 */
const KEPT = {
  "Bastion's plain table, one tier": '1a7b5c705eca12124abdc6f9d8850e0f71387904058db64ef00e749151bea2b2',
  'several tiers, each job names a pricing that one of them has':
    'c519998834dedfffc454228b135ba04a1fd62bb7599254201e91feaed494a50f',
};

describe('quota: decisions that one sum over tiers does not change', () => {
  for (const [kind, want] of Object.entries(KEPT)) {
    it(`${kind}: ${POOLS} drawn pools, three decisions each`, () => {
      const random = new Random(seededState(SEED));
      const tiers = (): number => (kind.startsWith('Bastion') ? 1 : random.integer(2, 3));
      const seen = { grants: 0, preemptions: 0, reservations: 0 };
      const digest = createHash('sha256');
      for (let index = 0; index < POOLS; index += 1) {
        for (const decision of decisionsOf(drawnPool(random, tiers()))) {
          digest.update(JSON.stringify(decision));
          seen.grants += decision.grants.length;
          seen.preemptions += decision.preemptions.length;
          seen.reservations += decision.memory.reservations.length;
        }
      }
      for (const [what, count] of Object.entries(seen)) assert.ok(count > POOLS / 4, `only ${count} ${what}`);
      assert.equal(digest.digest('hex'), want);
    });
  }
});

/** Three decisions, each carried out before the next, ten minutes apart. */
function decisionsOf(first: Pool): readonly Decision[] {
  let pool = first;
  return [0, 1, 2].map((turn) => {
    const now = START + turn * 10 * MINUTE;
    const decision = decide(pool, now);
    pool = carriedOut(pool, decision, now);
    return decision;
  });
}

function carriedOut({ config, requests, leases }: Pool, decision: Decision, now: number): Pool {
  const tiers = new Map(decision.grants.map(({ id, tier }) => [id, tier]));
  const told = new Set(decision.preemptions.map(({ id }) => id));
  const granted = requests.flatMap((request): QuotaLease[] => {
    const tier = tiers.get(request.id);
    return tier === undefined ? [] : [{ ...request, tier, startedAt: now, state: 'held' }];
  });
  const stay = leases.filter(({ state }) => state !== 'draining');
  return {
    config,
    requests: requests.filter(({ id }) => !tiers.has(id)),
    leases: [...stay.map((one): QuotaLease => (told.has(one.id) ? { ...one, state: 'draining' } : one)), ...granted],
    memory: decision.memory,
  };
}

function drawnPool(random: Random, tiers: number): Pool {
  const pick = <Item>(items: readonly Item[]): Item => items[random.integer(0, items.length - 1)] as Item;
  const config = drawnConfig(random, tiers);
  const tierAt = (): number => random.integer(0, tiers - 1);
  const demand = (id: string, tier: number): QuotaRequest => ({
    id,
    project: pick(['a', 'A', 'b', 'c', 'none']),
    user: pick(['u', 'v']),
    priority: random.integer(1, 5),
    submittedAt: START - random.integer(0, 120) * MINUTE,
    units: pick([{ v4: 2 }, { v4: 4 }, { v4: 8 }, { v4: 12 }, { v6e: 4 }, { v4: 4, v6e: 2 }]),
    ...(tiers === 1 ? {} : { pricing: PRICINGS[tier] ?? 'spot' }),
  });
  const leases = Array.from({ length: random.integer(0, 6) }, (_, index): QuotaLease => {
    const tier = tierAt();
    const startedAt = START - random.integer(0, 90) * MINUTE;
    return { ...demand(`l${index}/r/1`, tier), tier, startedAt, state: pick(['held', 'held', 'asking', 'parked']) };
  });
  const requests = Array.from({ length: random.integer(1, 8) }, (_, index) => demand(`r${index}/r/1`, tierAt()));
  return { config, requests, leases, memory: NO_MEMORY };
}

/** As the file says it, with a pool file's pricings and limits beside it. */
function drawnConfig(random: Random, tiers: number): LimitedQuota {
  const share = (): number => random.integer(0, 5) / 10;
  const tier = (): string => `v4 = ${8 * random.integer(1, 3)}\nv6e = ${4 * random.integer(0, 2)}\n`;
  const table = tiers === 1 ? '[total_resources]\n' : '[[total_resources]]\n';
  const text = [
    '[toml-schema]\nversion = "1"\n',
    ...Array.from({ length: tiers }, () => table + tier()),
    '[project_membership]\na = ["u"]\nb = ["v"]\nC = ["v"]\n',
    ...['a', 'b', 'C'].map((name) => `[project_resources.${name}]\nv4 = ${share()}\nv6e = ${share()}\n`),
  ].join('\n');
  const parsed = parseQuotaFile(text, 'quota.toml');
  assert.ok(parsed.ok, text);
  const limit = (): PoolRules['lendingLimits'] =>
    random.integer(0, 3) === 0 ? { a: { v4: random.integer(0, 8) }, b: { v4: random.integer(0, 8) } } : {};
  const bought = tiers === 1 ? [] : PRICINGS.slice(0, tiers).map((pricing) => ({ pricing }));
  const rules = { ...DEFAULT_RULES, tiers: bought, borrowingLimits: limit(), lendingLimits: limit() };
  return { ...parsed.config, rules };
}
