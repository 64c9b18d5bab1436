import { given, secondsOf, textValues } from '../../job-file/fields.js';
import { isMapping } from '../../job-file/plain-tree.js';
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
import { type Path, showValue } from '../../problem.js';
import type { RequestContext, ResolvedRequest } from '../kind.js';
import {
  resolveLabels,
  resolveMetadata,
  resolveNames,
  resolveZones,
  warnOfSecretMetadata,
  withoutUndefined,
} from './google-keys.js';
import {
  type GooglePlace,
  type TpuForm,
  type DataDiskForm,
  ANY_ZONE,
  type CloudTpuRequest,
  type CloudTpuSection,
  DISK_MODES,
} from './words.js';
import {
  mostTpuDisks,
  resolveDataDisks,
  resolveNetwork,
  resolveScopes,
  scopeUrls,
  resolveServiceAccount,
} from './google-resources.js';
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
  const own = atomic ? queued(flagged, report) : flagged;
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

type KeysOfOneType = 'accelerator' | 'zones' | 'anyZone' | 'runtimeVersion' | 'topology' | 'dataDisks';

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

/** Returns undefined if there is no such value. */
type ReadFlag = (value: string) => Partial<TpuForm> | undefined;

/** Flags of gcloud for new TPU VMs and queued resources that have a key in `tpu` (gcloud reference, 2026), and their readers. */
const FLAGS: Readonly<Record<string, ReadFlag>> = {
  '--network': (network) => ({ network }),
  '--subnetwork': (subnetwork) => ({ subnetwork }),
  '--service-account': (service_account) => ({ service_account }),
  '--scopes': (scopes) => ({ scopes: scopes.split(',') }),
  '--tags': (tags) => ({ tags: tags.split(',') }),
  '--labels': (labels) => ({ labels: pairsOf(labels) }),
  '--metadata': metadataOf,
  '--zone': (zone) => ({ zone }),
  '--project': (project) => ({ project }),
  '--version': (version) => ({ version }),
  '--runtime-version': (version) => ({ version }),
  '--accelerator-type': (accelerator) => ({ accelerator }),
  '--type': (accelerator) => ({ accelerator }),
  '--topology': (topology) => ({ topology }),
  '--data-disk': diskOf,
  '--reservation': (reservation) => ({ reservation }),
  '--internal-ips': () => ({ external_ips: false }),
  '--spot': () => ({ pricing: 'spot' }),
  '--preemptible': () => ({ pricing: 'preemptible' }),
  '--best-effort': () => ({ pricing: 'spot' }),
  '--reserved': () => ({ pricing: 'reserved' }),
  '--guaranteed': () => ({ pricing: 'ondemand' }),
  '--provisioning-model': modelOf,
  '--max-run-duration': (run_duration) => ({ run_duration }),
  '--valid-until-duration': (valid_until) => ({ valid_until }),
};
const WITHOUT_VALUE = new Set([
  ...['--internal-ips', '--spot', '--preemptible', '--best-effort', '--reserved', '--guaranteed'],
]);
/** Flags of gcloud itself: jobctl has no prompts and prints nothing of it. */
const OF_GCLOUD = new Set([
  '--quiet',
  '-q',
  '--async',
  '--format',
  '--verbosity',
  '--log-http',
  '--no-user-output-enabled',
]);

const MODELS: Readonly<Record<string, Partial<TpuForm>>> = {
  standard: { pricing: 'ondemand' },
  spot: { pricing: 'spot' },
  'flex-start': { pricing: 'flex-start' },
  'reservation-bound': { pricing: 'reserved', reservation_bound: true },
};
function modelOf(model: string): Partial<TpuForm> | undefined {
  const name = model.toLowerCase().replaceAll('_', '-');
  return Object.hasOwn(MODELS, name) ? MODELS[name] : undefined;
}

/** The keys that a flag of gcloud stands for, none if it is of no meaning here; undefined if it has no counterpart. */
export function readCreateFlag(name: string, value: string): Partial<TpuForm> | undefined {
  if (OF_GCLOUD.has(name)) return {};
  return Object.hasOwn(FLAGS, name) ? FLAGS[name]?.(value) : undefined;
}

/** Reads `a=1,b=2`. A part without `=` gets an empty value, which the check of its key then refuses or accepts. */
function pairsOf(text: string): Record<string, string> {
  return Object.fromEntries(
    text.split(',').map((pair) => {
      const equals = pair.indexOf('=');
      return equals === -1 ? [pair, ''] : [pair.slice(0, equals), pair.slice(equals + 1)];
    }),
  );
}

function metadataOf(text: string): Partial<TpuForm> {
  const { 'startup-script': startup_script, ...metadata } = pairsOf(text);
  return {
    ...(Object.keys(metadata).length > 0 && { metadata }),
    ...(startup_script !== undefined && { startup_script }),
  };
}

