import { readFileSync } from 'node:fs';
import type { KeyObject } from 'node:crypto';
import type { FastifyBaseLogger } from 'fastify';
import pino from 'pino';
import { PoolFileReader } from '../activities/operator-file.js';
import { poolSource } from '../activities/pool-source.js';
import { quotaSource } from '../activities/quota-source.js';
import { JobClient } from '../client/job-client.js';
import { openSecretStore } from '../cloud/secrets/open-secret-store.js';
import { JobKeySecretError, openJobKeys, refuseStoredSecrets } from '../cloud/job-keys/open-job-keys.js';
import type { JobKeys } from '../cloud/job-keys/port.js';
import type { StorePort } from '../cloud/store/port.js';
import { bucketPlace, openStore, splitStore } from '../cloud/store/open-store.js';
import { readSigningKey, TrustKeyError } from '../cloud/trust/submission-signature.js';
import { fileErrorWords, messageOf } from '../domain/errors.js';
import { ownerObject } from '../domain/store-layout.js';
import { isGoogleBucket } from '../domain/store-place.js';
import { Gate, StandingRights } from './access/gate.js';
import { JobFactsSource, PoolRules } from './access/facts.js';
import { createApp } from './app.js';
import { AuditLog } from './audit/audit-log.js';
import { type ServerConfig, ServerConfigError, secretText } from './config.js';
import { TokenVerifier } from './identity/verifier.js';
import { DearWork } from './dear-work.js';
import { DirectUploads } from './direct-uploads.js';
import { FollowMarks } from '../client/follow-marks.js';
import { LogFeeds } from './log-feeds.js';
import { ServerMetrics, type Services, SubmissionSigner } from './services.js';
import type { TemporalOptions } from '../client/connect.js';
import { ApiKeyFile, readLogin } from '../cloud/temporal/login-files.js';

export interface RunningServer {
  /** Such as `http://127.0.0.1:7480`. */
  readonly url: string;
  /** Takes no new calls, ends followed logs, waits for the other calls. */
  close(): Promise<void>;
}

/**
 * `jobctl serve`: verifies the caller, decides, records, and acts through Temporal and the store. Any number of replicas may run:
 * none keeps state that another one needs.
 * @throws ServerConfigError, TemporalUnreachable, TemporalRefused
 */
export async function startServer(config: ServerConfig): Promise<RunningServer> {
  const log = pino(
    { level: config.logLevel, base: { service: 'jobctl-serve' } },
    pino.destination({ dest: 2, sync: false }),
  );
  const signer = new SubmissionSigner(config.signingKey.id, signingKeyOf(config));
  const jobKeys = await jobKeysOf(config);
  const login = temporalLogin(config, (text) => log.warn(text));
  const client = await JobClient.connect({ temporal: login.options, taskQueue: config.taskQueue });
  const services = open(config, { client, signer, jobKeys });
  const app = await createApp(withTls(config), services, log);
  const { host, port } = config.listen;
  const url = await app.listen({ host, port });
  log.info({ url }, 'jobctl serve listens');
  const sweeping = sweepUploads(services, log);
  void services.notReady().then((why) => why !== undefined && log.warn(`not ready: ${why}`));
  // A thread needs a moment to load its code, and the first caller should not wait for that.
  services.dear
    .run('resolve', { job: {} }, '')
    .catch((error: unknown) => log.warn({ err: error }, 'no thread for dear calls'));
  return {
    url,
    close: async () => {
      clearInterval(sweeping);
      await app.close();
      await services.audit.close();
      await services.dear.close();
      await client.close();
      login.close();
    },
  };
}

type Opened = Pick<Services, 'client' | 'signer' | 'jobKeys'>;

function open(config: ServerConfig, { client, signer, jobKeys }: Opened): Services {
  const { store: place, googleProject, pool, quotaFile, poolFile, pools: others, secretStore } = config;
  const openBucket = (bucket: string) =>
    openStore({
      ...(place.endpoint === undefined ? {} : { endpoint: place.endpoint }),
      ...(googleProject === undefined ? {} : { projectId: googleProject }),
      bucket,
    });
  const store = splitStore(openBucket(place.bucket), openBucket(place.systemBucket));
  const files = new PoolFileReader({ places: { [pool]: { quotaFile, poolFile }, ...others }, store, openBucket });
  const rules = new PoolRules(poolSource(files), quotaSource(files, store));
  const facts = new JobFactsSource(client, store);
  const audit = new AuditLog(place.auditBucket === undefined ? store : openBucket(place.auditBucket));
  const metrics = new ServerMetrics();
  const decided = (verb: string, decision: string): void => metrics.decided(verb, decision);
  const gate = new Gate({ rules, facts, audit, decided });
  return {
    client,
    store,
    secrets: secretStore === undefined ? undefined : openSecretStore(secretStore),
    verifier: new TokenVerifier(config.issuers),
    gate,
    rights: new StandingRights(gate),
    facts,
    rules,
    audit,
    signer,
    jobKeys,
    dear: new DearWork(),
    uploads: new DirectUploads(store),
    placeOf: isGoogleBucket(place.bucket)
      ? (bucket, as) =>
          bucketPlace(bucket, { ...as, ...(place.endpoint !== undefined && { endpoint: place.endpoint }) })
      : undefined,
    feeds: new LogFeeds(
      client,
      store,
      { perSubject: config.limits.followedLogs, changed: (count) => metrics.followers(count) },
      new FollowMarks(() => Promise.resolve(store)),
    ),
    metrics,
    notReady: notReadyBy(client, store, placesOf(config, openBucket)),
  };
}

