import type { JobClient } from '../client/job-client.js';
import type { SecretStore } from '../cloud/secrets/port.js';
import type { StorePort } from '../cloud/store/port.js';
import type { Gate, StandingRights } from './access/gate.js';
import type { JobFactsSource, PoolRules } from './access/facts.js';
import type { AuditLog } from './audit/audit-log.js';
import type { DearWork } from './dear-work.js';
import type { DirectUploads } from './direct-uploads.js';
import type { PublicPlaces } from './far-buckets.js';
import type { TokenVerifier } from './identity/verifier.js';
import type { JobKeys } from '../cloud/job-keys/port.js';
import type { LogFeeds } from './log-feeds.js';
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';
import { createHmac, createPublicKey, type KeyObject } from 'node:crypto';
import { isSignedBy, sha256Of, signText } from '../cloud/trust/submission-signature.js';
import {
  type AuthorizationStatement,
  type JobAuthorization,
  signedText,
  submittedText,
} from '../contract/authorization.js';
import type { JobInput } from '../contract/job.js';
import { ApiError } from './problem.js';

/** Version of the HTTP interface, as the OpenAPI document states it. */
export const VERSION = '1.0.0';

/** The services that the routes use. */
export interface Services {
  readonly client: JobClient;
  readonly store: StorePort;
  readonly secrets: SecretStore | undefined;
  readonly verifier: Pick<TokenVerifier, 'verify'>;
  readonly gate: Gate;
  readonly rights: StandingRights;
  readonly facts: JobFactsSource;
  readonly rules: PoolRules;
  readonly audit: Pick<AuditLog, 'read' | 'write' | 'close'>;
  readonly signer: SubmissionSigner;
  /** Derives the keys of jobs for callers who may log in to hosts. Without a secret it derives none. */
  readonly jobKeys: JobKeys;
  /** Runs costly work within limits. */
  readonly dear: DearWork;
  readonly feeds: LogFeeds;
  readonly uploads: DirectUploads;
  /** Undefined if the store is not Google's. */
  readonly placeOf: PublicPlaces | undefined;
  readonly metrics: ServerMetrics;
  /** Returns the reason why the server is not ready, or undefined if it is. */
  readonly notReady: () => Promise<string | undefined>;
  /** Exchanges the code of a link of `jobctl ui`, which is good once. Absent: a server, whose callers log in. */
  readonly openPage?: (code: string) => string | undefined;
}

/** The metrics that Prometheus reads at /metrics. */
export class ServerMetrics {
  readonly #registry = new Registry();
  readonly #answers: Histogram;
  readonly #decisions: Counter;
  readonly #followers: Gauge;

  constructor() {
    const registers = [this.#registry];
    collectDefaultMetrics({ register: this.#registry });
    this.#answers = new Histogram({
      name: 'jobctl_http_request_seconds',
      help: 'Time to answer, by method, route and status.',
      labelNames: ['method', 'route', 'status'],
      buckets: [0.005, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10],
      registers,
    });
    this.#decisions = new Counter({
      name: 'jobctl_http_access_decisions_total',
      help: 'Decisions of the access table, by verb.',
      labelNames: ['verb', 'decision'],
      registers,
    });
    this.#followers = new Gauge({ name: 'jobctl_http_followed_logs', help: 'Logs that are followed now.', registers });
  }

  answered(method: string, route: string, status: number, seconds: number): void {
    this.#answers.observe({ method, route, status: String(status) }, seconds);
  }

  decided(verb: string, decision: string): void {
    this.#decisions.inc({ verb, decision });
  }

  followers(count: number): void {
    this.#followers.set(count);
  }

  text(): Promise<string> {
    return this.#registry.metrics();
  }
}

/** Signs the workflows that this server starts (docs/adr/0080). */
export class SubmissionSigner {
  readonly #id: string;
  readonly #key: KeyObject;

  constructor(id: string, key: KeyObject) {
    this.#id = id;
    this.#key = key;
  }

  /**
   * A digest of a text under the signing key. All replicas compute the same digest, and without the key it cannot be computed.
   * The first line separates it from all other uses of the key.
   */
  secretDigest(text: string): Buffer {
    const secret = createHmac('sha256', this.#key.export({ type: 'pkcs8', format: 'der' }));
    return secret.update(`jobctl secret digest v1\n${text}`).digest();
  }

  /**
   * Signs the retry of a group with the pool, project and user of the group's own signature. No other source says who owns the
   * group.
   * @throws ApiError `refused` if this server has not signed what the retry would run
   */
  signRetry(group: string, prefix: string, { authorization, ...submission }: JobInput, at: number): JobAuthorization {
    const why = this.#whyNot(group, submission, authorization);
    if (authorization === undefined || why !== undefined)
      throw new ApiError('refused', `group ${group}: ${why}`, 'submit its failed members anew');
    const { pool, project, user, service } = authorization;
    return this.sign({ job: prefix, pool, project, user, ...(service !== undefined && { service }) }, submission, at);
  }

  #whyNot(group: string, submission: JobInput, authorization: JobAuthorization | undefined): string | undefined {
    if (authorization === undefined) return 'no server has signed it';
    const { signature, ...statement } = authorization;
    if (statement.key !== this.#id) return `it was signed with key '${statement.key}', which this server no longer has`;
    const isOurs = isSignedBy(signedText(statement), signature, createPublicKey(this.#key));
    const isOfIt = statement.job === group && statement.sha256 === sha256Of(submittedText(submission));
    return isOurs && isOfIt ? undefined : 'its signature is of something else';
  }

  /** @param of the job's id and its owner; @param input of its workflow */
  sign(
    of: Pick<JobAuthorization, 'job' | 'pool' | 'project' | 'user' | 'service'>,
    input: JobInput,
    at: number,
  ): JobAuthorization {
    const statement: AuthorizationStatement = {
      v: 1,
      ...of,
      sha256: sha256Of(submittedText(input)),
      at,
      key: this.#id,
    };
    return { ...statement, signature: signText(signedText(statement), this.#key) };
  }
}
