import { OWN_LABEL_PREFIX } from '../../identity.js';
import { given, secondsOf, textValues } from '../../job-file/fields.js';
import type { Path } from '../../problem.js';
import type { Report } from '../../job-file/report.js';
import {
  DNS_LABEL,
  DNS_LABEL_RULE,
  isQuantity,
  QUANTITY_RULE,
  OBJECT_NAME,
  OBJECT_NAME_RULE,
  type KubernetesRequest,
  type PodFields,
  type Toleration,
  type MountedSecret,
  type MountedVolume,
} from './words.js';
import type { PodForm } from './forms.js';

/** Resolves the keys that all kinds of machines made of pods share. */

/** Default of `gang_timeout`: as long as a lease may wait for its chips (`askingTimeoutMs`). */
const DEFAULT_GANG_SECONDS = 15 * 60;
const LEAST_GANG_SECONDS = 10;
const NVIDIA = 'nvidia.com/gpu';
/** A name that quota files can hold beside TPU generations. */
const GPU_TYPE = /^[a-z][a-z0-9-]{0,30}[a-z0-9]$/;

/** Reports every problem. A missing image becomes an empty text. */
export function resolvePodFields(form: PodForm, place: Place): PodFields {
  return {
    ...definedOnly({
      context: given(form.context),
      serviceAccount: resolveAccount(form, place),
      priorityClass: nameInCluster(form.priority_class, [place.section, 'priority_class'], place.report),
    }),
    namespace: resolveNamespace(form, place),
    image: resolveImage(form, place) ?? '',
    nodeSelector: labels(form.node_selector, 'node_selector', place),
    tolerations: (form.tolerations ?? []).map((each, index) => resolveToleration(each, index, place)),
    secrets: resolveSecrets(form, place),
    volumes: resolveVolumes(form, place),
    labels: resolveLabels(form, place),
    gangSeconds: resolveGang(form, place),
  };
}

/** The worker's account in deploy/kubernetes. If it has another name, the create call refuses it (cloud/machines/kubernetes). */
const WORKER_ACCOUNT = 'jobctl-worker';

function resolveAccount({ service_account }: PodForm, { section, report }: Place): string | undefined {
  const path = [section, 'service_account'];
  if (given(service_account) === WORKER_ACCOUNT)
    report.wrong(
      path,
      service_account,
      'no account of a job',
      "it is jobctl's own, which may exec into every pod: name another one",
    );
  return nameInCluster(service_account, path, report);
}

/** A reference by the distribution specification. The registry itself checks the rest. */
const IMAGE =
  /^([a-zA-Z0-9][\w.-]*(:\d+)?\/)?[a-z0-9][a-z0-9._-]*(\/[a-z0-9][a-z0-9._-]*)*(:\w[\w.-]{0,127})?(@sha256:[0-9a-f]{64})?$/;

function resolveImage({ image }: PodForm, { section, report }: Place): string | undefined {
  const path = [section, 'image'];
  const name = given(image);
  if (name === undefined) report.missing(path, 'such as image: ghcr.io/team/train:1.4, or with @sha256:..');
  else if (!IMAGE.test(name))
    report.wrong(path, name, 'no image', 'such as ghcr.io/team/train:1.4; no spaces, no https://');
  return name;
}

function resolveNamespace({ namespace }: PodForm, { section, report }: Place): string {
  const name = given(namespace) ?? 'default';
  if (!DNS_LABEL.test(name)) report.wrong([section, 'namespace'], name, 'no namespace', DNS_LABEL_RULE);
  return name;
}

