import { decide } from '../../../quota/decide.js';
import { DEFAULT_RULES } from '../../../quota/quota-config.js';
import type { LimitedQuota, PoolRules } from '../../../quota/quota-config.js';
import { project } from '../builders.js';
import { Simulation } from '../simulation.js';
import type { SimulatedJob, World } from '../simulation.js';

export const MINUTE = 60_000;
/** In minutes, for assertions and messages. */
export const inMinutes = (ms: number | undefined): number => (ms ?? Number.NaN) / MINUTE;

/** A pool of v4 with nominal quotas by project, in one tier, with the rules of docs/quota.md unless said otherwise. */
export function poolOf(
  v4: number,
  nominal: Readonly<Record<string, number>>,
  rules: Partial<PoolRules> = {},
): LimitedQuota {
  const projects = Object.entries(nominal).map(([name, units]) => project(name, { v4: units }));
  return { kind: 'limited', tiers: [{ v4 }], projects, rules: { ...DEFAULT_RULES, ...rules } };
}

/** Chips come after 1 min; a job saves for 2 min, its slices are seen gone 1 min later. */
export const USUAL: World = { graceMs: 2 * MINUTE, drainMs: MINUTE, chipsAfterMs: () => MINUTE };
export const GRACE_AND_DRAIN_MS = USUAL.graceMs + USUAL.drainMs;

export const story = (config: LimitedQuota, world: Partial<World> = {}): Simulation =>
  new Simulation(decide, config, { ...USUAL, ...world });

/** Times in minutes. Dull where the case does not care. */
export function job(
  id: string,
  v4: number,
  { at = 0, work, ...more }: Partial<SimulatedJob> & { readonly at?: number; readonly work?: number } = {},
): SimulatedJob {
  return {
    id,
    project: 'none',
    user: 'u',
    priority: 3,
    submitAt: at * MINUTE,
    units: { v4 },
    ...(work !== undefined && { workMs: work * MINUTE }),
    ...more,
  };
}
