import { given } from '../../job-file/fields.js';
import {
  GENERATION_FACTS,
  GENERATIONS,
  type AcceleratorType,
  acceleratorHint,
  acceleratorNamed,
  acceleratorOfTopology,
  canonicalGeneration,
  hasTopology,
  topologyHint,
  topologiesOf,
} from '../../accelerators.js';
import { POOL_KEYS, withPoolDefaults } from '../../job-file/pool-defaults.js';
import type { Report } from '../../job-file/report.js';
import type { RequestContext, ResolvedRequest } from '../kind.js';
import {
  resolveLabels,
  resolveMetadata,
  resolveNames,
  resolveZones,
  warnOfSecretMetadata,
  withoutUndefined,
} from './google-keys.js';
import { type GooglePlace, type TpuForm, ANY_ZONE, type CloudTpuRequest, type CloudTpuSection } from './words.js';
import {
  mostTpuDisks,
  resolveDataDisks,
  resolveNetwork,
  resolveScopes,
  resolveServiceAccount,
} from './google-resources.js';
import { resolveAdopt } from './adoption.js';
import { applyCreateFlags } from './create-flags.js';
import { pricingOf, resolveCapacity, resolveHedge, warnOfHedge, warnOfRunDuration } from './capacity-keys.js';
import { warnOfZones, zonesWith } from './type-zones.js';

type TpuSpec = CloudTpuRequest;

const inTpu = (report: Report): GooglePlace => ({ section: 'tpu', report });

/** The `tpu` section with its defaults, or undefined if the accelerator is not known, which is reported. */
export function resolveTpu(
  form: TpuForm,
  context: RequestContext,
  report: Report,
): ResolvedRequest<CloudTpuSection> | undefined {
  const { slices, atomic, pool } = context;
  const flagged = applyCreateFlags(form, report);
  const { form: own, adopt } = resolveAdopt(atomic ? queued(flagged, report) : flagged, context, inTpu(report));
  warnOfSecretMetadata(own, inTpu(report));
  const type = resolveAccelerator(own, report);
  const tpu = pool === undefined ? own : withPoolDefaults(own, pool, type, report);
  const zones = resolveZones(tpu, context, inTpu(report), (given) =>
    zonesWith(type, { ...given, pool: context.poolName }, report),
  );
  const path = ['tpu', typeof tpu.zone === 'string' ? 'zone' : 'zones'];
  if (type !== undefined && tpu.zones !== ANY_ZONE) warnOfZones(type, zones, { path, report });
  const spec = resolveRest(tpu, zones, report);
  warnOfRunDuration(own, report);
  warnOfHedge(own, zones, report);
  if (type === undefined) return undefined;
  const { num_workers: workers } = own;
  if (typeof workers === 'number' && workers !== type.hosts)
    report.warn(['tpu', 'num_workers'], `is JobMan's own and does nothing here: ${type.type} has ${type.hosts} hosts`);
  if (atomic) checkMultislice(type, report);
  else if (slices > 1 && isBeforeMultislice(type.generation))
    report.warn(['slices'], `multislice is for v4 and later: slices of ${type.type} do not reach each other's chips`);
  const runtimeVersion = tpu.version ?? GENERATION_FACTS[type.generation].defaultRuntime;
  warnOfRuntime(runtimeVersion, type, report);
  const optional = withoutUndefined({
    anyZone: tpu.zones === ANY_ZONE ? (true as const) : undefined,
    topology: resolveTopology(tpu, type, report),
    adopt,
    dataDisks: resolveDataDisks(tpu, { zones, most: mostTpuDisks(type), hosts: type.hosts * slices }, inTpu(report)),
  });
  const leftToPool = pool === undefined ? POOL_KEYS.filter((key) => !isSaid(own, key)) : [];
  return {
    request: { tpu: { ...spec, ...optional, accelerator: type.type, zones, runtimeVersion } },
    slice: type,
    ...withoutUndefined({ namedPricing: pricingOf(own) }),
    leftToPool,
  };
}

/** Checks those of a pool's defaults for `tpu` that do not depend on the job. */
export function checkPoolDefaults(tpu: TpuForm, report: Report): void {
  const { pricing, reservation, run_duration, valid_until, ...rest } = tpu;
  const zones = resolveZones(rest, { pool: undefined }, inTpu(report));
  // A pool may have a reservation beside another pricing, for jobs that ask for reserved.
  resolveRest({ ...rest, reservation }, zones, report);
  resolveCapacity({ pricing, valid_until }, zones, report);
  resolveCapacity({ run_duration }, zones, report);
  resolveDataDisks(rest, { zones, most: mostTpuDisks(undefined), hosts: 1 }, inTpu(report));
}

