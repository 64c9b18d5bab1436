import { type AcceleratorType, GENERATIONS, type Generation, quotaUnitsOf } from '../../domain/accelerators.js';
import { nearestWord } from '../../domain/nearest-word.js';
import type { QuotaLimit, RegionQuota } from '../../cloud/google-project/port.js';
import type { ProjectAnswers, ZoneAnswers, Wanted, WantedVms } from './facts.js';
import { couldNotLook, failed, ok, warning, type Finding, type Looked } from './finding.js';
import { regionOf } from '../../domain/job-file/cloud-path.js';
import { smallest } from '../../domain/extremes.js';

/** Checks whether a zone has the wanted type and runtime, and whether the project's quota is large enough. */

export function placeChecks(
  googleProject: string,
  { zones, quotaLimits }: ProjectAnswers,
  wanted: Wanted,
): readonly Finding[] {
  if (zones.length === 0) {
    const what = 'none is named: types, quota, subnetwork and addresses were not looked at';
    return [warning('zone', what, 'name it: --zone us-central1-a, or a job file')];
  }
  return zones.flatMap((answers) => [
    ...typeChecks(answers, wanted),
    ...(wanted.accelerator === undefined
      ? []
      : [quotaCheck(googleProject, quotaLimits, answers.zone, wanted.accelerator, wanted)]),
  ]);
}

function typeChecks(answers: ZoneAnswers, { accelerator, runtimeVersion }: Wanted): readonly Finding[] {
  const { zone } = answers;
  if (accelerator === undefined) {
    return [
      warning(
        `${zone} type`,
        'no accelerator is named: type and quota were not looked at',
        'name it: --accelerator v5litepod-16, or a job file',
      ),
    ];
  }
  return [
    offerCheck(`${zone} type`, zone, accelerator.type, answers.acceleratorTypes),
    ...(runtimeVersion === undefined
      ? []
      : [offerCheck(`${zone} runtime`, zone, runtimeVersion, answers.runtimeVersions)]),
  ];
}

function offerCheck(check: string, zone: string, wanted: string, offered: Looked<readonly string[]>): Finding {
  if (!offered.known) {
    return offered.kind === 'unknown-zone'
      ? failed(check, offered.why, offered.remedy ?? '')
      : couldNotLook(check, offered);
  }
  if (offered.value.includes(wanted)) return ok(check, `${zone} offers ${wanted}`);
  const nearest = nearestWord(wanted, offered.value);
  const hint = nearest === undefined ? '' : `; the nearest is ${nearest}`;
  const command = check.endsWith('type') ? 'accelerator-types' : 'versions';
  return failed(
    check,
    `${zone} does not offer ${wanted}${hint}`,
    `see 'gcloud compute tpus ${command === 'versions' ? 'tpu-vm versions' : command} list --zone=${zone}', or take another zone`,
  );
}

function quotaCheck(
  googleProject: string,
  limits: Looked<readonly QuotaLimit[]>,
  zone: string,
  accelerator: AcceleratorType,
  { pricing, slices }: Wanted,
): Finding {
  const check = `${zone} quota`;
  if (pricing === 'reserved') return warning(check, 'could not look: what a reservation holds is in no quota');
  if (!limits.known) return couldNotLook(check, limits);
  const found = quotaOf(limits.value, accelerator, pricing !== 'ondemand', zone);
  if (found === undefined) {
    const what = `could not look: Google lists no quota of ${accelerator.generation} ${pricing} for ${zone}`;
    return warning(check, what, `see 'https://console.cloud.google.com/iam-admin/quotas?project=${googleProject}'`);
  }
  const wanted = quotaUnitsOf(accelerator) * slices;
  const metric = found.metric.slice(found.metric.lastIndexOf('/') + 1);
  if (found.limit === 'unlimited') return ok(check, `${metric} has no limit in ${zone}`);
  if (found.limit >= wanted)
    return ok(check, `${metric}: ${found.limit} in ${zone}, ${wanted} wanted (what is in use is not told)`);
  const link = `https://console.cloud.google.com/iam-admin/quotas?project=${googleProject}&metric=${encodeURIComponent(found.metric)}`;
  return failed(
    check,
    `${metric}: ${found.limit} in ${zone}, and ${wanted} are wanted`,
    `ask for more at ${link}, or take another zone or pricing`,
  );
}

interface FoundQuota {
  readonly metric: string;
  readonly limit: number | 'unlimited';
}

/**
 * The smallest limit that applies to the type in a zone: the zone's or the region's. Undefined if Google lists none. Google's
 * metrics as seen in field reports (2025 to 2026): `tpu-v5s-litepod[-serving][-preemptible]`, `tpu-v5p[..]`, `tpu-v6e[..]`,
 * `tpu-v4s[..]`; those of v2 and v3 are guessed from their quotas' ids (`TPUV2sPreemptiblePodPerProjectPerRegion`).
 */
