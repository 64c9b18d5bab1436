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
import { CloudRefused } from '../port.js';
import type * as Library from './library.js';

export type KubernetesLibrary = typeof Library;

/** Where a cluster is found. */
export interface ClusterConfig {
  /** A kubeconfig file. Absent: those of `KUBECONFIG`, else `~/.kube/config`, else the pod's own service account. */
  readonly kubeconfig?: string;
  /** A context of it. Absent: its current one. */
  readonly context?: string;
  /** After this time a call has failed. */
  readonly callTimeoutMs?: number;
  /** Told the end of each call. */
  readonly onCall?: (method: string, code: string) => void;
}

/** The API server of one cluster, with the credentials of one context. No call has been made. */
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

/** @throws CloudRefused if there is no such file or context, or nothing says where a cluster is */
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

/** As its token says, which the API server has signed: nobody but its holder is asked. */
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
    // A certificate, a plugin, or a token that says nothing.
    return undefined;
  }
}

/** A call without an answer ends; the client has no bound of its own. */
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
/** Where the kubelet puts the credentials of a pod's service account. */
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
    throw new CloudRefused(`kubeconfig ${file}: ${error instanceof Error ? error.message : String(error)}`);
  }
  return config;
}
