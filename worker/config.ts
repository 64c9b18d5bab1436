import { fileErrorWords, notJson } from '../domain/errors.js';
import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { DEFAULT_BUILD_SETTINGS } from '../cloud/builds/port.js';
import { splitReferences } from '../cloud/codec/codec-key.js';
import { checkProxyCommand } from '../cloud/hosts/ssh-proxy.js';
import { issueWords, storeSetting } from '../contract/issue-words.js';
import { QUOTA_NAME, QUOTA_NAME_RULE } from '../domain/identity.js';
import type { OwnMachine } from '../domain/machine-kinds/machines/words.js';
import { isQuantity, QUANTITY_RULE } from '../domain/machine-kinds/kubernetes/words.js';
import { DEFAULT_TIMINGS, type Timings } from '../domain/timings.js';
import { TASK_QUEUE } from '../domain/temporal-server.js';
import { systemBucketProblem, storesProblem } from '../domain/store-place.js';
import { notifyConfig } from './notify-config.js';

const milliseconds = z.int().min(1);
const port = z.int().min(1).max(65_535);
const quantity = z.string().refine(isQuantity, { error: QUANTITY_RULE });
const keyReference = z.string().min(1);
/** A flag and the environment separate references by commas. */
const keyReferences = z.union([z.array(keyReference), z.string().transform(splitReferences)]);

const OBJECT = /^gs:\/\/[a-z0-9][a-z0-9._-]{1,220}[a-z0-9]\/./;
/** An operator's file: a path, or an object that is read again when its generation changes. */
const operatorFile = z
  .string()
  .min(1)
  .refine((place) => !/^[a-z\d]+:/.test(place) || OBJECT.test(place), { error: 'a path, or gs://BUCKET/OBJECT' });
const poolPlaces = z.strictObject({ quotaFile: operatorFile.optional(), poolFile: operatorFile.optional() });
/** The same rule as in a job file. */
const poolName = z.string().regex(QUOTA_NAME, QUOTA_NAME_RULE);

function refineProxyCommand(command: string, { addIssue }: z.RefinementCtx): void {
  try {
    checkProxyCommand(command);
  } catch (error) {
    addIssue({ code: 'custom', message: (error as Error).message });
  }
}

function refineStore(
  store: {
    readonly bucket: string;
    readonly systemBucket?: string | undefined;
    readonly endpoint?: string | undefined;
  },
  { addIssue }: z.RefinementCtx,
): void {
  const problem = storesProblem(store);
  if (problem !== undefined) addIssue({ code: 'custom', path: [problem.field], message: problem.text });
}