export function quotaOf(
  limits: readonly QuotaLimit[],
  accelerator: AcceleratorType,
  isPreemptible: boolean,
  zone: string,
): FoundQuota | undefined {
  const metric = metricOf(limits, accelerator, isPreemptible);
  const found = limits.filter((limit) => limit.metric === metric).flatMap((limit) => effectiveLimit(limit, zone) ?? []);
  if (metric === undefined || found.length === 0) return undefined;
  const limited = found.filter((limit) => limit >= 0);
  return { metric, limit: limited.length === 0 ? 'unlimited' : smallest(limited) };
}

/** The generation whose chips a metric of Cloud TPU counts, and whether as preemptible ones. Undefined: none that is known. */
function metricMeaning(
  metric: string,
): { readonly generation: Generation; readonly isPreemptible: boolean } | undefined {
  const name = metric.slice(metric.lastIndexOf('/') + 1);
  const generation = GENERATIONS.find((one) => METRIC_START[one].test(name));
  if (generation === undefined || OTHER_WAYS.test(name)) return undefined;
  return { generation, isPreemptible: PREEMPTIBLE.test(name) };
}

/** Metrics of chips that are got in another way than by a create. */
const OTHER_WAYS = /flex|queued|reserv/;
const PREEMPTIBLE = /preemptible|spot/;
const METRIC_START: Readonly<Record<Generation, RegExp>> = {
  v2: /^tpu-v2/,
  v3: /^tpu-v3/,
  v4: /^tpu-v4/,
  v5litepod: /^tpu-v5s?-litepod/,
  v5p: /^tpu-v5p/,
  v6e: /^tpu-v6e/,
};
/** v5litepod-1, -4 and -8 are counted as serving (field reports: `..LitepodServing.. exhausted` at a v5litepod-8). */
const LARGEST_SERVING_CHIPS = 8;

/** The metric that counts slices of this type. Undefined: Google lists none. */
export function metricOf(
  limits: readonly QuotaLimit[],
  { generation, chips, hosts }: AcceleratorType,
  isPreemptible: boolean,
): string | undefined {
  const names = [...new Set(limits.map(({ metric }) => metric))].filter((metric) => {
    const meaning = metricMeaning(metric);
    return meaning?.generation === generation && meaning.isPreemptible === isPreemptible;
  });
  const isKind = generation === 'v5litepod' ? /-serving/ : /-pod/;
  const isOfKind = generation === 'v5litepod' ? chips <= LARGEST_SERVING_CHIPS : hosts > 1;
  // If Google counts both kinds together, there is a single metric.
  return names.find((name) => isKind.test(name) === isOfKind) ?? names[0];
}

/** The places that a limit is for, one by one. */
export const scopeOf = ({ unit }: Pick<QuotaLimit, 'unit'>): 'zone' | 'region' | 'project' =>
  unit.includes('{zone}') ? 'zone' : unit.includes('{region}') ? 'region' : 'project';

/** The limit of every place that has none of its own; -1: no limit. */
export const generalLimit = ({ buckets }: Pick<QuotaLimit, 'buckets'>): number | undefined =>
  buckets.find(({ dimensions }) => Object.keys(dimensions).length === 0)?.effectiveLimit;

/** The most specific limit that applies to the zone; -1: no limit. */
export function effectiveLimit(limit: QuotaLimit, zone: string): number | undefined {
  const scope = scopeOf(limit);
  const place = scope === 'zone' ? zone : regionOf(zone);
  const specific = limit.buckets.find(({ dimensions }) => scope !== 'project' && dimensions[scope] === place);
  return specific?.effectiveLimit ?? generalLimit(limit);
}

/** Checks whether zones have the wanted VMs, and whether the project's quota is large enough. */

export function vmChecks(
  googleProject: string,
  { zones, projectQuotas }: ProjectAnswers,
  wanted: Wanted & { readonly vms: WantedVms },
): readonly Finding[] {
  if (zones.length === 0) {
    const what = 'none is named: machine types, quota, subnetwork and addresses were not looked at';
    return [warning('zone', what, 'name it: --zone us-central1-a, or compute_engine.zones of the job file')];
  }
  return [
    ...zones.flatMap((answers) => [
      ...machineTypeChecks(answers, wanted.vms),
      ...vmQuotaChecks(googleProject, answers, wanted),
    ]),
    ...allRegionsChecks(googleProject, projectQuotas, wanted),
  ];
}

