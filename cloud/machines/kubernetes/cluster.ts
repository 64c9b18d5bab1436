import { existsSync, readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import type {
  AuthorizationV1Api,
  BatchV1Api,
  CoreV1Api,
  CustomObjectsApi,
  KubeConfig,
  RequestContext,
  ResponseContext,
  VersionApi,
} from '@kubernetes/client-node';
import { messageOf } from '../../../domain/errors.js';
import { CloudRefused } from '../port.js';
import type * as Library from './library.js';

export type KubernetesLibrary = typeof Library;

/** The address and credentials of a cluster. */
export interface ClusterConfig {
  /** A kubeconfig file. Absent: those of `KUBECONFIG`, else `~/.kube/config`, else the pod's own service account. */
  readonly kubeconfig?: string;
  /** A context of that file. Absent: its current context. */
  readonly context?: string;
  /** A call fails after this time. */
  readonly callTimeoutMs?: number;
  /** Called at the end of each call. */
  readonly onCall?: (method: string, code: string) => void;
}

/** The API server of one cluster, with the credentials of one context. Opening it makes no call. */
export interface Cluster {
  /** The context's name; `inClusterContext` in a pod. */
  readonly context: string;
  readonly server: string;
  /** The namespace that the context names. */
  readonly namespace?: string;
  /** The service account that jobctl logs in with; undefined if it logs in by other means. */
  readonly ownAccount: OwnAccount | undefined;
  readonly library: KubernetesLibrary;
  readonly config: KubeConfig;
  readonly core: CoreV1Api;
  readonly batch: BatchV1Api;
  readonly custom: CustomObjectsApi;
  readonly authorization: AuthorizationV1Api;
  readonly version: VersionApi;
}

export interface OwnAccount {
  readonly namespace: string;
  readonly name: string;
}

const CALL_TIMEOUT_MS = 30_000;

/** @throws CloudRefused if there is no such file or context, or no cluster is configured */
export function openCluster(library: KubernetesLibrary, wanted: ClusterConfig = {}): Cluster {
  const config = kubeConfigOf(library, wanted);
  const context = config.getContextObject(config.getCurrentContext());
  const cluster = config.getCurrentCluster();
  if (!context || !cluster)
    throw new CloudRefused(`kubeconfig: the context '${config.getCurrentContext()}' names no cluster that is in it`);
  const settings = library.createConfiguration({
    baseServer: new library.ServerConfiguration(cluster.server, {}),
    authMethods: { default: config },
    promiseMiddleware: [bounded(wanted)],
  });
  return {
    context: context.name,
    server: cluster.server,
    ownAccount: ownAccountOf(config),
    ...(context.namespace !== undefined && { namespace: context.namespace }),
    library,
    config,
    core: new library.CoreV1Api(settings),
    batch: new library.BatchV1Api(settings),
    custom: new library.CustomObjectsApi(settings),
    authorization: new library.AuthorizationV1Api(settings),
    version: new library.VersionApi(settings),
  };
}

/** Read from its token without a check: the API server has signed it, and the token's holder is this process. */
function ownAccountOf(config: KubeConfig): OwnAccount | undefined {
  const user: { readonly token?: string; readonly authProvider?: { config?: { readonly tokenFile?: string } } } | null =
    config.getCurrentUser();
  try {
    const [, payload = ''] = (user?.token ?? readFileSync(user?.authProvider?.config?.tokenFile ?? '', 'utf8')).split(
      '.',
    );
    const { sub } = JSON.parse(Buffer.from(payload, 'base64url').toString('utf8')) as { readonly sub?: unknown };
    const [, namespace, name] = /^system:serviceaccount:([^:]+):([^:]+)$/.exec(String(sub)) ?? [];
    return namespace === undefined || name === undefined ? undefined : { namespace, name };
  } catch {
    // A certificate, a plugin, or a token that names no service account.
    return undefined;
  }
}

/** Limits every call and reports its end; the client itself has no time limit. */
const bounded = ({ callTimeoutMs = CALL_TIMEOUT_MS, onCall }: ClusterConfig) => ({
  pre: async (request: RequestContext): Promise<RequestContext> => {
    request.setSignal(AbortSignal.timeout(callTimeoutMs));
    return request;
  },
  post: async (response: ResponseContext): Promise<ResponseContext> => {
    onCall?.('call', String(response.httpStatusCode));
    return response;
  },
});

function kubeConfigOf(library: KubernetesLibrary, { kubeconfig, context }: ClusterConfig): KubeConfig {
  const config = loaded(library, kubeconfig);
  if (context === undefined) return config;
  const names = config.getContexts().map(({ name }) => name);
  if (!names.includes(context))
    throw new CloudRefused(`kubeconfig: it has no context '${context}'; it has ${names.join(', ') || 'none'}`);
  config.setCurrentContext(context);
  return config;
}

const HOME_FILE = join('.kube', 'config');
/** The kubelet's path for the credentials of a pod's service account. */
const POD_TOKEN = '/var/run/secrets/kubernetes.io/serviceaccount/token';

function loaded({ KubeConfig: Config }: KubernetesLibrary, kubeconfig: string | undefined): KubeConfig {
  const config = new Config();
  const named = kubeconfig ?? process.env['KUBECONFIG'];
  const home = join(homedir(), HOME_FILE);
  try {
    if (kubeconfig !== undefined) config.loadFromFile(kubeconfig);
    else if (named) config.loadFromDefault();
    else if (existsSync(home)) config.loadFromFile(home);
    else if (existsSync(POD_TOKEN)) config.loadFromCluster();
    else throw new CloudRefused(`no Kubernetes cluster is known: KUBECONFIG is not set, ${home} does not exist`);
  } catch (error) {
    if (error instanceof CloudRefused) throw error;
    const file = named ?? home;
    throw new CloudRefused(`kubeconfig ${file}: ${messageOf(error)}`);
  }
  return config;
}
