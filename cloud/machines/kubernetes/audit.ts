import { request } from 'node:https';
import { request as plainRequest } from 'node:http';
import type { KubeConfig } from '@kubernetes/client-node';
import { messageOf } from '../../../domain/errors.js';
import { answerText } from '../../exchange.js';
import { type AuditedResource, type OnUnread, readParts, refuseUnread } from '../audited-resource.js';
import { CloudRefused, CloudUnavailable } from '../port.js';
import type { KubernetesLibrary } from './cluster.js';

interface ResourceKind {
  readonly kind: string;
  readonly path: string;
  readonly plural: string;
}
const PARTS = [
  { kind: 'Pod', path: 'api/v1', plural: 'pods' },
  { kind: 'ConfigMap', path: 'api/v1', plural: 'configmaps' },
  { kind: 'Service', path: 'api/v1', plural: 'services' },
] as const;
/** The owner of the pods of each kind of machines, and the pods' label that contains the owner's name. */
const OWNERS = {
  kubernetes: {
    owner: { kind: 'Job', path: 'apis/batch/v1', plural: 'jobs' },
    podLabel: 'batch.kubernetes.io/job-name',
  },
  'ray-cluster': {
    owner: { kind: 'RayCluster', path: 'apis/ray.io/v1', plural: 'rayclusters' },
    podLabel: 'ray.io/cluster',
  },
} as const;
const PAGE_SIZE = 200;
const MOST_PAGES = 1000;
const TIMEOUT_MS = 30_000;

/**
 * Lists every Job or RayCluster, pod, ConfigMap and Service of a namespace, of all owners. Objects that jobctl labels with the
 * other kind of machines are left out, since they belong to another account. It is the auditor's own reader with its own
 * requests, paging and reading of the answers; with the adapter it shares only the library that reads a kubeconfig.
 * @param account `CONTEXT/NAMESPACE`, the context percent-encoded; without one the current context of this computer's kubeconfig
 * @param kubeconfig absent: this computer's
 * @throws CloudUnavailable; without `onUnread` also if only a part could be read
 */
export async function listNamespaceForAudit(
  library: KubernetesLibrary,
  account: string,
  machines: keyof typeof OWNERS,
  kubeconfig?: string,
  onUnread: OnUnread = refuseUnread,
): Promise<readonly AuditedResource[]> {
  const slash = account.lastIndexOf('/');
  const context = decodeURIComponent(account.slice(0, slash));
  const namespace = account.slice(slash + 1);
  const config = configFor(library, context, kubeconfig);
  const { owner, podLabel } = OWNERS[machines];
  const zone = context || config.getCurrentContext();
  const readOf =
    ({ kind, path, plural }: ResourceKind) =>
    (take: (resource: AuditedResource) => void): Promise<void> =>
      readAll(config, `/${path}/namespaces/${encodeURIComponent(namespace)}/${plural}`, (item) => {
        if ((item.metadata?.labels?.['jobctl-machines'] ?? 'kubernetes') === machines)
          take(audited(item, { kind, account, zone }, podLabel));
      });
  return readParts(
    [owner, ...PARTS].map((each) => [each.plural, readOf(each)]),
    onUnread,
  );
}

function configFor({ KubeConfig: Config }: KubernetesLibrary, context: string, file?: string): KubeConfig {
  const config = new Config();
  try {
    if (file === undefined) config.loadFromDefault();
    else config.loadFromFile(file);
  } catch (error) {
    throw new CloudRefused(`audit: kubeconfig: ${messageOf(error)}`);
  }
  if (context === '') return config;
  if (config.getContextObject(context) === null)
    throw new CloudRefused(`audit: this computer's kubeconfig has no context '${context}', where jobs of ours ran`);
  config.setCurrentContext(context);
  return config;
}

interface Item {
  readonly metadata?: {
    readonly name?: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly creationTimestamp?: string;
    readonly deletionTimestamp?: string;
  };
  readonly spec?: {
    readonly template?: { readonly spec?: Item['spec'] };
    readonly completions?: number;
    readonly containers?: readonly { readonly resources?: { readonly limits?: Readonly<Record<string, string>> } }[];
  };
  readonly status?: {
    readonly phase?: string;
    readonly conditions?: readonly { readonly type: string; readonly status: string }[];
  };
}

