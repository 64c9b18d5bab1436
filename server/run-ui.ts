import { generateKeyPairSync, randomBytes, timingSafeEqual } from 'node:crypto';
import pino from 'pino';
import { PoolFileReader } from '../activities/operator-file.js';
import { poolSource } from '../activities/pool-source.js';
import { quotaSource } from '../activities/quota-source.js';
import { FollowMarks } from '../client/follow-marks.js';
import type { JobClient } from '../client/job-client.js';
import { openJobKeys } from '../cloud/job-keys/open-job-keys.js';
import type { StorePort } from '../cloud/store/port.js';
import { sha256Of } from '../cloud/trust/submission-signature.js';
import type { OperationName } from '../contract/operations.js';
import { JobFactsSource, PoolRules } from './access/facts.js';
import { Gate, StandingRights } from './access/gate.js';
import { type AppConfig, createApp } from './app.js';
import { DearWork } from './dear-work.js';
import { DirectUploads } from './direct-uploads.js';
import type { Caller } from './identity/verifier.js';
import { LogFeeds } from './log-feeds.js';
import { PAGE_PATH } from './page-files.js';
import { ApiError } from './problem.js';
import { ServerMetrics, type Services, SubmissionSigner } from './services.js';

/**
 * `jobctl ui`: the page over a direct connection to Temporal and a bucket, on loopback, for the person who started it. Whoever has
 * the token may do what that person may: everything of the installation (trusted mode).
 */
export interface UiOptions {
  readonly client: JobClient;
  readonly store: StorePort;
  /** The user in whose name jobs are changed. */
  readonly user: string;
  /** 0: any free port. */
  readonly port: number;
}

export interface RunningUi {
  readonly url: string;
  /** A new link, which is good once. A link before it that nobody has used is not good any more. */
  link(): string;
  close(): Promise<void>;
}

/** The operations that the page calls. Files, secrets, keys of hosts and new jobs are the command line's. */
const SERVED: ReadonlySet<string> = new Set<OperationName>([
  ...([
    'pageSession',
    'whoami',
    'accessExplain',
    'board',
    'list',
    'count',
    'status',
    'describe',
    'openSlices',
  ] as const),
  ...(['wait', 'polls', 'why', 'logs', 'metrics', 'objects', 'objectStat', 'objectContent'] as const),
  ...(['cancel', 'stop', 'resume', 'restart', 'requeue', 'priority'] as const),
  ...(['listGroups', 'group', 'describeGroup', 'groupMembers', 'cancelGroup', 'retryGroup', 'beginGroup'] as const),
  ...(['schedules', 'schedule', 'quotaShow', 'poolUse', 'poolHistory', 'capacity', 'quotaPlan', 'machines'] as const),
]);

export async function startUi({ client, store, user, port }: UiOptions): Promise<RunningUi> {
  const session = new PageSession(user);
  const metrics = new ServerMetrics();
  const dear = new DearWork();
  const services = servicesOf(
    { client, store, session, metrics, dear },
    await openJobKeys({ current: undefined, former: undefined }),
  );
  const log = pino({ level: 'silent' });
  const app = await createApp(CONFIG, services, log, (name) => SERVED.has(name));
  const url = await app.listen({ host: '127.0.0.1', port });
  return {
    url,
    link: () => `${url}${PAGE_PATH}/#open=${session.newCode()}`,
    close: async () => {
      await app.close();
      await dear.close();
    },
  };
}

const CONFIG: AppConfig = {
  listen: { host: '127.0.0.1', port: 0, hosts: [], trustProxies: [] },
  issuers: [],
  limits: {
    requestsPerMinute: 6_000,
    submitsPerMinute: 60,
    refusedLoginsPerMinute: 120,
    bodyBytes: 4 * 1024 * 1024,
    uploadBytes: 1_024,
    directUploadBytes: 0,
    uploadBytesPerDay: 1_024,
    followedLogs: 50,
  },
};

/** Time for which a link is good. */
const LINK_MS = 10 * 60_000;
/** Lifetime of a page's session. A page that is left open longer needs another link. */
const SESSION_MS = 24 * 3_600_000;

/**
 * The login of one `jobctl ui`. A link has a code, which is exchanged once for the token of the calls. The link may be seen by
 * others of the computer, in a browser's arguments or a terminal; the token stands in no address. It has the form of other bearer
 * tokens here, three parts.
 */
class PageSession {
  readonly #user: string;
  readonly #token = `ui.${randomBytes(32).toString('base64url')}.`;
  readonly #expiresAt = Date.now() + SESSION_MS;
  #code: { readonly sha256: string; readonly until: number } | undefined;

  constructor(user: string) {
    this.#user = user;
  }

  newCode(): string {
    const code = randomBytes(32).toString('base64url');
    this.#code = { sha256: sha256Of(code), until: Date.now() + LINK_MS };
    return code;
  }

  exchange(code: string): string | undefined {
    const known = this.#code;
    if (known === undefined || known.until < Date.now() || !isSame(sha256Of(code), known.sha256)) return undefined;
    this.#code = undefined;
    return this.#token;
  }

  /** @throws ApiError `unauthenticated` */
  async verify(token: string): Promise<Caller> {
    if (!isSame(sha256Of(token), sha256Of(this.#token)) || this.#expiresAt < Date.now())
      throw new ApiError(
        'unauthenticated',
        'the token is not of this `jobctl ui`',
        'open the link that it printed last',
      );
    return { kind: 'user', id: this.#user, groups: [], issuer: 'jobctl ui', expiresAt: this.#expiresAt };
  }
}

const isSame = (a: string, b: string): boolean => timingSafeEqual(Buffer.from(a), Buffer.from(b));

interface Parts extends Pick<UiOptions, 'client' | 'store'> {
  readonly session: PageSession;
  readonly metrics: ServerMetrics;
  readonly dear: DearWork;
}

function servicesOf({ client, store, session, metrics, dear }: Parts, jobKeys: Services['jobKeys']): Services {
  const files = new PoolFileReader({ places: {}, store, openBucket: () => store });
  const rules = new PoolRules(poolSource(files), quotaSource(files, store));
  const facts = new JobFactsSource(client, store);
  const audit: Services['audit'] = {
    write: async () => undefined,
    read: async () => ({ lines: [] }),
    close: async () => undefined,
  };
  const gate = new Gate({ rules: 'trusted', facts, audit, decided: () => undefined });
  return {
    ...{ client, store, facts, rules, audit, metrics, gate, dear, jobKeys },
    rights: new StandingRights(gate),
    secrets: undefined,
    verifier: session,
    // Nothing here signs: pools in trusted mode ask for no signature.
    signer: new SubmissionSigner('ui', generateKeyPairSync('ed25519').privateKey),
    feeds: new LogFeeds(
      client,
      store,
      { perSubject: CONFIG.limits.followedLogs, changed: () => undefined },
      new FollowMarks(() => Promise.resolve(store)),
    ),
    uploads: new DirectUploads(store),
    placeOf: undefined,
    notReady: async () => undefined,
    openPage: (code) => session.exchange(code),
  };
}
