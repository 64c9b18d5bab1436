import type { RegionQuota } from '../../cloud/google-project/port.js';
import { regionOf } from '../../domain/job-file/cloud-path.js';
import type { ProjectAnswers, ZoneAnswers, Wanted, WantedVms } from './facts.js';
import { couldNotLook, failed, type Finding, type Looked, ok, warning } from './finding.js';

/** Whether zones have the VMs that are wanted, and whether the project may have that many of them. */

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
    ...zones.flatMap((answers) => [...typeChecks(answers, wanted.vms), ...quotaChecks(googleProject, answers, wanted)]),
    ...allRegionsChecks(googleProject, projectQuotas, wanted),
  ];
}

function typeChecks({ zone, hasMachineType, hasAccelerator }: ZoneAnswers, vms: WantedVms): readonly Finding[] {
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

function quotaChecks(
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
  // A limit of 0 that nobody has asked for more of sends preemptible VMs to the quota of the others.
  const quota = quotas.find(({ limit }) => limit > 0) ?? quotas.at(-1);
  if (quota !== undefined) return [leftOf(googleProject, { check, place: region, quota, count })];
  const what = `could not look: Google lists no quota ${metrics.join(' or ')} for ${region}`;
  return [warning(check, what, `see 'https://console.cloud.google.com/iam-admin/quotas?project=${googleProject}'`)];
}

/** Families whose vCPUs are counted under CPUS: of these, Google's `Quota.Metric` has no name of their own that regions list. */
const UNDER_CPUS = /^(?:e2|f1|g1|n1|custom)$/;

/**
 * The first of these that has a limit above 0 counts. Names as in `Quota.Metric` of Google's client libraries (Compute v1, read
 * 2026-11): `NVIDIA_L4_GPUS`, `PREEMPTIBLE_NVIDIA_L4_GPUS`, `N2_CPUS`, `PREEMPTIBLE_CPUS`. Which family counts where was not tried.
 */
export function metricsOf({ machineType, gpus }: WantedVms, isPreemptible: boolean): readonly string[] {
  const [family = ''] = machineType.split('-');
  const own = UNDER_CPUS.test(family) ? 'CPUS' : `${family.toUpperCase()}_CPUS`;
  const metric = gpus === undefined ? own : `NVIDIA_${gpus.type.toUpperCase().replaceAll('-', '_')}_GPUS`;
  const preemptible = gpus === undefined ? 'PREEMPTIBLE_CPUS' : `PREEMPTIBLE_${metric}`;
  return isPreemptible ? [preemptible, metric] : [metric];
}

const ALL_REGIONS = 'GPUS_ALL_REGIONS';

/** A new project has 0 of it: then no zone gives a GPU, whatever its own quota. */
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
