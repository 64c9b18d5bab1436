import type { Builds } from '../cloud/builds/port.js';
import type { HostsPort, KeyReader, PySpySource, SshKey } from '../cloud/hosts/port.js';
import type { JobKeys } from '../cloud/job-keys/port.js';
import type { Outlets } from '../cloud/notices/port.js';
import type { SecretStore } from '../cloud/secrets/port.js';
import type { StorePort } from '../cloud/store/port.js';
import type { MachinesOf, MachinesOperator } from '../cloud/machines/port.js';
import type { UsualAccounts } from '../domain/machine-kinds/kind.js';
import type { Timings } from '../domain/timings.js';
import type { LeasedUnits } from '../quota/pool-accounts.js';
import type { JanitorReport } from '../contract/janitor.js';
import type { SetUpEnd } from '../contract/job-activities.js';
import type { Trust } from './authorization.js';
import type { LogSides } from './done-twice.js';
import type { PlaceOfBucket } from './near-zones.js';
import type { PoolSource } from './pool-source.js';
import type { PriceSource } from './price-source.js';
import type { QuotaSource } from './quota-source.js';

/** Everything that a worker hands to its activities: the ports, and the facts of its installation. */
export interface ActivityDependencies {
  readonly machinesOf: MachinesOf;
  readonly builds: Builds;
  readonly store: StorePort;
  readonly hosts: HostsPort;
  readonly installation: Installation;
  readonly quota: QuotaSource;
  readonly meter: WorkMeter;
  readonly pools: PoolSource;
  /** Absent: the operator has no price list. */
  readonly prices?: PriceSource;
  readonly machinesOperator: MachinesOperator;
  /** Absent: the places of buckets cannot be known. */
  readonly placeOfBucket?: PlaceOfBucket;
  /** The beginning and the end of a host's log. Absent: a job does not say which work it did twice. */
  readonly logSides?: LogSides;
  /** Absent: hosts get no py-spy, and silent commands are ended without their Python stacks. */
  readonly pySpy?: PySpySource;
}

export interface Installation extends UsualAccounts {
  /** The random id that every resource of this installation carries. */
  readonly owner: string;
  /** Shown wherever a user could take a rehearsal for the real thing. */
  readonly label?: string;
  /** Login user on TPU VMs, if the job names none; absent = the submitter's own. */
  readonly loginUser?: string;
  /** Opens own machines, and the hosts of jobs without a job key. */
  readonly sshKey: SshKey;
  readonly jobKeys: JobKeys;
  readonly keys: KeyReader;
  /** Whether a job may name a key by a path on this worker's computer. */
  readonly readsKeyFiles: boolean;
  /** OpenSSH line of `sshKey`. */
  readonly publicKey: string;
  /** Absent: none is configured, and jobs that name secrets are refused. */
  readonly secrets?: SecretStore;
  readonly trust: Trust;
  readonly outlets: Outlets;
  readonly taskQueue: string;
  /** The queue that this worker alone polls. */
  readonly claimedQueue: string;
  readonly timings: Timings;
}

/** Metrics that a worker counts of its own work; `domain/metric-names.ts` explains each. */
export interface WorkMeter {
  setUp(seconds: number, end: SetUpEnd['kind'] | 'error'): void;
  logLag(seconds: number): void;
  waitingJobs(pool: string, count: number): void;
  stuckDeletions(pool: string, count: number): void;
  leasedUnits(pool: string, leased: LeasedUnits): void;
  swept(report: Pick<JanitorReport, 'reclaimed' | 'unknown' | 'stuck'>): void;
}
