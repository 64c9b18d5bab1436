import { OWN_LABEL_PREFIX } from '../../identity.js';
import { given, secondsOf, textValues } from '../../job-file/fields.js';
import type { Report } from '../../job-file/report.js';
import type { RequestContext, ResolvedRequest } from '../kind.js';
import { nameInCluster, resolveSecrets, resolveVolumes } from './mounts.js';
import { DNS_LABEL, DNS_LABEL_RULE, isQuantity, QUANTITY_RULE } from './names.js';
import { slicePodsType } from './size.js';
import type { KubernetesForm } from './section-form.js';
import { resolveGkeTpu, tpuTypeOf } from './tpu.js';
import type { KubernetesRequest, KubernetesSection, Toleration } from './words.js';

/** `gang_timeout` without it, as long as a lease may ask in vain (`askingTimeoutMs`). */
export const DEFAULT_GANG_SECONDS = 15 * 60;
const LEAST_GANG_SECONDS = 10;
const NVIDIA = 'nvidia.com/gpu';
/** A name that quota files can hold beside TPU generations. */
const GPU_TYPE = /^[a-z][a-z0-9-]{0,30}[a-z0-9]$/;

/** The `kubernetes` section with its defaults; undefined if its image or its machines are not known, which is reported. */
export function resolveKubernetes(
  form: KubernetesForm,
  _context: RequestContext,
  report: Report,
): ResolvedRequest<KubernetesSection> | undefined {
  const image = resolveImage(form, report);
  const tpu = given(form.tpu) === undefined ? undefined : resolveGkeTpu(form.tpu, report);
  const gpus = resolveGpus(form, report);
  if (gpus !== undefined && tpu !== undefined)
    report.problem(['kubernetes', 'gpus'], form.gpus, 'gpus and tpu are both given', 'a pod has one or the other');
  const request: KubernetesRequest = {
    ...definedOnly({
      context: given(form.context),
      gpus,
      cpus: quantity(form.cpus, 'cpus', report),
      memory: quantity(form.memory, 'memory', report),
      tpu,
      serviceAccount: nameInCluster(form.service_account, ['kubernetes', 'service_account'], report),
      priorityClass: nameInCluster(form.priority_class, ['kubernetes', 'priority_class'], report),
    }),
    namespace: resolveNamespace(form, report),
    image: image ?? '',
    workers: resolveWorkers(form, tpu, report),
    nodeSelector: labels(form.node_selector, 'node_selector', report),
    tolerations: (form.tolerations ?? []).map((each, index) => resolveToleration(each, index, report)),
    secrets: resolveSecrets(form, report),
    volumes: resolveVolumes(form, report),
    labels: resolveLabels(form, report),
    gangSeconds: resolveGang(form, report),
  };
  if (image === undefined || (given(form.tpu) !== undefined && tpu === undefined)) return undefined;
  return {
    request: { kubernetes: request },
    slice: { type: slicePodsType(request), hosts: request.workers },
    leftToPool: [],
  };
}

/** A reference as the distribution specification has it; the registry itself says the rest. */
const IMAGE =
  /^([a-zA-Z0-9][\w.-]*(:\d+)?\/)?[a-z0-9][a-z0-9._-]*(\/[a-z0-9][a-z0-9._-]*)*(:\w[\w.-]{0,127})?(@sha256:[0-9a-f]{64})?$/;

function resolveImage({ image }: KubernetesForm, report: Report): string | undefined {
  const path = ['kubernetes', 'image'];
  const name = given(image);
  if (name === undefined) report.missing(path, 'such as image: ghcr.io/team/train:1.4, or with @sha256:..');
  else if (!IMAGE.test(name))
    report.wrong(path, name, 'no image', 'such as ghcr.io/team/train:1.4; no spaces, no https://');
  return name;
}

function resolveNamespace({ namespace }: KubernetesForm, report: Report): string {
  const name = given(namespace) ?? 'default';
  if (!DNS_LABEL.test(name)) report.wrong(['kubernetes', 'namespace'], name, 'no namespace', DNS_LABEL_RULE);
  return name;
}