/** @param at path of the keys below the section */
export function resolveGpus(
  { gpus, gpu_type }: { readonly gpus?: number | null | undefined; readonly gpu_type?: string | null | undefined },
  { section, report }: Place,
  at: Path = [],
): KubernetesRequest['gpus'] {
  const path = [section, ...at, 'gpu_type'];
  const type = given(gpu_type);
  const count = given(gpus) ?? 0;
  if (count === 0) {
    if (type !== undefined && !report.wasDropped([section, ...at, 'gpus']))
      report.problem(path, type, 'gpu_type is given without gpus', 'write gpus: 8, how many each pod takes');
    return undefined;
  }
  if (type === undefined) report.missing(path, 'quota counts GPUs by their type, such as gpu_type: h100');
  else if (!GPU_TYPE.test(type))
    report.wrong(path, type, 'no type of GPU', 'small letters, digits and dashes, such as h100 or a100-80gb');
  return { count, type: type ?? '', resource: NVIDIA };
}

function resolveGang({ gang_timeout }: PodForm, { section, report }: Place): number {
  const seconds = secondsOf(given(gang_timeout) ?? DEFAULT_GANG_SECONDS);
  if (seconds < LEAST_GANG_SECONDS) {
    const hint = `${LEAST_GANG_SECONDS}s or more: pods need that long to be scheduled and started`;
    report.wrong([section, 'gang_timeout'], gang_timeout, 'too short', hint);
  }
  return seconds;
}

function resolveToleration(
  { key, operator, value, effect }: NonNullable<PodForm['tolerations']>[number],
  index: number,
  { section, report }: Place,
): Toleration {
  const path = [section, 'tolerations', index];
  const text = given(value) === undefined ? undefined : String(value);
  const meant = given(operator) ?? (text === undefined ? 'Exists' : 'Equal');
  if (meant === 'Exists' && text !== undefined)
    report.problem(
      [...path, 'value'],
      value,
      'operator Exists takes no value',
      'leave value out, or write operator: Equal',
    );
  if (meant === 'Equal' && given(key) === undefined)
    report.missing([...path, 'key'], 'only operator: Exists goes without a key: it tolerates every taint');
  return { operator: meant, ...definedOnly({ key: given(key), value: text, effect: given(effect) }) };
}

// Labels ---------------------------------------------------------------------------------------------------------------

