import type { GoogleProjectPort, QuotaLimit, RegionQuota, TpuNodes } from '../../cloud/google-project/port.js';
import { acceleratorNamed, quotaUnitsOf } from '../../domain/accelerators.js';
import { messageOf } from '../../domain/errors.js';
import { regionOf } from '../../domain/job-file/cloud-path.js';
import { effectiveLimit, generalLimit, metricOf, scopeOf } from './place-checks.js';

/** A quota of Google's in one place. */
export interface CloudQuotaRow {
  /** A zone or region; `any other zone` of a limit that has none of its own there. */
  readonly place: string;
  /** `tpu-v6e-preemptible`, `CPUS`. */
  readonly quota: string;
  /** Absent: unlimited. */
  readonly limit?: number;
  /** Absent: could not look, or no place of its own. Of Cloud TPU: in the unit of its type's name, as listed nodes have it. */
  readonly inUse?: number;
}

export interface CloudQuota {
  readonly rows: readonly CloudQuotaRow[];
  /** Reserved chips, which count against no quota, and what could not be read: one sentence each. */
  readonly notes: readonly string[];
}

interface Wish {
  /** Zones whose quota is wanted beside those that have nodes or a limit of their own. */
  readonly zones: readonly string[];
  /** Also quotas of Compute Engine of which nothing is in use. */
  readonly isAll: boolean;
}

/**
 * Google's quota for Cloud TPU by zone, with what the project's nodes take of it, whoever made them; and of Compute Engine in
 * the regions of those zones.
 * @throws GoogleCallFailed if the limits themselves cannot be read
 */
export async function cloudQuotaOf(google: GoogleProjectPort, wish: Wish): Promise<CloudQuota> {
  const notes: string[] = [];
  const tried = async <T>(what: string, asking: Promise<T>): Promise<T | undefined> =>
    asking.catch((error: unknown) => {
      notes.push(`${what}: could not look: ${messageOf(error).split('\n')[0]}`);
      return undefined;
    });
  const [limits, listed] = await Promise.all([google.quotaLimits(), tried('nodes', google.tpuNodes())]);
  for (const zone of listed?.unreachable ?? []) notes.push(`nodes of ${zone}: could not look: Google did not reach it`);
  const zones = placesOf(limits, listed, wish.zones);
  const regions = [...new Set(zones.map(regionOf))].toSorted();
  const ofRegions = await Promise.all(
    regions.map(async (region) => ({ region, quotas: await tried(region, google.regionQuotas(region)) })),
  );
  const reserved = listed?.nodes.filter(({ isReserved }) => isReserved) ?? [];
  if (reserved.length > 0) notes.push(`reserved, and in no quota: ${unitsByType(reserved)}`);
  const rows = [
    ...tpuRows(limits, listed, zones),
    ...ofRegions.flatMap(({ region, quotas = [] }) => computeRows(region, quotas, wish.isAll)),
  ];
  return { rows, notes };
}

function placesOf(
  limits: readonly QuotaLimit[],
  listed: TpuNodes | undefined,
  wanted: readonly string[],
): readonly string[] {
  const own = limits.flatMap(({ buckets }) => buckets.flatMap(({ dimensions }) => dimensions['zone'] ?? []));
  return [...new Set([...wanted, ...own, ...(listed?.nodes ?? []).map(({ zone }) => zone)])].toSorted();
}

/** Limits by zone, those of a region too, and one row for all zones without a limit of their own. */
function tpuRows(
  limits: readonly QuotaLimit[],
  listed: TpuNodes | undefined,
  zones: readonly string[],
): readonly CloudQuotaRow[] {
  return limits.flatMap((limit) => {
    const quota = limit.metric.slice(limit.metric.lastIndexOf('/') + 1);
    const scope = scopeOf(limit);
    const placeOf = (zone: string): string => (scope === 'region' ? regionOf(zone) : zone);
    const places = scope === 'project' ? [] : [...new Set(zones.map(placeOf))];
    const rows = places.flatMap((place): readonly CloudQuotaRow[] => {
      const inside = zones.filter((zone) => placeOf(zone) === place);
      const most = effectiveLimit(limit, inside[0] ?? place);
      if (most === undefined) return [];
      const isMissing = inside.some((one) => listed?.unreachable.includes(one));
      const inUse = listed === undefined || isMissing ? {} : { inUse: usageOf(limits, limit.metric, listed, inside) };
      return [{ place, quota, ...(most >= 0 && { limit: most }), ...inUse }];
    });
    const general = generalLimit(limit);
    const place = scope === 'project' ? scope : `any other ${scope}`;
    // Google leaves a limit of 0 out.
    return general === undefined ? rows : [...rows, { place, quota, ...(general >= 0 && { limit: general }) }];
  });
}

function usageOf(limits: readonly QuotaLimit[], metric: string, { nodes }: TpuNodes, zones: readonly string[]): number {
  let units = 0;
  for (const { zone, acceleratorType, isPreemptible, isReserved } of nodes) {
    const accelerator = acceleratorNamed(acceleratorType);
    if (accelerator === undefined || isReserved || !zones.includes(zone)) continue;
    if (metricOf(limits, accelerator, isPreemptible) === metric) units += quotaUnitsOf(accelerator);
  }
  return units;
}

function unitsByType(nodes: TpuNodes['nodes']): string {
  const counts = new Map<string, number>();
  for (const { zone, acceleratorType } of nodes) {
    const key = `${acceleratorType} in ${zone}`;
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  return [...counts].map(([key, number]) => `${number} x ${key}`).join(', ');
}

const computeRows = (region: string, quotas: readonly RegionQuota[], isAll: boolean): readonly CloudQuotaRow[] =>
  quotas
    .filter(({ limit, usage }) => usage > 0 || (isAll && limit > 0))
    .map(({ metric, limit, usage }) => ({ place: region, quota: metric, limit, inUse: usage }));