/** The token is sent in the clear, so it must never leave this computer. */
function refineOwnToken(
  cloud: Readonly<Partial<Record<'accessTokenFile' | 'tpuEndpoint' | 'tpuRestEndpoint', string | undefined>>>,
  { addIssue }: z.RefinementCtx,
): void {
  if (cloud.accessTokenFile === undefined) return;
  for (const name of ['tpuEndpoint', 'tpuRestEndpoint'] as const) {
    const host = cloud[name]?.replace(/^https?:\/\//, '').replace(/:\d+(\/.*)?$/, '') ?? 'localhost';
    if (/^(localhost|.+\.localhost|127(\.\d{1,3}){3}|\[::1\])$/.test(host)) continue;
    const message = `is sent in the clear, so only to this computer; ${name} is '${cloud[name]}'`;
    addIssue({ code: 'custom', path: ['accessTokenFile'], message });
  }
}

/** Every timing may be set alone; the others keep the values of domain/timings.ts. */
const timings = z.strictObject(
  Object.fromEntries(Object.keys(DEFAULT_TIMINGS).map((key) => [key, milliseconds.optional()])) as Record<
    keyof Timings,
    z.ZodOptional<typeof milliseconds>
  >,
);

/**
 * The worker's configuration file (docs/worker.md). @temporalio/envconfig (`TEMPORAL_*` and temporal.toml) gives Temporal's
 * address, TLS and API key unless the file or a flag names the address.
 */
const configShape = z.strictObject({
  temporal: z
    .strictObject({
      address: z.string().optional(),
      namespace: z.string().optional(),
      profile: z.string().optional(),
      /**
       * The server's login by files instead of the profile's: the authority of its certificate, the name in it, an API key. The
       * API key's file is read again while the worker runs.
       */
      tlsCaFile: z.string().min(1).optional(),
      tlsServerName: z.string().min(1).optional(),
      apiKeyFile: z.string().min(1).optional(),
      /** `false`: in the clear, even with an API key. */
      tls: z.boolean().optional(),
    })
    .default({}),
  taskQueue: z.string().min(1).default(TASK_QUEUE),
  store: z
    .strictObject({
      /** Replaces Google's or Amazon's address. */
      endpoint: z.url().optional(),
      /** Cloud Storage, S3 or a folder (docs/stores.md). */
      bucket: storeSetting,
      /** For the objects that decide (docs/adr/0082): only workers and servers write it. Absent: they lie in `bucket`. */
      systemBucket: storeSetting.optional(),
    })
    .superRefine(refineStore)
    .prefault({} as never),
  cloud: z
    .strictObject({
      /** host:port that replaces Google's Cloud TPU API. */
      tpuEndpoint: z
        .string()
        .regex(/^.+:\d+$/, 'host:port')
        .optional(),
      /** Replaces Google's REST addresses of Cloud TPU (for the audit) and of Compute Engine. */
      tpuRestEndpoint: z.url().optional(),
      /** Without TLS and credentials. */
      insecure: z.boolean().default(false),
      /** A file with an access token for those two if they are in the clear and on this computer, as the local stack's are. */
      accessTokenFile: z.string().min(1).optional(),
      /** Calls per second to the Cloud TPU API, and as many to Compute Engine, per Google project. Absent: the default. */
      callsPerSecond: z.number().positive().optional(),
      /**
       * Time between listings of a zone: urgent while slices are created or a warning is open, else quiet. Absent: the default.
       */
      listingPeriods: z.strictObject({ urgentMs: milliseconds, quietMs: milliseconds }).optional(),
    })
    .superRefine(refineOwnToken)
    .prefault({}),
  /** The cluster of jobs that name no context (docs/kubernetes.md). */
  kubernetes: z
    .strictObject({
      /** Absent: KUBECONFIG, else ~/.kube/config, else the service account of the worker's own pod. */
      kubeconfig: z.string().min(1).optional(),
      /** Absent: the file's current one. */
      context: z.string().min(1).optional(),
      /** Like `cloud.listingPeriods`, for a namespace. */
      listingPeriods: z.strictObject({ urgentMs: milliseconds, quietMs: milliseconds }).optional(),
      /** Images that the cluster builds (docs/build.md). */
      builds: z
        .strictObject({
          /** An image of BuildKit. */
          image: z.string().min(1).default(DEFAULT_BUILD_SETTINGS.image),
          /** True: its pod is privileged and BuildKit runs as root. False: rootless. */
          privileged: z.boolean().default(DEFAULT_BUILD_SETTINGS.privileged),
          /** host:port of registries without TLS. */
          insecureRegistries: z.array(z.string().regex(/^[\w.-]+(?::\d+)?$/, 'host:port')).default([]),
          /** Kubernetes quantities of the pod. */
          cpus: quantity.optional(),
          memory: quantity.optional(),
          serviceAccount: z.string().min(1).optional(),
          /** A build that takes longer fails. */
          deadlineSeconds: z.int().min(60).default(DEFAULT_BUILD_SETTINGS.deadlineSeconds),
        })
        .prefault({}),
    })
    .prefault({}),
  ssh: z
    .strictObject({
      port: port.default(22),
      user: z.string().optional(),
      privateKeyFile: z.string(),
      publicKeyFile: z.string(),
      /** Reference to the secret of the keys of new jobs (docs/adr/0077). Absent: those jobs get the pair above. */
      jobKeySecret: keyReference.optional(),
      /** Older secrets, for jobs that were accepted with them; during a rotation the next one too. */
      formerJobKeySecrets: keyReferences.optional(),
      /** Jobs may name keys by paths on this computer. The worker then reads them for any submitter (docs/adr/0044). */
      readsKeyFiles: z.boolean().default(false),
      /** Selects the address of a host: the external one if the host has one, or the address inside its network. */
      address: z.enum(['external', 'internal']).default('external'),
      /** Like OpenSSH's ProxyCommand, with %h %p %r %n (docs/ssh-fleet.md). */
      proxyCommand: z.string().min(1).superRefine(refineProxyCommand).optional(),
      hostKeyPolicy: z.enum(['allow-first-use', 'require-guest-attributes']).default('allow-first-use'),
      /** Limit for the wait for the guest attributes of a new node. */
      hostKeyWaitMs: z.int().min(0).default(20_000),
    })
    .prefault({} as never),
  /** Absent: jobs that name no Google project get no machines from Google. */
  googleProject: z.string().min(1).optional(),
  /** The store in which `secret:NAME` is looked up: file:///FOLDER, or projects/P (docs/secrets.md). */
  secretStore: z.string().min(1).optional(),
  label: z.string().optional(),
  /** Machines of the local stack's rehearsal, for jobs of `pool` as long as its pool file names none (docs/adr/0154). */
  rehearsedMachines: z
    .array(z.strictObject({ name: z.string().min(1), address: z.string().min(1), port, user: z.string().min(1) }))
    .default([]),
  /**
   * Verified mode (docs/adr/0080): a job needs the signature of a server. Absent: every pool is in trusted mode, and the client
   * says who the user is.
   */
  verified: z
    .strictObject({
      /** Public keys of servers, by id: the PEM text, or file:///PATH. */
      serverKeys: z.record(
        z.string().regex(/^[\w.-]{1,64}$/, 'a key id: letters, digits, . _ and -'),
        z.string().min(1),
      ),
      /** Pools that stay in trusted mode. A pool without a configuration is never one, so that no job can choose the mode. */
      trustedPools: z.array(poolName).default([]),
    })
    .optional(),
  /** The pool that `quotaFile` divides, and whose jobs `poolFile` completes. */
  pool: poolName.default('default'),
  quotaFile: operatorFile.optional(),
  /** The files of other pools (docs/adr/0020). */
  pools: z.record(poolName, poolPlaces).default({}),
  /** Keys of the payload codec, by reference (docs/encryption.md). */
  codec: z.strictObject({ key: keyReference.optional(), decodeKeys: keyReferences.optional() }).optional(),
  notify: notifyConfig,
  /** docs/pool-file.md */
  poolFile: operatorFile.optional(),
  /** The operator's prices (docs/counted.md). */
  priceFile: operatorFile.optional(),
  healthPort: port.optional(),
  /** Prometheus reads http://listenHost:metricsPort/metrics. */
  metricsPort: port.optional(),
  /** The address of both ports. Neither asks for a password, so use an address other than loopback only in a private network. */
  listenHost: z.string().default('127.0.0.1'),
  logLevel: z.enum(['debug', 'info', 'warn', 'error']).default('info'),
  timings: timings.default({} as never),
});

const configSchema = configShape.superRefine(({ pool, quotaFile, poolFile, pools, store, verified }, context) => {
  const isTwice = Object.hasOwn(pools, pool) && (quotaFile !== undefined || poolFile !== undefined);
  if (isTwice)
    context.addIssue({
      code: 'custom',
      path: ['pools', pool],
      message: 'its files are named twice: keep quotaFile and poolFile, or this',
    });
  const ofSystem = systemBucketProblem(store.bucket, store.systemBucket);
  if (verified !== undefined && ofSystem !== undefined)
    context.addIssue({ code: 'custom', path: ['store', 'systemBucket'], message: ofSystem });
});

export type WorkerConfig = Omit<z.output<typeof configSchema>, 'timings'> & { readonly timings: Timings };

/** The files of every pool that the configuration names, keyed by pool. */
export function poolPlacesOf({
  pool,
  quotaFile,
  poolFile,
  pools,
}: Pick<WorkerConfig, 'pool' | 'quotaFile' | 'poolFile' | 'pools'>): WorkerConfig['pools'] {
  return { [pool]: { quotaFile, poolFile }, ...pools };
}

export const rehearsedMachinesOf = ({ rehearsedMachines }: Pick<WorkerConfig, 'rehearsedMachines'>) =>
  rehearsedMachines.map((machine): OwnMachine => ({ ...machine, accelerators: {}, labels: {}, isRehearsed: true }));

/** Mistakes in a worker's configuration: the field, its value, and the values allowed. */
export class WorkerConfigError extends Error {
  override readonly name = 'WorkerConfigError';
}

/** The field that each environment variable sets. A flag overrides the variable, and the variable overrides the file. */
export const ENVIRONMENT: Readonly<Record<string, string>> = {
  JOBCTL_BUCKET: 'store.bucket',
  JOBCTL_STORE_ENDPOINT: 'store.endpoint',
  JOBCTL_SYSTEM_BUCKET: 'store.systemBucket',
  JOBCTL_TPU_ENDPOINT: 'cloud.tpuEndpoint',
  JOBCTL_GOOGLE_PROJECT: 'googleProject',
  JOBCTL_KUBE_CONTEXT: 'kubernetes.context',
  JOBCTL_QUOTA_FILE: 'quotaFile',
  JOBCTL_POOL_FILE: 'poolFile',
  JOBCTL_PRICE_FILE: 'priceFile',
  JOBCTL_SSH_PRIVATE_KEY_FILE: 'ssh.privateKeyFile',
  JOBCTL_SSH_PUBLIC_KEY_FILE: 'ssh.publicKeyFile',
  JOBCTL_SSH_JOB_KEY_SECRET: 'ssh.jobKeySecret',
  JOBCTL_SSH_FORMER_JOB_KEY_SECRETS: 'ssh.formerJobKeySecrets',
  JOBCTL_SSH_USER: 'ssh.user',
  JOBCTL_SSH_PORT: 'ssh.port',
  JOBCTL_SSH_ADDRESS: 'ssh.address',
  JOBCTL_SSH_PROXY_COMMAND: 'ssh.proxyCommand',
  JOBCTL_SSH_HOST_KEY_POLICY: 'ssh.hostKeyPolicy',
  JOBCTL_HEALTH_PORT: 'healthPort',
  JOBCTL_METRICS_PORT: 'metricsPort',
  JOBCTL_LISTEN_HOST: 'listenHost',
  JOBCTL_TASK_QUEUE: 'taskQueue',
  JOBCTL_SECRET_STORE: 'secretStore',
  JOBCTL_CODEC_KEY: 'codec.key',
  JOBCTL_CODEC_DECODE_KEYS: 'codec.decodeKeys',
  JOBCTL_LOG_LEVEL: 'logLevel',
  TEMPORAL_ADDRESS: 'temporal.address',
  TEMPORAL_NAMESPACE: 'temporal.namespace',
  TEMPORAL_PROFILE: 'temporal.profile',
  JOBCTL_TEMPORAL_API_KEY_FILE: 'temporal.apiKeyFile',
};

export interface ConfigSources {
  /** JSON. */
  readonly file?: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Texts, keyed by dotted path. */
  readonly flags: Readonly<Record<string, string | undefined>>;
}

/** @throws WorkerConfigError naming every wrong field. */
export function loadWorkerConfig({ file, environment, flags }: ConfigSources): WorkerConfig {
  const tree = file === undefined ? {} : readConfigFile(file);
  for (const [name, path] of Object.entries(ENVIRONMENT)) setAt(tree, path, environment[name]);
  for (const [path, value] of Object.entries(flags)) setAt(tree, path, value);
  const parsed = configSchema.safeParse(tree);
  if (!parsed.success) throw new WorkerConfigError(explain(parsed.error, file));
  return { ...parsed.data, timings: { ...DEFAULT_TIMINGS, ...definedOf(parsed.data.timings) } };
}

function readConfigFile(file: string): Record<string, unknown> {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    throw new WorkerConfigError(`${file}: the worker's configuration cannot be read: ${fileErrorWords(error)}`);
  }
  try {
    return JSON.parse(text) as Record<string, unknown>;
  } catch (error) {
    throw new WorkerConfigError(`${file}: is ${notJson(error, text)}`);
  }
}

function setAt(tree: Record<string, unknown>, path: string, value: string | undefined): void {
  if (value === undefined || value === '') return;
  const keys = path.split('.');
  const last = keys.pop() as string;
  let node = tree;
  for (const key of keys) node = (node[key] ??= {}) as Record<string, unknown>;
  node[last] = /Port$|\.port$/.test(path) ? Number(value) : value;
}

function explain(error: z.ZodError, file: string | undefined): string {
  const lines = error.issues.map((issue) => {
    const field = issue.path.join('.') || '(the whole)';
    const variable = Object.entries(ENVIRONMENT).find(([, target]) => target === field)?.[0];
    const what = issueWords(issue);
    return `  ${field}: ${what}${variable ? ` (set it in the file or as ${variable})` : ''}`;
  });
  return `the worker's configuration${file === undefined ? '' : ` ${file}`} is wrong:\n${lines.join('\n')}\n  docs/worker.md lists every field`;
}

function definedOf(values: Partial<Record<keyof Timings, number | undefined>>): Partial<Timings> {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as Partial<Timings>;
}