const LABEL_KEY = /^([a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?\/)?[A-Za-z0-9]([\w.-]{0,61}[A-Za-z0-9])?$/;
const LABEL_VALUE = /^([A-Za-z0-9]([\w.-]{0,61}[A-Za-z0-9])?)?$/;
/** Labels by which jobctl, the Job controller and KubeRay work: a job that set them would interfere. */
const RESERVED = [OWN_LABEL_PREFIX, 'batch.kubernetes.io/', 'ray.io/', 'kueue.x-k8s.io/', 'job-name', 'controller-uid'];

function labels(map: PodForm['labels'], key: string, { section, report }: Place): Record<string, string> {
  const values = textValues(map);
  for (const [name, value] of Object.entries(values)) {
    const path = [section, key, name];
    if (!LABEL_KEY.test(name)) report.wrong(path, name, 'no label key', 'letters, digits, . _ -; a prefix ends with /');
    else if (!LABEL_VALUE.test(value))
      report.wrong(path, value, 'no label value', 'letters, digits, . _ -; 63 at most');
  }
  return values;
}

function resolveLabels(form: PodForm, place: Place): Record<string, string> {
  const values = labels(form.labels, 'labels', place);
  for (const name of Object.keys(values)) {
    if (!RESERVED.some((prefix) => name.startsWith(prefix))) continue;
    const hint = name.startsWith('kueue') ? "jobctl's quota decides when it runs, not Kueue's" : 'take another key';
    place.report.wrong([place.section, 'labels', name], name, 'a label that is not yours to set', hint);
  }
  return values;
}

// Small ones -----------------------------------------------------------------------------------------------------------

/** @param key a key of the section, or a path below it */
export function quantity(
  value: string | number | null | undefined,
  key: Path,
  { section, report }: Place,
): string | undefined {
  const text = given(value) === undefined ? undefined : String(value);
  if (text !== undefined && !isQuantity(text)) report.wrong([section, ...key], value, 'no quantity', QUANTITY_RULE);
  return text;
}

type Present<Values> = { [Key in keyof Values]?: Exclude<Values[Key], undefined> };

export function definedOnly<Values extends Record<string, unknown>>(values: Values): Present<Values> {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as Present<Values>;
}

/** The section being resolved, for the paths of problems. */
export interface Place {
  readonly section: string;
  readonly report: Report;
}

export const AGENT_FOLDER = '/jobctl';

function resolveSecrets({ secrets }: PodForm, { section, report }: Place): readonly MountedSecret[] {
  return (secrets ?? []).map(({ name, mount_path }, index) => {
    const path = [section, 'secrets', index];
    return {
      name: nameOf(name, [...path, 'name'], report),
      mountPath: mountPath(mount_path, [...path, 'mount_path'], report),
    };
  });
}

function resolveVolumes(form: PodForm, place: Place): readonly MountedVolume[] {
  const volumes = (form.volumes ?? []).map((volume, index) => resolveVolume(volume, index, place));
  const seen = new Set((form.secrets ?? []).map(({ mount_path }) => mount_path));
  volumes.forEach(({ mountPath: folder }, index) => {
    if (seen.has(folder))
      place.report.wrong(
        [place.section, 'volumes', index, 'mount_path'],
        folder,
        'mounted twice',
        'each needs a folder alone',
      );
    seen.add(folder);
  });
  return volumes;
}

function resolveVolume(
  form: NonNullable<PodForm['volumes']>[number],
  index: number,
  { section, report }: Place,
): MountedVolume {
  const path = [section, 'volumes', index];
  const folder = mountPath(form.mount_path, [...path, 'mount_path'], report);
  const emptyDir = form.empty_dir === false ? undefined : given(form.empty_dir);
  const sources = [given(form.claim), emptyDir, given(form.host_path)].filter((source) => source !== undefined);
  if (sources.length !== 1)
    report.problem(path, form, `names ${sources.length} of claim, empty_dir and host_path`, 'a volume is one of them');
  const { medium, size } = typeof emptyDir === 'object' ? emptyDir : {};
  if (size && !isQuantity(size)) report.wrong([...path, 'empty_dir', 'size'], size, 'no quantity', QUANTITY_RULE);
  const { claim, host_path } = form;
  nameInCluster(claim, [...path, 'claim'], report);
  if (host_path && !ABSOLUTE.test(host_path))
    report.wrong([...path, 'host_path'], host_path, 'no absolute path', 'such as /mnt/data');
  return {
    mountPath: folder,
    ...(claim ? { claim } : {}),
    ...(emptyDir === undefined ? {} : { emptyDir: { medium: medium ?? 'disk', ...(size ? { size } : {}) } }),
    ...(host_path ? { hostPath: host_path } : {}),
    ...(form.read_only ? { readOnly: true as const } : {}),
  };
}

const ABSOLUTE = /^\/[^:]*$/;

function mountPath(value: string | null | undefined, path: Path, report: Report): string {
  const folder = given(value);
  if (folder === undefined) report.missing(path, 'an absolute path in the container, such as /mnt/data');
  else if (!ABSOLUTE.test(folder) || folder === '/')
    report.wrong(path, folder, 'no absolute path without a colon', 'such as /mnt/data');
  else if (folder === AGENT_FOLDER || folder.startsWith(`${AGENT_FOLDER}/`))
    report.wrong(path, folder, "where jobctl's agent lies", 'take another folder');
  return folder ?? '';
}

function nameOf(value: string | null | undefined, path: Path, report: Report): string {
  const name = nameInCluster(value, path, report);
  if (name === undefined) report.missing(path, 'the name of an object in the namespace');
  return name ?? '';
}

/** The name of an object that jobctl did not make, if one is given. */
function nameInCluster(value: string | null | undefined, path: Path, report: Report): string | undefined {
  const name = given(value);
  if (name !== undefined && !OBJECT_NAME.test(name))
    report.wrong(path, name, 'no name in Kubernetes', OBJECT_NAME_RULE);
  return name;
}
