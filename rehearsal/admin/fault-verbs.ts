import { findStatus } from '../tpu/api-error.js';
import type { Hold } from '../tpu/fault-rules.js';
import { AdminError, parse } from './admin-error.js';
import type { AdminParts } from './parts.js';
import { holdRequest, listLagRequest, refuseRequest, releaseRequest } from './requests.js';

/** Verbs for faults of the API and of the service. They act from now on. */

export function refuse({ cloud, clock }: AdminParts, body: unknown): object {
  const { method, code, message, reason, times, forMs, afterEffect, as, nameMatches, zone } = parse(
    refuseRequest,
    body,
  );
  const status = findStatus(code);
  if (status === undefined) throw new AdminError(400, `code: ${code}`);
  cloud.state.refusals.push({
    method,
    status,
    message: message ?? `refused by the rehearsal's admin interface (${status})`,
    times,
    afterEffect: afterEffect ?? false,
    nameMatches,
    ...(reason !== undefined && { reason }),
    ...(as !== undefined && { as }),
    ...(zone !== undefined && { zone }),
    ...(forMs !== undefined && { until: clock.now() + forMs }),
  });
  return { refusals: cloud.state.refusals };
}

export function endRefusals({ cloud }: AdminParts): object {
  cloud.state.refusals = [];
  return { refusals: [] };
}

/** From now on resources do not leave the state by themselves. */
export function hold({ cloud }: AdminParts, body: unknown): object {
  const { state, nameMatches } = parse(holdRequest, body);
  cloud.state.holds.push({ state, nameMatches });
  return { holds: cloud.state.holds };
}

export function release({ cloud }: AdminParts, body: unknown): object {
  const { state, nameMatches } = parse(releaseRequest, body);
  const isReleased = (held: Hold): boolean =>
    (state === undefined || held.state === state) && (nameMatches === undefined || held.nameMatches === nameMatches);
  cloud.state.holds = cloud.state.holds.filter((held) => !isReleased(held));
  return { holds: cloud.state.holds };
}

export function listLag({ cloud, clock }: AdminParts, body: unknown): object {
  const { lagMs } = parse(listLagRequest, body);
  // An existing lag keeps its start: resources that it still hides must not show for a moment.
  cloud.state.listLag = lagMs === 0 ? undefined : { lagMs, since: cloud.state.listLag?.since ?? clock.now() };
  return { lagMs };
}
