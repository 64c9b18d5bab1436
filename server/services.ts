import type { JobClient } from '../client/job-client.js';
import type { SecretStore } from '../cloud/secrets/port.js';
import type { StorePort } from '../cloud/store/port.js';
import type { Gate } from './access/gate.js';
import type { JobFactsSource, PoolRules } from './access/facts.js';
import type { StandingRights } from './access/standing-rights.js';
import type { AuditLog } from './audit/audit-log.js';
import type { DearWork } from './dear-work.js';
import type { DirectUploads } from './direct-uploads.js';
import type { PublicPlaces } from './far-buckets.js';
import type { TokenVerifier } from './identity/verifier.js';
import type { JobKeys } from '../cloud/job-keys/port.js';
import type { LogFeeds } from './log-feeds.js';
import type { ServerMetrics } from './metrics.js';
import type { SubmissionSigner } from './signer.js';

/** Version of the HTTP interface, as the OpenAPI document states it. */
export const VERSION = '1.0.0';

/** The services that the routes use. */
export interface Services {
  readonly client: JobClient;
  readonly store: StorePort;
  readonly secrets: SecretStore | undefined;
  readonly verifier: TokenVerifier;
  readonly gate: Gate;
  readonly rights: StandingRights;
  readonly facts: JobFactsSource;
  readonly rules: PoolRules;
  readonly audit: AuditLog;
  readonly signer: SubmissionSigner;
  /** Derives the keys of jobs for callers who may log in to hosts. Without a secret it derives none. */
  readonly jobKeys: JobKeys;
  /** Limits what one call may use of the computer. */
  readonly dear: DearWork;
  readonly feeds: LogFeeds;
  readonly uploads: DirectUploads;
  /** Undefined: the store is not Google's. */
  readonly placeOf: PublicPlaces | undefined;
  readonly metrics: ServerMetrics;
  /** Returns the reason why the server is not ready, or undefined if it is. */
  readonly notReady: () => Promise<string | undefined>;
}