function machineTypeChecks({ zone, hasMachineType, hasAccelerator }: ZoneAnswers, vms: WantedVms): readonly Finding[] {
  const offers = [
    { check: `${zone} machine type`, name: vms.machineType, command: 'machine-types', has: hasMachineType },
    { check: `${zone} accelerator`, name: vms.accelerator, command: 'accelerator-types', has: hasAccelerator },
  ];
  return offers.flatMap(({ check, name, command, has }): readonly Finding[] => {
    if (name === undefined || has === undefined) return [];
    if (!has.known)
      return [has.kind === 'unknown-zone' ? failed(check, has.why, has.remedy ?? '') : couldNotLook(check, has)];
    if (has.value) return [ok(check, `${zone} has ${name}`)];
    const remedy = `see 'gcloud compute ${command} list --filter=name=${name}', or take another zone`;
    return [failed(check, `${zone} does not have ${name}`, remedy)];
  });
}

function vmQuotaChecks(
  googleProject: string,
  { zone, regionQuotas }: ZoneAnswers,
  { vms, slices, pricing }: Wanted & { readonly vms: WantedVms },
): readonly Finding[] {
  const region = regionOf(zone);
  const check = `${zone} quota`;
  if (pricing === 'reserved') return [warning(check, 'could not look: what a reservation holds is in no quota')];
  if (!regionQuotas.known) return [couldNotLook(check, regionQuotas)];
  const count = (vms.gpus?.count ?? vms.cpus ?? 1) * vms.count * slices;
  const metrics = metricsOf(vms, pricing !== 'ondemand');
  const quotas = metrics.flatMap((metric) => regionQuotas.value.find((quota) => quota.metric === metric) ?? []);
  // With the initial limit of 0, preemptible VMs count against the quota of other VMs.
  const quota = quotas.find(({ limit }) => limit > 0) ?? quotas.at(-1);
  if (quota !== undefined) return [leftOf(googleProject, { check, place: region, quota, count })];
  const what = `could not look: Google lists no quota ${metrics.join(' or ')} for ${region}`;
  return [warning(check, what, `see 'https://console.cloud.google.com/iam-admin/quotas?project=${googleProject}'`)];
}

/** Families whose vCPUs count under CPUS: regions list no metric of Google's `Quota.Metric` with the family's name. */
const UNDER_CPUS = /^(?:e2|f1|g1|n1|custom)$/;

/**
 * Metrics, of which the first with a limit above 0 counts. Names are those of `Quota.Metric` in Google's client libraries
 * (Compute v1, read 2026-11): `NVIDIA_L4_GPUS`, `PREEMPTIBLE_NVIDIA_L4_GPUS`, `N2_CPUS`, `PREEMPTIBLE_CPUS`. It was not tried
 * which family counts under which name.
 */
export function metricsOf({ machineType, gpus }: WantedVms, isPreemptible: boolean): readonly string[] {
  const [family = ''] = machineType.split('-');
  const own = UNDER_CPUS.test(family) ? 'CPUS' : `${family.toUpperCase()}_CPUS`;
  const metric = gpus === undefined ? own : `NVIDIA_${gpus.type.toUpperCase().replaceAll('-', '_')}_GPUS`;
  const preemptible = gpus === undefined ? 'PREEMPTIBLE_CPUS' : `PREEMPTIBLE_${metric}`;
  return isPreemptible ? [preemptible, metric] : [metric];
}

const ALL_REGIONS = 'GPUS_ALL_REGIONS';

/** Checks the quota of GPUs in all regions. A new project has 0, and then no zone gives a GPU, whatever its own quota. */
function allRegionsChecks(
  googleProject: string,
  quotas: Looked<readonly RegionQuota[]> | undefined,
  { vms: { gpus, count }, slices }: Wanted & { readonly vms: WantedVms },
): readonly Finding[] {
  const check = 'GPU quota';
  if (quotas === undefined || gpus === undefined) return [];
  if (!quotas.known) return [couldNotLook(check, quotas)];
  const quota = quotas.value.find(({ metric }) => metric === ALL_REGIONS);
  if (quota === undefined) return [warning(check, `could not look: Google lists no quota ${ALL_REGIONS}`)];
  return [leftOf(googleProject, { check, place: 'all regions', quota, count: gpus.count * count * slices })];
}

interface Left {
  readonly check: string;
  readonly place: string;
  readonly quota: RegionQuota;
  readonly count: number;
}

function leftOf(googleProject: string, { check, place, quota: { metric, limit, usage }, count }: Left): Finding {
  const free = limit - usage;
  const state = `${metric}: ${free} of ${limit} are free in ${place}`;
  if (free >= count) return ok(check, `${state}, ${count} wanted`);
  const link = `https://console.cloud.google.com/iam-admin/quotas?project=${googleProject}&metric=compute.googleapis.com%2F${metric.toLowerCase()}`;
  return failed(check, `${state}, and ${count} are wanted`, `ask for more at ${link}, or take another zone or pricing`);
}
