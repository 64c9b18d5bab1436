import { resolveDataDisks, resolveNetwork, resolveScopes, resolveServiceAccount } from './google-resources.js';
import { given, textValues } from '../../job-file/fields.js';
import { GENERATION_FACTS, GENERATIONS } from '../../accelerators.js';
import type { AcceleratorType } from '../../accelerators.js';
import { LABEL_KEY, LABEL_VALUE, OWN_LABEL_PREFIX, OWN_LABELS } from '../../identity.js';
import type { RequestContext, ResolvedRequest } from '../kind.js';
import type { CloudTpuRequest, CloudTpuSection } from './words.js';
import type { Path } from '../../problem.js';
import {
  acceleratorHint,
  acceleratorNamed,
  acceleratorOfTopology,
  canonicalGeneration,
  hasTopology,
  topologyHint,
  topologiesOf,
} from '../../job-file/accelerator.js';
import { pricingOf, resolveCapacity } from './capacity-keys.js';
import { GOOGLE_PROJECT } from '../../job-file/cloud-path.js';
import { applyCreateFlags } from './create-flags.js';
import { POOL_KEYS, withPoolDefaults } from '../../job-file/pool-defaults.js';
import type { PoolDefaults } from '../../job-file/pool-defaults.js';
import type { Report } from '../../job-file/report.js';
import type { TpuForm } from './section-form.js';

type TpuSpec = CloudTpuRequest;

/** The `tpu` section with its defaults; undefined if the accelerator is not known, which is reported. */
export function resolveTpu(
  form: TpuForm,
  { slices, atomic, pool }: RequestContext,
  report: Report,
): ResolvedRequest<CloudTpuSection> | undefined {
  const flagged = applyCreateFlags(form, report);
  const own = atomic ? queued(flagged, report) : flagged;
  const type = resolveAccelerator(own, report);
  const tpu = pool === undefined ? own : withPoolDefaults(own, pool, type, report);
  const zones = resolveZones(tpu, pool, report);
  const spec = resolveRest(tpu, zones, report);
  if (type === undefined) return undefined;
  if (atomic) checkMultislice(type, report);
  const runtimeVersion = tpu.version ?? GENERATION_FACTS[type.generation].defaultRuntime;
  warnOfRuntime(runtimeVersion, type, report);
  const optional = withoutUndefined({
    topology: resolveTopology(tpu, type, report),
    dataDisks: resolveDataDisks(tpu, { zones, type, slices }, report),
  });
  const leftToPool = pool === undefined ? POOL_KEYS.filter((key) => !isSaid(own, key)) : [];
  return {
    request: { tpu: { ...spec, ...optional, accelerator: type.type, zones, runtimeVersion } },
    slice: type,
    ...withoutUndefined({ namedPricing: pricingOf(own) }),
    leftToPool,
  };
}

/** Checks the defaults of a pool, as `tpu` keys, for what does not depend on the job. */
export function checkPoolDefaults(tpu: TpuForm, report: Report): void {
  const { pricing, reservation, ...rest } = tpu;
  const zones = resolveZones(rest, undefined, report);
  // A pool may have a reservation beside another pricing: it is for jobs that ask for reserved.
  resolveRest({ ...rest, reservation }, zones, report);
  resolveCapacity({ pricing }, zones, report);
  resolveDataDisks(rest, { zones, type: undefined, slices: 1 }, report);
}

function isSaid(tpu: TpuForm, key: string): boolean {
  return given(key === 'zone' ? (tpu.zone ?? tpu.zones) : tpu[key as keyof TpuForm]) !== undefined;
}

/** One request for several slices is a queued resource: a node is asked for alone. */
function queued(tpu: TpuForm, report: Report): TpuForm {
  if (tpu.allocation_mode === 'tpu-vm') {
    const message = 'asks for several slices in one queued resource, and allocation_mode is tpu-vm';
    report.problem(['atomic'], true, message, 'write allocation_mode: queued-resources, or leave atomic out');
  }
  return { ...tpu, allocation_mode: 'queued-resources' };
}