function isSaid(tpu: TpuForm, key: string): boolean {
  return given(key === 'zone' ? (tpu.zone ?? tpu.zones) : tpu[key as keyof TpuForm]) !== undefined;
}

/** A request for several slices must be a queued resource: each node is requested alone. */
function queued(tpu: TpuForm, report: Report): TpuForm {
  if (tpu.allocation_mode === 'tpu-vm') {
    const message = 'asks for several slices in one queued resource, and allocation_mode is tpu-vm';
    report.problem(['atomic'], true, message, 'write allocation_mode: queued-resources, or leave atomic out');
  }
  return { ...tpu, allocation_mode: 'queued-resources' };
}

const isBeforeMultislice = (generation: AcceleratorType['generation']): boolean =>
  generation === 'v2' || generation === 'v3';

/** Google refuses multislice for v2 and supports it "from v4 on" (AI-Hypercomputer/maxtext#158, 2023-09). */
function checkMultislice({ type, generation }: AcceleratorType, report: Report): void {
  if (!isBeforeMultislice(generation)) return;
  const message = `is for v4 and later: Google takes no request for several slices of ${type}`;
  report.problem(['atomic'], true, message, 'leave atomic out, or take a later type');
}

function resolveAccelerator(tpu: TpuForm, report: Report): AcceleratorType | undefined {
  const path = ['tpu', 'accelerator'];
  const { accelerator, topology } = tpu;
  if (typeof accelerator !== 'string') {
    report.missing(path, 'such as accelerator: v5litepod-16');
    return undefined;
  }
  const isGeneration = GENERATIONS.some((generation) => generation === canonicalGeneration(accelerator.trim()));
  if (isGeneration && typeof topology === 'string') {
    const type = acceleratorOfTopology(accelerator, topology);
    if (type === undefined)
      report.wrong(['tpu', 'topology'], topology, `no topology of ${accelerator}`, topologiesOf(accelerator));
    return type;
  }
  const type = acceleratorNamed(accelerator);
  if (type === undefined) report.wrong(path, accelerator, 'no Cloud TPU type', acceleratorHint(accelerator));
  return type;
}

type KeysOfOneType = 'adopt' | 'accelerator' | 'zones' | 'anyZone' | 'runtimeVersion' | 'topology' | 'dataDisks';

/** Resolves all keys that do not depend on the type of the slice. */
function resolveRest(tpu: TpuForm, zones: readonly string[], report: Report): Omit<TpuSpec, KeysOfOneType> {
  const place = inTpu(report);
  const { name, project } = resolveNames(tpu, place);
  const capacity = resolveCapacity(tpu, zones, report);
  const { allocationMode, pricing, reservation } = capacity;
  const { network, subnetwork, tags } = resolveNetwork(tpu, zones, place);
  const optional = {
    name,
    project,
    startupScript: given(tpu.startup_script),
    network,
    subnetwork,
    serviceAccount: resolveServiceAccount(tpu, place),
    scopes: resolveScopes(tpu, place),
    reservation,
    reservationBound: capacity.reservationBound,
    runSeconds: capacity.runSeconds,
    validUntilSeconds: capacity.validUntilSeconds,
    hedge: resolveHedge(tpu, capacity, report),
  };
  return {
    allocationMode,
    pricing,
    tags,
    metadata: resolveMetadata(tpu, place),
    labels: resolveLabels(tpu, place),
    externalIps: tpu.external_ips ?? true,
    ...withoutUndefined(optional),
  };
}

function resolveTopology(tpu: TpuForm, type: AcceleratorType, report: Report): string | undefined {
  const topology = given(tpu.topology);
  if (topology !== undefined && !hasTopology(type, topology))
    report.wrong(['tpu', 'topology'], topology, `no topology of ${type.type}`, topologyHint(type));
  return topology;
}

/** The part of a runtime version's name that ties it to one generation, or to the first three (pytorch/xla#8295). */
const RUNTIME_MARKS: readonly (readonly [RegExp, readonly AcceleratorType['generation'][]])[] = [
  [/v5-?lite/, ['v5litepod']],
  [/tpuv5(?!-?lite)/, ['v5p']],
  [/v6e/, ['v6e']],
  [/^tpu-(ubuntu2204|vm(-v4)?)-base$/, ['v2', 'v3', 'v4']],
];

function warnOfRuntime(version: string, type: AcceleratorType, report: Report): void {
  const generations = RUNTIME_MARKS.find(([mark]) => mark.test(version))?.[1];
  if (generations === undefined || generations.includes(type.generation)) return;
  const usual = GENERATION_FACTS[type.generation].defaultRuntime;
  report.warn(
    ['tpu', 'version'],
    `'${version}' is a runtime of ${generations.join(', ')}, and the accelerator is ${type.type} (usual: ${usual})`,
  );
}
