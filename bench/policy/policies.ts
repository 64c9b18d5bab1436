import { unitsOf } from '../../domain/units.js';
import { decide } from '../../quota/decide.js';
import { NO_MEMORY } from '../../quota/quota-config.js';
import type { Decision, Grant, LimitedQuota, Pool, QuotaRequest } from '../../quota/quota-config.js';
import type { Policy } from '../../test/quota/simulation.js';
import { bastionPass } from '../quota/bastion.js';
import { TYPE } from './month.js';

/** A policy for sharing a pool, and its manner of eviction. */
export interface Contender {
  readonly name: string;
  readonly policy: Policy;
  /** Notice before a job's chips are taken, in ms; 0: no notice. */
  readonly graceMs: number;
  /** The policy decides only at multiples of this time; absent: at each change. */
  readonly tickMs?: number;
}

/** Time between SIGTERM and SIGKILL if a job file sets no `grace`. */
const GRACE_MS = 30_000;
const BASTION_CYCLE_MS = 30_000;

export const jobctl: Contender = { name: 'jobctl', policy: decide, graceMs: GRACE_MS };

/**
 * Bastion's pass in every cycle. A running job that is not admitted is killed at once; an admitted job starts. The real Bastion
 * starts a job before the evicted job's chips are free. Here the job waits for them, which costs Bastion nothing and spares it a
 * failed create.
 */
export const bastion: Contender = { name: 'Bastion', policy: decideAsBastion, graceMs: 0, tickMs: BASTION_CYCLE_MS };

/** Strict order of arrival: no job passes the head of the line, no job is evicted, and there is no quota. */
export const fifo: Contender = { name: 'FIFO', policy: decideByArrival, graceMs: 0 };

function decideAsBastion({ config, requests, leases }: Pool): Decision {
  const { tiers, projects } = limited(config);
  const running = leases.filter(({ state }) => state !== 'draining');
  const shares = Object.fromEntries(projects.map((project) => [project.name, project.shares]));
  const verdicts = bastionPass({ tiers, shares, jobs: [...requests, ...running] });
  const admitted = new Set(verdicts.flatMap(({ id, tier }) => (tier === null ? [] : [id])));
  const waiting = new Map(requests.map((request) => [request.id, request]));
  const inLine = verdicts.flatMap(({ id }) => (admitted.has(id) ? (waiting.get(id) ?? []) : []));
  return {
    grants: intoFree(inLine, freeUnits(tiers[0], leases), 'pass'),
    preemptions: running
      .filter(({ id }) => !admitted.has(id))
      .map(({ id }) => ({ id, for: 'the pass', cause: 'quota' as const })),
    memory: NO_MEMORY,
  };
}

function decideByArrival({ config, requests, leases }: Pool): Decision {
  const inLine = requests.toSorted((a, b) => a.submittedAt - b.submittedAt || (a.id < b.id ? -1 : 1));
  const free = freeUnits(limited(config).tiers[0], leases);
  return { grants: intoFree(inLine, free, 'stop'), preemptions: [], memory: NO_MEMORY };
}

/** @param unfit whether a job that does not fit is passed over or stops the line */
function intoFree(inLine: readonly QuotaRequest[], free: number, unfit: 'pass' | 'stop'): Grant[] {
  const grants: Grant[] = [];
  let left = free;
  for (const { id, units } of inLine) {
    const asked = unitsOf(units, TYPE);
    if (asked > left && unfit === 'stop') break;
    if (asked > left) continue;
    left -= asked;
    grants.push({ id, tier: 0 });
  }
  return grants;
}

function freeUnits(tier: LimitedQuota['tiers'][number] = {}, leases: Pool['leases']): number {
  return leases.reduce((free, { units }) => free - unitsOf(units, TYPE), unitsOf(tier, TYPE));
}

function limited(config: Pool['config']): LimitedQuota {
  if (config.kind === 'unlimited') throw new TypeError('the pool of a month has a quota file');
  return config;
}