/** Google refuses it for v2 and takes it "from v4 on" (AI-Hypercomputer/maxtext#158, 2023-09). */
function checkMultislice({ type, generation }: AcceleratorType, report: Report): void {
  if (generation !== 'v2' && generation !== 'v3') return;
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

/** Google's form of a zone: region, dash, letter. */
const ZONE = /^[a-z]+-[a-z]+\d+-[a-z]$/;

function resolveZones(tpu: TpuForm, pool: PoolDefaults | undefined, report: Report): readonly string[] {
  if (typeof tpu.zone === 'string' && Array.isArray(tpu.zones)) {
    report.problem(['tpu', 'zones'], tpu.zones, 'zone and zones are both given', 'keep zones, in order of preference');
  }
  if (typeof tpu.zone === 'string') checkZone(['tpu', 'zone'], tpu.zone, report);
  tpu.zones?.forEach((zone, index) => checkZone(['tpu', 'zones', index], zone, report));
  const zones = tpu.zones ?? (typeof tpu.zone === 'string' ? [tpu.zone] : []);
  const isDropped = report.wasDropped(['tpu', 'zone']) || report.wasDropped(['tpu', 'zones']);
  if (zones.length === 0 && pool !== undefined && !isDropped) noZone(pool, report);
  return [...new Set(zones)];
}

function noZone({ pool, file }: PoolDefaults, report: Report): void {
  const there =
    file === undefined ? `and pool '${pool}' has no pool file` : `and none in ${file}, the file of pool '${pool}'`;
  const hint = 'write such as zone: us-central1-a, or zones: [..]; for all jobs of a pool see docs/pool-file.md';
  report.problem(['tpu', 'zone'], undefined, `no zone in the job file, ${there}`, hint);
}

/** Reports what is no name of a zone. */
export function checkZone(path: Path, zone: string, report: Report): void {
  if (ZONE.test(zone)) return;
  const hint = /^[a-z]+-[a-z]+\d+$/.test(zone)
    ? `${zone} is a region: its zones end in a letter, such as ${zone}-a`
    : 'a zone is a region and a letter, such as us-central1-a';
  report.wrong(path, zone, 'no zone', hint);
}

const RESOURCE_PREFIX = /^[a-z]([a-z0-9-]*[a-z0-9])?$/;

type KeysOfOneType = 'accelerator' | 'zones' | 'runtimeVersion' | 'topology' | 'dataDisks';

/** All that does not depend on the type of the slice. */
function resolveRest(tpu: TpuForm, zones: readonly string[], report: Report): Omit<TpuSpec, KeysOfOneType> {
  const name = given(tpu.name);
  if (name !== undefined && !RESOURCE_PREFIX.test(name)) {
    const hint = 'small letters, digits and dashes; it starts with a letter';
    report.wrong(['tpu', 'name'], name, 'no resource name', hint);
  }
  const project = given(tpu.project);
  if (project !== undefined && !GOOGLE_PROJECT.test(project)) {
    const hint = 'the id of a Google Cloud project: 6 to 30 small letters, digits and dashes';
    report.wrong(['tpu', 'project'], project, 'no Google Cloud project id', hint);
  }
  const { allocationMode, pricing, reservation } = resolveCapacity(tpu, zones, report);
  const { network, subnetwork, tags } = resolveNetwork(tpu, zones, report);
  const optional = {
    name,
    project,
    startupScript: given(tpu.startup_script),
    network,
    subnetwork,
    serviceAccount: resolveServiceAccount(tpu, report),
    scopes: resolveScopes(tpu, report),
    reservation,
  };
  return {
    allocationMode,
    pricing,
    tags,
    metadata: resolveMetadata(tpu, report),
    labels: resolveLabels(tpu, report),
    externalIps: tpu.external_ips ?? true,
    ...withoutUndefined(optional),
  };
}

type Present<Values> = { [Key in keyof Values]?: Exclude<Values[Key], undefined> };

function withoutUndefined<Values extends Record<string, unknown>>(values: Values): Present<Values> {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as Present<Values>;
}

function resolveTopology(tpu: TpuForm, type: AcceleratorType, report: Report): string | undefined {
  const topology = given(tpu.topology);
  if (topology !== undefined && !hasTopology(type, topology))
    report.wrong(['tpu', 'topology'], topology, `no topology of ${type.type}`, topologyHint(type));
  return topology;
}

/** jobctl's own: it puts the login key there, and passes `startup_script` under Google's name. */
const OWN_METADATA = new Map([
  ['ssh-keys', 'jobctl puts the key of ssh.private_key there'],
  ['startup-script', 'write tpu.startup_script'],
]);

function resolveMetadata(tpu: TpuForm, report: Report): Record<string, string> {
  for (const key of Object.keys(tpu.metadata ?? {})) {
    const instead = OWN_METADATA.get(key);
    if (instead !== undefined)
      report.problem(['tpu', 'metadata', key], tpu.metadata?.[key], 'is set by jobctl', instead);
  }
  return textValues(tpu.metadata);
}

/** Google's limit of labels on a resource, ours among them. */
const MAX_LABELS = 64;

function resolveLabels(tpu: TpuForm, report: Report): Record<string, string> {
  const labels = textValues(tpu.labels);
  const most = MAX_LABELS - OWN_LABELS;
  const count = Object.keys(labels).length;
  if (count > most) report.problem(['tpu', 'labels'], labels, `has ${count} labels`, `${most} at most, beside ours`);
  for (const [key, value] of Object.entries(labels)) {
    const path = ['tpu', 'labels', key];
    if (key.startsWith(OWN_LABEL_PREFIX)) report.wrong(path, key, "one of jobctl's own labels", 'take another key');
    else if (!LABEL_KEY.test(key))
      report.wrong(path, key, 'no label key', 'a-z, 0-9, - and _; 63 at most; a letter first');
    else if (!LABEL_VALUE.test(value)) report.wrong(path, value, 'no label value', 'a-z, 0-9, - and _; 63 at most');
  }
  return labels;
}

/** Part of a runtime version's name by which it belongs to one generation. */
const RUNTIME_MARKS: readonly (readonly [RegExp, AcceleratorType['generation']])[] = [
  [/v5-?lite/, 'v5litepod'],
  [/tpuv5(?!-?lite)/, 'v5p'],
  [/v6e/, 'v6e'],
];

function warnOfRuntime(version: string, type: AcceleratorType, report: Report): void {
  const generation = RUNTIME_MARKS.find(([mark]) => mark.test(version))?.[1];
  if (generation === undefined || generation === type.generation) return;
  const usual = GENERATION_FACTS[type.generation].defaultRuntime;
  report.warn(
    ['tpu', 'version'],
    `'${version}' is a runtime of ${generation}, and the accelerator is ${type.type} (usual: ${usual})`,
  );
}