function resolveWorkers({ workers }: KubernetesForm, tpu: KubernetesRequest['tpu'], report: Report): number {
  if (tpu === undefined) return given(workers) ?? 1;
  const { hosts } = tpuTypeOf(tpu);
  if (given(workers) !== undefined && workers !== hosts) {
    const hint = `write workers: ${hosts}, or leave it out; several slices are slices: n`;
    report.problem(['kubernetes', 'workers'], workers, `${tpu.type} has ${hosts} hosts, one pod each`, hint);
  }
  return hosts;
}

function resolveGpus({ gpus, gpu_type }: KubernetesForm, report: Report): KubernetesRequest['gpus'] {
  const path = ['kubernetes', 'gpu_type'];
  const type = given(gpu_type);
  const count = given(gpus) ?? 0;
  if (count === 0) {
    if (type !== undefined && !report.wasDropped(['kubernetes', 'gpus']))
      report.problem(path, type, 'gpu_type is given without gpus', 'write gpus: 8, how many each pod takes');
    return undefined;
  }
  if (type === undefined) report.missing(path, 'quota counts GPUs by their type, such as gpu_type: h100');
  else if (!GPU_TYPE.test(type))
    report.wrong(path, type, 'no type of GPU', 'small letters, digits and dashes, such as h100 or a100-80gb');
  return { count, type: type ?? '', resource: NVIDIA };
}

function resolveGang({ gang_timeout }: KubernetesForm, report: Report): number {
  const seconds = secondsOf(given(gang_timeout) ?? DEFAULT_GANG_SECONDS);
  if (seconds < LEAST_GANG_SECONDS) {
    const hint = `${LEAST_GANG_SECONDS}s or more: pods need that long to be scheduled and started`;
    report.problem(['kubernetes', 'gang_timeout'], gang_timeout, 'is too short', hint);
  }
  return seconds;
}

function resolveToleration(
  { key, operator, value, effect }: NonNullable<KubernetesForm['tolerations']>[number],
  index: number,
  report: Report,
): Toleration {
  const path = ['kubernetes', 'tolerations', index];
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
/** Whoever sets them takes part in what jobctl or the Job controller does. */
const RESERVED = [OWN_LABEL_PREFIX, 'batch.kubernetes.io/', 'kueue.x-k8s.io/', 'job-name', 'controller-uid'];

function labels(map: KubernetesForm['labels'], key: string, report: Report): Record<string, string> {
  const values = textValues(map);
  for (const [name, value] of Object.entries(values)) {
    const path = ['kubernetes', key, name];
    if (!LABEL_KEY.test(name)) report.wrong(path, name, 'no label key', 'letters, digits, . _ -; a prefix ends with /');
    else if (!LABEL_VALUE.test(value))
      report.wrong(path, value, 'no label value', 'letters, digits, . _ -; 63 at most');
  }
  return values;
}

function resolveLabels(form: KubernetesForm, report: Report): Record<string, string> {
  const values = labels(form.labels, 'labels', report);
  for (const name of Object.keys(values)) {
    if (!RESERVED.some((prefix) => name.startsWith(prefix))) continue;
    const hint = name.startsWith('kueue') ? "jobctl's quota decides when it runs, not Kueue's" : 'take another key';
    report.wrong(['kubernetes', 'labels', name], name, 'a label that is not yours to set', hint);
  }
  return values;
}

// Small ones -----------------------------------------------------------------------------------------------------------

function quantity(value: string | number | null | undefined, key: string, report: Report): string | undefined {
  const text = given(value) === undefined ? undefined : String(value);
  if (text !== undefined && !isQuantity(text)) report.wrong(['kubernetes', key], value, 'no quantity', QUANTITY_RULE);
  return text;
}

type Present<Values> = { [Key in keyof Values]?: Exclude<Values[Key], undefined> };

function definedOnly<Values extends Record<string, unknown>>(values: Values): Present<Values> {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as Present<Values>;
}