/** Reads one disk, such as `source=NAME,mode=read-only`. The flag may be given several times. */
function diskOf(text: string): Partial<TpuForm> | undefined {
  const { source, mode = 'read-write', ...others } = pairsOf(text);
  const known = DISK_MODES.find((word) => word === mode);
  if (!source || known === undefined || Object.keys(others).length > 0) return undefined;
  return { data_disks: [{ source, mode: known }] };
}

function reportValue(name: string, path: Path, flag: string, report: Report): void {
  if (name === '--data-disk') report.wrong(path, flag, 'no disk', 'write --data-disk=source=DISK,mode=read-only');
  else report.wrong(path, flag, 'no provisioning model', `known: ${Object.keys(MODELS).join(', ')}`);
}

/**
 * Adds to `tpu` the keys that its `flags` stand for. A flag without a key is a problem, and so is one that contradicts a key or an
 * earlier flag: gcloud takes the last of all, and whoever reads the file may take another.
 */
function applyCreateFlags(tpu: TpuForm, report: Report): TpuForm {
  const given = Object.fromEntries(Object.entries(tpu).filter(([, value]) => value !== null && value !== undefined));
  const said = new Map<string, Said>(Object.entries(given).map(([key, value]) => [key, { by: `tpu.${key}`, value }]));
  const disks: DataDiskForm[] = [];
  for (const [index, flag] of (tpu.flags ?? []).entries()) {
    const { data_disks, ...keys } = keysOf(flag, index, report);
    const [name = ''] = flag.trim().split(/[= ]/);
    const refuse = (by: string): void => {
      const message = `${name} contradicts ${by}`;
      report.problem(
        ['tpu', 'flags', index],
        flag,
        message,
        'gcloud takes the last of them: keep the one that you mean',
      );
    };
    if (data_disks !== undefined && given['data_disks'] !== undefined) refuse('tpu.data_disks');
    disks.push(...(data_disks ?? []));
    for (const [key, value] of Object.entries(keys)) {
      const before = said.get(key) ?? (key === 'zone' ? said.get('zones') : undefined);
      if (before === undefined) said.set(key, { by: name, value });
      else if (comparable(key, before.value) !== comparable(key, value)) refuse(shownBy(key, before));
    }
  }
  const values = Object.fromEntries([...said].map(([key, { value }]) => [key, value]));
  return { ...(disks.length > 0 && { data_disks: disks }), ...values };
}

/** A value that the section has so far. */
interface Said {
  /** A key, or a flag. */
  readonly by: string;
  readonly value: unknown;
}

/** Texts of scripts and metadata may hold secrets, and are long. */
const shownBy = (key: string, { by, value }: Said): string =>
  ['metadata', 'startup_script'].includes(key) || WITHOUT_VALUE.has(by) ? by : `${by}, which is ${showValue(value)}`;

/** Equal for values of a key that mean the same. */
function comparable(key: string, value: unknown): string {
  if (isMapping(value)) {
    const pairs = Object.entries(textValues(value as Record<string, string>));
    return JSON.stringify(pairs.toSorted(([one], [other]) => (one < other ? -1 : 1)));
  }
  const meant = [value].flat().map((each) => {
    const text = String(each).trim();
    if (key === 'accelerator') return acceleratorNamed(text)?.type ?? text;
    if (key === 'scopes') return scopeUrls(text);
    return /^\d+(\.\d+)?[smh]$/.test(text) ? String(secondsOf(text)) : text;
  });
  return JSON.stringify(meant.flat());
}

function keysOf(flag: string, index: number, report: Report): Partial<TpuForm> {
  const [name = '', value] = flag.trim().split(/[= ](.*)/s);
  const read = Object.hasOwn(FLAGS, name) ? FLAGS[name] : undefined;
  const path = ['tpu', 'flags', index];
  if (OF_GCLOUD.has(name)) {
    report.warn(path, `${name} is gcloud's own and does nothing here`);
    return {};
  }
  if (read === undefined) {
    report.wrong(path, flag, 'no flag that jobctl understands', `understood: ${Object.keys(FLAGS).join(', ')}`);
    return {};
  }
  if (WITHOUT_VALUE.has(name) === (value === undefined)) {
    const keys = read(value ?? '');
    if (keys === undefined) reportValue(name, path, flag, report);
    return keys ?? {};
  }
  const hint = WITHOUT_VALUE.has(name) ? `write ${name}` : `write ${name}=VALUE`;
  report.wrong(path, flag, WITHOUT_VALUE.has(name) ? 'a flag that takes no value' : 'a flag without its value', hint);
  return {};
}
