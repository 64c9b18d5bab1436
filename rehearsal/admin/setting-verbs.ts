import type { Tier } from '../tpu/settings.js';
import { TIERS } from '../tpu/settings.js';
import { AdminError, parse } from './admin-error.js';
import type { AdminParts } from './parts.js';
import { capacityRequest, clockRequest, configureRequest, quotaRequest } from './requests.js';

/** Verbs for capacity and quota, for how long states last, and for the clock. */

/** Changes settings. Resources that enter a state from now on obey them. Resources already in a state keep their time. */
export function configure({ cloud }: AdminParts, body: unknown): object {
  const given = Object.entries(parse(configureRequest, body)).filter(([, value]) => value !== undefined);
  cloud.configure(Object.fromEntries(given));
  return { ...cloud.state.settings };
}

/** Sets one entry of the capacity table. If the entry is below usage, resources in use stay and no request gets chips. */
export function capacity(parts: AdminParts, body: unknown): object {
  const { zone, generation, tier, chips } = parse(capacityRequest, body);
  const key = tier === undefined ? `${zone}/${generation}` : `${zone}/${generation}/${tier}`;
  const table = withLimits(parts.cloud.state.settings.capacity, [key], chips);
  configure(parts, { capacity: table });
  return { capacity: table };
}

/** Sets the quota of one project, or of each project without an entry; for one tier, or for each. */
export function quota(parts: AdminParts, body: unknown): object {
  const { project, zone, generation, tier, chips } = parse(quotaRequest, body);
  const tiers: readonly Tier[] = tier === undefined ? TIERS : [tier];
  const keys = tiers.map((each) => `${project ?? '*'}/${zone}/${generation}/${each}`);
  const table = withLimits(parts.cloud.state.settings.quota, keys, chips);
  configure(parts, { quota: table });
  return { quota: table };
}

function withLimits(
  table: Readonly<Record<string, number>>,
  keys: readonly string[],
  chips: number | null,
): Readonly<Record<string, number>> {
  const others = Object.entries(table).filter(([key]) => !keys.includes(key));
  return Object.fromEntries([...others, ...(chips === null ? [] : keys.map((key) => [key, chips] as const))]);
}

export function clock(parts: AdminParts, body: unknown): object {
  const { scale, frozen, stepMs } = parse(clockRequest, body);
  try {
    if (scale !== undefined || frozen !== undefined) parts.clock.set({ scale, frozen });
    if (stepMs !== undefined) parts.clock.step(stepMs);
  } catch (error) {
    throw error instanceof RangeError ? new AdminError(400, error.message) : error;
  }
  return shownClock(parts);
}

/** `now`: the cloud's time; `wall`: this computer's. Both in epoch ms. */
export function shownClock({ clock: time }: AdminParts): object {
  return { now: time.now(), wall: Date.now(), scale: time.scale, frozen: time.isFrozen };
}