const SWEEP_MS = 6 * 3_600_000;

/** Removes uploads that were never completed. A file that cannot be removed now is left to the next sweep or replica. */
function sweepUploads({ uploads }: Services, log: Pick<FastifyBaseLogger, 'info' | 'warn'>): NodeJS.Timeout {
  const sweep = (): void =>
    void uploads.sweep(Date.now()).then(
      (removed) => removed > 0 && log.info({ removed }, 'removed uploads that were never completed'),
      (error: unknown) => log.warn(`uploads that were never completed cannot be removed now: ${messageOf(error)}`),
    );
  sweep();
  return setInterval(sweep, SWEEP_MS).unref();
}

type Opener = (bucket: string) => StorePort;

/** All buckets of the configuration, each with a call that fails if it does not exist: a listing that the server makes anyway. */
const placesOf = ({ store: { bucket, systemBucket, auditBucket } }: ServerConfig, open: Opener) =>
  new Map([
    ['store.bucket', () => open(bucket).list('jobs/', undefined, 1)],
    ['store.systemBucket', () => open(systemBucket).list('system/', undefined, 1)],
    ...(auditBucket === undefined
      ? []
      : ([['store.auditBucket', () => open(auditBucket).list('audit/', undefined, 1)]] as const)),
  ]);

/**
 * Checks Temporal and the stores: a replica that cannot submit should get no calls.
 * @param unseen the buckets not found yet, by key of the configuration; one that is found is removed
 */
function notReadyBy(client: JobClient, store: Services['store'], unseen: Map<string, () => Promise<unknown>>) {
  const look = async (key: string, list: () => Promise<unknown>): Promise<string[]> => {
    try {
      await list();
      unseen.delete(key);
      return [];
    } catch (error) {
      return [`${key}: ${messageOf(error)}`];
    }
  };
  return async (): Promise<string | undefined> => {
    try {
      const missing = (await Promise.all([...unseen].map(([key, list]) => look(key, list)))).flat();
      if (missing.length > 0) return missing.join('; ');
      await client.polls();
      if ((await store.stat(ownerObject)) !== undefined) return undefined;
      return `bucket ${store.bucket} has no installation's owner id: run 'jobctl setup server'`;
    } catch (error) {
      return messageOf(error);
    }
  };
}

function signingKeyOf({ signingKey: { key } }: ServerConfig): KeyObject {
  try {
    return readSigningKey(secretText(key, 'signingKey.key'), 'signingKey.key');
  } catch (error) {
    throw error instanceof TrustKeyError ? new ServerConfigError(error.message) : error;
  }
}

/** Called at the start, so that a wrong reference shows before the first login. */
async function jobKeysOf({ ssh, secretStore }: ServerConfig): Promise<JobKeys> {
  const references = { current: ssh.jobKeySecret, former: ssh.formerJobKeySecrets };
  try {
    refuseStoredSecrets(references, secretStore);
    return await openJobKeys(references);
  } catch (error) {
    throw error instanceof JobKeySecretError ? new ServerConfigError(`ssh.jobKeySecret: ${error.message}`) : error;
  }
}

/** Replaces the file names by the files' text. Plain HTTP is only allowed on loopback or behind named proxies. */
function withTls(config: ServerConfig): ServerConfig {
  const { tls, host, trustProxies } = config.listen;
  if (tls === undefined) {
    if (/^(127\.|localhost$|::1$)/.test(host) || trustProxies.length > 0) return config;
    throw new ServerConfigError(
      `listen.host: ${host} is reached by others, and there is no listen.tls: tokens would be sent in the clear\n` +
        '  name certFile and keyFile, or the proxies that speak TLS for it (listen.trustProxies)',
    );
  }
  return {
    ...config,
    listen: { ...config.listen, tls: { certFile: tls.certFile, keyFile: tls.keyFile, ...read(tls) } },
  };
}

function read({ certFile, keyFile }: { readonly certFile: string; readonly keyFile: string }): {
  readonly cert: string;
  readonly key: string;
} {
  const text = (file: string): string => {
    try {
      return readFileSync(file, 'utf8');
    } catch (error) {
      throw new ServerConfigError(`listen.tls: ${file} cannot be read: ${fileErrorWords(error)}`);
    }
  };
  return { cert: text(certFile), key: text(keyFile) };
}

/** Options for a server's connection to Temporal. A renewed API key is used from the next call on. @throws ServerConfigError */
function temporalLogin(
  { temporal, codec }: ServerConfig,
  warn: (text: string) => void,
): { readonly options: TemporalOptions; close(): void } {
  const { address, namespace, tlsCaFile, tlsServerName } = temporal;
  const apiKeyFile = temporal.apiKeyFile ?? (process.env['JOBCTL_TEMPORAL_API_KEY_FILE'] || undefined);
  try {
    const { tls } = readLogin({ tlsCaFile, tlsServerName, tls: temporal.tls });
    const file = apiKeyFile === undefined ? undefined : ApiKeyFile.follow(apiKeyFile, { warn });
    const options: TemporalOptions = {
      ...(address === undefined ? {} : { address }),
      ...(namespace === undefined ? {} : { namespace }),
      ...(codec === undefined ? {} : { codec }),
      connection: {
        ...(tls === undefined ? {} : { tls }),
        ...(file === undefined ? {} : { apiKey: () => file.current }),
      },
    };
    return { options, close: () => file?.close() };
  } catch (error) {
    const { path = 'a file' } = error as NodeJS.ErrnoException;
    throw new ServerConfigError(`temporal: ${path} cannot be read: ${fileErrorWords(error)}`);
  }
}
