import type { PoolSnapshot } from '../../quota/published-state.js';
import { type LimitedQuota, NO_MEMORY, type QuotaLease, type QuotaRequest } from '../../quota/quota-config.js';
import { T0 } from './rows.js';

export const MINUTE = 60_000;
const RUN = '0199a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b';

/** Two projects with half of 64 v4 each, and one of a type of the operator's own. */
export const CONFIG: LimitedQuota = {
  kind: 'limited',
  tiers: [{ v4: 64 }, { v5litepod: 16 }],
  projects: [
    { name: 'vision', shares: { v4: 0.5 }, nominal: [{ v4: 32 }, {}], members: ['alice'] },
    {
      name: 'speech',
      shares: { v4: 0.5, v5litepod: 1 },
      nominal: [{ v4: 32 }, { v5litepod: 16 }],
      members: ['carol', 'c.*'],
    },
    { name: 'ads', shares: {}, nominal: [{}, {}], members: [] },
  ],
};

/** Of vision's alice, 16 v4 since 10 minutes. */
export function lease(job: string, over: Partial<QuotaLease> = {}): QuotaLease {
  const demand = { project: 'vision', user: 'alice', priority: 3, submittedAt: T0 - 20 * MINUTE, units: { v4: 16 } };
  return { id: `${job}/${RUN}/1`, ...demand, tier: 0, startedAt: T0 - 10 * MINUTE, state: 'held', ...over };
}

export function request(job: string, over: Partial<QuotaRequest> = {}): QuotaRequest {
  const demand = { project: 'vision', user: 'alice', priority: 3, submittedAt: T0 - 5 * MINUTE, units: { v4: 16 } };
  return { id: `${job}/${RUN}/1`, ...demand, ...over };
}

export function snapshot(view: Partial<PoolSnapshot['view']> = {}, over: Partial<PoolSnapshot> = {}): PoolSnapshot {
  const pool = { config: CONFIG, requests: [], leases: [], ...view };
  return { pool: 'default', at: T0, epoch: 1, admission: 'open', view: pool, ...over };
}

/** vision holds 48 of 64, 16 of them borrowed of speech; one of speech's jobs drains, another waits. */
export function busyPool(): PoolSnapshot {
  const leases = [
    lease('train-1'),
    lease('train-2', { state: 'asking', startedAt: T0 - MINUTE }),
    lease('sweep-3', { startedAt: T0 - 30_000, priority: 5 }),
    lease('eval-4', { project: 'speech', user: 'carol', units: { v4: 8 }, state: 'draining' }),
  ];
  const requests = [
    request('tune-5', { project: 'speech', user: 'carol', units: { v4: 32 } }),
    request('big-6', { units: { v4: 64 } }),
  ];
  const memory = {
    ...NO_MEMORY,
    reservations: [{ id: requests[1]?.id as string, tier: 0, madeAt: T0 - 2 * MINUTE }],
    coolDowns: [{ type: 'v5litepod', tier: 1, zone: 'us-central1-a', failures: 2, until: T0 + 9 * MINUTE }],
  };
  return snapshot({ leases, requests, memory }, { source: 'applied by alice' });
}
