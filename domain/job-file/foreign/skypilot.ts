import { isMapping, type Mapping } from '../plain-tree.js';
import {
  isTpu,
  putMachines,
  putScripts,
  countOf,
  keysBeside,
  listOf,
  mappingOf,
  textOf,
  Translation,
} from './translation.js';
import { noteVariables, putVariables } from './variables.js';

/** The lines of a job file that stand for a task of SkyPilot. */
export function skypilotLines(task: Mapping): readonly string[] {
  const into = new Translation();
  into.name(task['name']);
  const section = putResources(into, task);
  const hasFolder = putWorkdir(into, task['workdir']);
  const secrets = mappingOf(task['secrets']);
  const variables = Object.entries(mappingOf(task['envs'])).filter(([name]) => !Object.hasOwn(secrets, name));
  putVariables(into, variables, Object.entries(secrets));
  putMounts(into, mappingOf(task['file_mounts']), section);
  const [setup, run] = [textOf(task['setup']), textOf(task['run'])];
  const isInImage = section === 'kubernetes' || into.has('docker');
  putScripts(into, { setup, run, names: ['setup', 'run'], isInImage, hasFolder });
  if (run === undefined) into.note('without `run` the job holds its slice until it is cancelled');
  noteVariables(into, 'skypilot', setup, run);
  const read = new Set((setup ?? '').split(/\W+/));
  const inSetup = variables.map(([name]) => name).filter((name) => read.has(name));
  into.lose('env is for the command: write the value', ...inSetup.map((name) => `$${name} in setup`));
  const secretsInSetup = Object.keys(secrets).filter((name) => read.has(name));
  into.lose('secrets are for the command: use it there', ...secretsInSetup.map((name) => `$${name} in setup`));
  into.lose('', ...keysBeside(KNOWN, task));
  return into.lines();
}

const KNOWN = ['name', 'resources', 'workdir', 'envs', 'secrets', 'file_mounts', 'setup', 'run', 'num_nodes'];

function putWorkdir(into: Translation, workdir: unknown): boolean {
  const dir = textOf(workdir);
  if (dir !== undefined) into.set('bundle', { dir });
  else if (isMapping(workdir)) into.lose('a repository: clone it in the command', 'workdir');
  return dir !== undefined;
}

/** The alternatives of `any_of` and `ordered`, each with the common keys. Without alternatives: the common keys alone. */
function alternativesOf(resources: Mapping): readonly Mapping[] {
  const { any_of: anyOf, ordered, ...common } = resources;
  const each = [...listOf(anyOf), ...listOf(ordered)].filter(isMapping);
  return each.length === 0 ? [common] : each.map((one) => ({ ...common, ...one }));
}

function putResources(into: Translation, task: Mapping): 'tpu' | 'kubernetes' {
  const resources = mappingOf(task['resources']);
  const alternatives = alternativesOf(resources);
  const first = mappingOf(alternatives[0]);
  const [accelerator, ...others] = [...new Set(alternatives.flatMap(acceleratorsOf))];
  into.lose('a job has one type of machine', ...others.map((other) => `resources.accelerators ${other}`));
  const images = new Set(alternatives.flatMap(({ image_id: image }) => textOf(image) ?? []));
  into.lose('a job has one image', ...[...images].slice(1).map((image) => `resources.image_id ${image}`));
  const places = alternatives.map(placeOf);
  // The pricing and the zones of another accelerator are not those of this one.
  const own = alternatives.filter((each) => accelerator === undefined || acceleratorsOf(each).includes(accelerator));
  const ownPlaces = own.map(placeOf);
  const pricingOf = ({ use_spot: isSpot }: Mapping): string => (isSpot === true ? 'spot' : 'ondemand');
  const spot = new Set(own.map(pricingOf));
  const perPlace = new Set(own.map((each) => JSON.stringify([placeOf(each), pricingOf(each)])));
  const everywhere = new Set(ownPlaces.map((place) => JSON.stringify(place))).size * spot.size;
  if (spot.size > 1 && perPlace.size < everywhere)
    into.lose('pricing: any asks for spot first and then on demand, in each zone', 'use_spot of each place');
  const [name, count] = accelerator?.split(':') ?? [];
  const isOfTpu = name !== undefined && isTpu(name);
  const section = putMachines(into, {
    accelerator: name,
    count: countOf(count),
    nodes: countOf(task['num_nodes']) ?? 1,
    image: textOf(first['image_id'])?.replace(/^docker:/, ''),
    zones: [...new Set(ownPlaces.flatMap(({ zone }) => zone ?? []))],
    regions: ownPlaces.flatMap(({ region }) => region ?? []),
    pricing: spot.size > 1 ? 'any' : ([...spot][0] ?? 'ondemand'),
    ...(isOfTpu && { tpu: tpuKeys(into, first) }),
  });
  if (!isOfTpu) for (const each of alternatives) loseForPods(into, each);
  for (const { cloud } of places)
    if (cloud !== undefined && !OUR_CLOUDS.includes(cloud)) into.lose(ELSEWHERE, `resources on ${cloud}`);
  for (const recovery of new Set([resources['spot_recovery'], ...alternatives.map((each) => each['job_recovery'])]))
    putRecovery(into, recovery);
  into.lose('the slice is deleted when the command has ended', ...keysIn(resources, ['autostop', 'autodown']));
  into.lose('hosts have the disk of their type', ...keysIn(resources, ['disk_size', 'disk_tier']));
  for (const each of [resources, ...alternatives]) into.lose('', ...keysBeside(KNOWN_RESOURCES, each, 'resources.'));
  return section;
}