async function readAll(config: KubeConfig, path: string, take: (item: Item) => void): Promise<void> {
  let next = '';
  for (let pages = 0; pages < MOST_PAGES; pages++) {
    const query = new URLSearchParams({ limit: String(PAGE_SIZE), ...(next && { continue: next }) });
    const page = await getJson(config, `${path}?${query}`);
    for (const one of page.items ?? []) take(one);
    next = page.metadata?.continue ?? '';
    if (next === '') return;
  }
  throw new CloudUnavailable(`audit: GET ${path}: no end after ${MOST_PAGES} pages`);
}

interface Page {
  readonly items?: readonly Item[];
  readonly metadata?: { readonly continue?: string };
}

async function getJson(config: KubeConfig, path: string): Promise<Page> {
  const url = new URL(`${config.getCurrentCluster()?.server.replace(/\/$/, '')}${path}`);
  const options = { method: 'GET', timeout: TIMEOUT_MS };
  await config.applyToHTTPSOptions(options).catch((error: unknown) => {
    throw new CloudRefused(`audit: login at ${url.origin}: ${messageOf(error)}`);
  });
  const { status, text } = await answerOf(url, options);
  if (status === 200) return JSON.parse(text) as Page;
  const message = `audit: GET ${url.pathname}: HTTP ${status}: ${text.slice(0, 300)}`;
  throw status >= 500 || status === 429 || status === 410 ? new CloudUnavailable(message) : new CloudRefused(message);
}

function answerOf(url: URL, options: object): Promise<{ readonly status: number; readonly text: string }> {
  return new Promise((resolve, reject) => {
    const send = url.protocol === 'http:' ? plainRequest : request;
    const sent = send(url, options, (response) => {
      answerText(response).then((text) => resolve({ status: response.statusCode ?? 0, text }), reject);
    });
    sent.on('timeout', () => sent.destroy(new Error(`no answer in ${TIMEOUT_MS / 1000} s`)));
    sent.on('error', reject);
    sent.end();
  }).catch((error: unknown) => {
    throw new CloudUnavailable(`audit: GET ${url.origin}: ${messageOf(error)}`);
  }) as Promise<{ readonly status: number; readonly text: string }>;
}

function audited(
  item: Item,
  place: Pick<AuditedResource, 'kind' | 'account' | 'zone'>,
  podLabel: string,
): AuditedResource {
  const { metadata = {} } = item;
  const chips = chipsOf(item);
  const job = metadata.labels?.[podLabel];
  return {
    ...place,
    name: metadata.name ?? '',
    state: stateOf(item),
    labels: metadata.labels ?? {},
    accelerator: chips.accelerator,
    ...(chips.count > 0 && { chips: chips.count }),
    ...(place.kind === 'Pod' && job !== undefined && { request: job }),
    ...(metadata.creationTimestamp !== undefined && { createTime: metadata.creationTimestamp }),
  };
}

function stateOf({ metadata, status }: Item): string {
  if (metadata?.deletionTimestamp !== undefined) return 'Terminating';
  const condition = status?.conditions?.find(({ type, status: is }) => END.has(type) && is === 'True');
  return condition?.type ?? status?.phase ?? 'there';
}
const END: ReadonlySet<string> = new Set(['Failed', 'Complete', 'Suspended']);

/** Devices that its pods may use. */
function chipsOf({ spec }: Item): { readonly accelerator: string; readonly count: number } {
  const pods = spec?.template === undefined ? 1 : (spec.completions ?? 1);
  const limits = (spec?.template?.spec ?? spec)?.containers?.map(({ resources }) => resources?.limits ?? {}) ?? [];
  const devices = limits.flatMap((each) => Object.entries(each)).filter(([name]) => /\/(gpu|tpu)$/.test(name));
  const count = devices.reduce((sum, [, amount]) => sum + Number(amount), 0) * pods;
  return { accelerator: devices[0]?.[0] ?? '-', count };
}
