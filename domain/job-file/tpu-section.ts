import { GENERATION_FACTS } from '../accelerators.js';
import type { AcceleratorType } from '../accelerators.js';
import { LABEL_KEY, LABEL_VALUE, OWN_LABEL_PREFIX } from '../identity.js';
import type { JobSpec } from '../job-spec.js';
import type { Path } from '../problem.js';
import type { Pricing } from '../slice.js';
import { acceleratorHint, acceleratorNamed } from './accelerator.js';
import { applyCreateFlags } from './create-flags.js';
import { notBuilt } from './later-keys.js';
import { given, textValues } from './plain-values.js';
import type { Report } from './report.js';
import type { JobFile } from './sections.js';

type TpuForm = NonNullable<JobFile['tpu']>;
type TpuSpec = JobSpec['tpu'];

/** The `tpu` section with its defaults; undefined where accelerator or zones are not known, which is reported. */
export function resolveTpu(form: JobFile['tpu'], report: Report): { tpu: TpuSpec; type: AcceleratorType } | undefined {
  if (form === null || form === undefined) {
    report.missing(['tpu'], 'a job needs the section tpu, with accelerator and zone');
    return undefined;
  }
  const tpu = applyCreateFlags(form, report);
  const type = resolveAccelerator(tpu, report);
  const zones = resolveZones(tpu, report);
  const spec = resolveRest(tpu, report);
  if (type === undefined) return undefined;
  const runtimeVersion = tpu.version ?? GENERATION_FACTS[type.generation].defaultRuntime;
  warnOfRuntime(runtimeVersion, type, report);
  return { type, tpu: { ...spec, accelerator: type.type, zones, runtimeVersion } };
}

function resolveAccelerator(tpu: TpuForm, report: Report): AcceleratorType | undefined {
  const path = ['tpu', 'accelerator'];
  if (typeof tpu.accelerator !== 'string') {
    report.missing(path, 'such as accelerator: v5litepod-16');
    return undefined;
  }
  const type = acceleratorNamed(tpu.accelerator);
  if (type === undefined) report.wrong(path, tpu.accelerator, 'no Cloud TPU type', acceleratorHint(tpu.accelerator));
  return type;
}

/** Google's form of a zone: region, dash, letter. */
const ZONE = /^[a-z]+-[a-z]+\d+-[a-z]$/;

function resolveZones(tpu: TpuForm, report: Report): readonly string[] {
  if (typeof tpu.zone === 'string' && Array.isArray(tpu.zones)) {
    report.problem(['tpu', 'zones'], tpu.zones, 'zone and zones are both given', 'keep zones, in order of preference');
  }
  if (typeof tpu.zone === 'string') checkZone(['tpu', 'zone'], tpu.zone, report);
  tpu.zones?.forEach((zone, index) => checkZone(['tpu', 'zones', index], zone, report));
  const zones = tpu.zones ?? (typeof tpu.zone === 'string' ? [tpu.zone] : []);
  const isDropped = report.wasDropped(['tpu', 'zone']) || report.wasDropped(['tpu', 'zones']);
  if (zones.length === 0 && !isDropped) report.missing(['tpu', 'zone'], 'such as zone: us-central1-a, or zones: [..]');
  return [...new Set(zones)];
}

function checkZone(path: Path, zone: string, report: Report): void {
  if (ZONE.test(zone)) return;
  const hint = /^[a-z]+-[a-z]+\d+$/.test(zone)
    ? `${zone} is a region: its zones end in a letter, such as ${zone}-a`
    : 'a zone is a region and a letter, such as us-central1-a';
  report.wrong(path, zone, 'no zone', hint);
}

const PRICINGS = ['spot', 'ondemand', 'preemptible', 'reserved'] as const satisfies readonly Pricing[];

function resolvePricing(tpu: TpuForm, report: Report): Pricing {
  const path = ['tpu', 'pricing'];
  const word = (tpu.pricing ?? 'spot').toLowerCase().replace(/[-_]/g, '');
  const pricing = PRICINGS.find((known) => known === word);
  if (word === 'any') {
    const { message, hint } = notBuilt(`name one of ${PRICINGS.join(', ')}`, `'${tpu.pricing}'`);
    report.problem(path, tpu.pricing, message, hint);
  } else if (pricing === undefined) report.notAllowed(path, tpu.pricing ?? '', PRICINGS);
  if (given(tpu.reservation) !== undefined && pricing !== undefined && pricing !== 'reserved') {
    const message = `a reservation is used with pricing reserved only, and pricing is ${pricing}`;
    report.problem(['tpu', 'reservation'], tpu.reservation, message, 'write pricing: reserved');
  }
  return pricing ?? 'spot';
}

const RESOURCE_PREFIX = /^[a-z]([a-z0-9-]*[a-z0-9])?$/;
const GOOGLE_PROJECT = /^([a-z0-9.-]+:)?[a-z][a-z0-9-]{4,28}[a-z0-9]$/;

function resolveRest(tpu: TpuForm, report: Report): Omit<TpuSpec, 'accelerator' | 'zones' | 'runtimeVersion'> {
  const name = given(tpu.name);
  if (name !== undefined && !RESOURCE_PREFIX.test(name)) {
    report.wrong(
      ['tpu', 'name'],
      name,
      'no resource name',
      'small letters, digits and dashes; it starts with a letter',
    );
  }
  const project = given(tpu.project);
  if (project !== undefined && !GOOGLE_PROJECT.test(project)) {
    const hint = 'the id of a Google Cloud project: 6 to 30 small letters, digits and dashes';
    report.wrong(['tpu', 'project'], project, 'no Google Cloud project id', hint);
  }
  const optional = {
    name,
    project,
    startupScript: given(tpu.startup_script),
    network: given(tpu.network),
    subnetwork: given(tpu.subnetwork),
    serviceAccount: given(tpu.service_account),
    scopes: given(tpu.scopes),
    reservation: given(tpu.reservation),
    topology: resolveTopology(tpu, report),
  };
  return {
    allocationMode: tpu.allocation_mode ?? 'tpu-vm',
    pricing: resolvePricing(tpu, report),
    tags: tpu.tags ?? [],
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

/** `4x4`: two axes for generations v2, v3, v5litepod and v6e, three for v4 and v5p. */
function resolveTopology(tpu: TpuForm, report: Report): string | undefined {
  const topology = given(tpu.topology);
  const type = typeof tpu.accelerator === 'string' ? acceleratorNamed(tpu.accelerator) : undefined;
  if (topology === undefined || type === undefined) return topology;
  const chips = topology.split('x').reduce((product, axis) => product * Number(axis), 1);
  const axes = type.topology.split('x').length;
  if (!/^\d+(x\d+){1,2}$/.test(topology) || chips !== type.chips || topology.split('x').length !== axes) {
    const hint = `it has ${type.chips} chips on ${axes} axes: ${type.topology} is the usual one`;
    report.wrong(['tpu', 'topology'], topology, `no topology of ${type.type}`, hint);
  }
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

function resolveLabels(tpu: TpuForm, report: Report): Record<string, string> {
  const labels = textValues(tpu.labels);
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