const OUR_CLOUDS = ['gcp', 'kubernetes', 'k8s'];
const ELSEWHERE = 'jobctl runs on Google Cloud, in clusters of Kubernetes and on machines of your own';
const KNOWN_RESOURCES = [
  ...[
    'accelerators',
    'accelerator_args',
    'any_of',
    'ordered',
    'cloud',
    'infra',
    'region',
    'zone',
    'use_spot',
    'image_id',
  ],
  ...['job_recovery', 'spot_recovery', 'autostop', 'autodown', 'disk_size', 'disk_tier', 'cpus', 'memory'],
];
const keysIn = (resources: Mapping, keys: readonly string[]): readonly string[] =>
  keys.filter((key) => resources[key] !== undefined).map((key) => `resources.${key}`);

/** Reads `A100:8`, a list of such texts, or a section of them. A section that is a YAML set has no values. */
function acceleratorsOf({ accelerators }: Mapping): readonly string[] {
  if (!isMapping(accelerators)) return listOf(accelerators).flatMap((one) => textOf(one) ?? []);
  return Object.entries(accelerators).map(([name, count]) =>
    name.includes(':') ? name : `${name}:${countOf(count) ?? 1}`,
  );
}

interface Place {
  readonly cloud?: string | undefined;
  readonly region?: string | undefined;
  readonly zone?: string | undefined;
}

/** Reads `infra: gcp/us-east5/us-east5-a`, or a key for each part. */
function placeOf({ infra, cloud, region, zone }: Mapping): Place {
  const [inCloud, inRegion, inZone] = (textOf(infra) ?? '').split('/').map((part) => textOf(part.replace('*', '')));
  const place = { cloud: textOf(cloud) ?? inCloud, region: textOf(region) ?? inRegion, zone: textOf(zone) ?? inZone };
  return { ...place, cloud: place.cloud?.toLowerCase() };
}

function tpuKeys(into: Translation, resources: Mapping): Mapping {
  const { accelerator_args: given } = resources;
  const { runtime_version: version, gcp_queued_resource: isQueued, tpu_vm: _isVm, ...rest } = mappingOf(given);
  into.lose('', ...keysBeside([], rest, 'resources.accelerator_args.'));
  into.lose('hosts have the CPUs and memory of their type', ...keysIn(resources, ['cpus', 'memory']));
  return {
    ...(textOf(version) !== undefined && { version: textOf(version) }),
    ...(isQueued === true && { allocation_mode: 'queued-resources' }),
  };
}

function loseForPods(into: Translation, resources: Mapping): void {
  if (resources['use_spot'] === true) into.lose('the nodes of the cluster decide', 'resources.use_spot');
  into.lose('the cluster decides', ...keysIn(resources, ['region', 'zone', 'infra']));
  const size = 'write kubernetes.cpus and kubernetes.memory, such as 16 and 128Gi';
  into.lose(size, ...keysIn(resources, ['cpus', 'memory']));
}

/** Writes `job_recovery`, which is a section or the strategy alone. */
function putRecovery(into: Translation, given: unknown): void {
  const recovery = isMapping(given) ? given : { strategy: given };
  const { strategy, max_restarts_on_errors: restarts, recover_on_exit_codes: codes, ...rest } = recovery;
  const named = textOf(strategy);
  if (named !== undefined)
    into.lose('a job asks again by itself, in each of tpu.zones', `resources.job_recovery ${named}`);
  if (typeof restarts === 'number' && restarts > 0) into.set('retries.task', restarts);
  if (listOf(codes).length > 0) into.set('command.restart_on', codes);
  into.lose('', ...keysBeside([], rest, 'resources.job_recovery.'));
}

/** Writes the mounts: a bucket is mounted, a file copied, a private key only named. */
function putMounts(into: Translation, mounts: Mapping, section: 'tpu' | 'kubernetes'): void {
  const [buckets, files]: [Mapping[], Mapping[]] = [[], []];
  for (const [place, source] of Object.entries(mounts)) {
    const from = textOf(isMapping(source) ? source['source'] : source);
    const bucket = bucketOf(source);
    const why = section === 'kubernetes' && bucket !== undefined ? IN_PODS : whyLost(from);
    if (bucket !== undefined && section === 'tpu') buckets.push({ bucket_name: bucket, mount_path: place });
    else if (why !== undefined) into.lose(why, `file_mounts ${place}`);
    else files.push({ from, to: place });
  }
  const [first, ...others] = buckets;
  if (first !== undefined) into.set('gcsfuse', { ...first, ...(others.length > 0 && { extra_mounts: others }) });
  if (files.length > 0) into.set('files', files);
}

const IN_PODS = 'a pod mounts no bucket: volumes: [{claim: NAME, mount_path: ..}] is a PersistentVolumeClaim';

function whyLost(from: string | undefined): string | undefined {
  if (from === undefined || from.includes('://')) return 'copy it in the command';
  const isSecret = /(^|\/)\.(ssh|netrc|aws|config\/gcloud|kube)(\/|$)/.test(from);
  return isSecret
    ? '`jobctl secret put NAME --from-file FILE` keeps it, secrets: {VARIABLE: NAME} brings it'
    : undefined;
}

/** Bucket of `gs://bucket`, or a bucket that SkyPilot makes; undefined for any other source. */
function bucketOf(source: unknown): string | undefined {
  const { name, store, source: from } = mappingOf(source);
  const url = textOf(isMapping(source) ? from : source);
  if (url?.startsWith('gs://') === true) return url.slice('gs://'.length).split('/')[0];
  return url === undefined && (store === undefined || store === 'gcs') ? textOf(name) : undefined;
}
