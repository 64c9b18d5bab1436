import { OWN_LABEL_PREFIX } from '../../identity.js';
import { given, secondsOf, textValues } from '../../job-file/fields.js';
import type { Path } from '../../problem.js';
import { nameInCluster, type Place, resolveSecrets, resolveVolumes } from './mounts.js';
import { DNS_LABEL, DNS_LABEL_RULE, isQuantity, QUANTITY_RULE } from './names.js';
import type { PodForm } from './pod-form.js';
import type { KubernetesRequest, PodFields, Toleration } from './words.js';

/** Resolves the keys that all kinds of machines made of pods share. */

/** Default of `gang_timeout`: as long as a lease may ask in vain (`askingTimeoutMs`). */
export const DEFAULT_GANG_SECONDS = 15 * 60;
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

/** The worker's account in deploy/kubernetes. Another name is found when it is used (cloud/machines/kubernetes). */
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
