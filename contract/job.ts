/** The job workflow: its input, its memo, and its signals and queries. All values are plain JSON. */
import { type HumanCall, query, signal } from './define.js';
import type { JobAuthorization } from './authorization.js';
import type { Landlord } from './lodging.js';
import type { SliceNews } from './slice.js';
import type { JobRecord } from '../domain/counted/record.js';
import type { PriceList } from '../domain/counted/prices.js';
import type { ShownUsage } from '../domain/counted/usage.js';
import type { JobRef } from './workflow-ids.js';
import type { ShownEvent, ToldEvent } from '../domain/job-events/event.js';
import type { Firing } from '../domain/schedule/schedule.js';
import type { JobMember } from '../domain/array/group-state.js';
import type { JobSpec } from '../domain/job-spec.js';
import type { Asker, JobPhase, JobResult, Outcome } from '../domain/job-state.js';
import type { HostPlace } from '../domain/recovery/host-ends.js';
import type { SetUpRecord } from '../domain/set-up-record.js';
import type { UsualAccounts } from '../domain/machine-kinds/kind.js';
import type { MachineRef } from '../domain/machines.js';
import type { Pricing, RefusalScope, SliceHost, TierPurchase } from '../domain/slice.js';
import type { Timings } from '../domain/timings.js';
import type { EpochMs } from '../domain/units.js';
import type { AllowedChoices } from '../quota/allowed.js';
import type { PoolLimits, Preemption } from '../quota/quota-config.js';

/** Columns of a list row that are not search attributes. */
export interface JobMemo {
  readonly name: string;
  /** `v5litepod-16` or `2 x v5litepod-16`. */
  readonly slice: string;
  /** Hash of the job's content: an equal `--name` with an equal hash is the same job. */
  readonly contentHash: string;
  /** First run id of the job's chain. It tells jobs that used the same id apart. */
  readonly run?: string;
  /** Set by the worker that took the job: whether a server has verified its user. Absent: no worker has taken the job. */
  readonly isVerified?: boolean;
  /** Set by the worker that took the job. REHEARSAL if nothing of the job is real. */
  readonly label?: string;
  /** Submit time of the chain's first run: a run that continues as new begins later. */
  readonly submittedAt?: EpochMs;
  readonly attempts?: number;
  readonly phaseSince?: EpochMs;
  /** One sentence: the reason why the job waits, or its end. */
  readonly why?: string;
  /** Time at which `timeouts.queue` ends its wait for its pool or for chips. Absent: it does not wait, or without a bound. */
  readonly waitsUntil?: EpochMs;
  /** Set when the job has ended, or holds its slices with its outcome known. */
  readonly outcome?: Outcome;
  /** The schedule that started it. */
  readonly schedule?: string;
  /** Set if its workflow may stay open long after its outcome is known (`keep`). */
  readonly keeps?: true;
}

/** Input of the `job` workflow. In any language, start it with `{v: 1, job: {...}}` and no other key. */
export interface JobInput {
  readonly v: 1;
  /** The job file as JSON, with the submitter's references resolved or not: the workflow checks all of it again. */
  readonly job: unknown;
  /** The file's text as submitted, kept with the job. */
  readonly source?: string;
  /** Login name of the submitter, who is believed (docs/design.md, "Trust"). */
  readonly user?: string;
  /** Local files that the job names, uploaded to the store beforehand: path as written -> SHA-256. */
  readonly files?: Readonly<Record<string, string>>;
  /** Public fingerprint (`SHA256:..`) of the submitter's key file in `ssh.private_key`: a worker uses no other key. */
  readonly sshKey?: string;
  /** Likewise for private keys that `ssh.identities` and `ssh.tpu_private_key` name: path as written -> fingerprint. */
  readonly identityKeys?: Readonly<Record<string, string>>;
  /** The job is a member of an array: `job` is the file of all members, and the id is `<group>-<index>` (docs/adr/0157). */
  readonly member?: StartedMember;
  /** A schedule has started the job, or its group: the id of either is `firingJobId` of this (docs/adr/0159). */
  readonly firing?: Firing;
  /** Statement of `jobctl serve` about the submitter. Required in a pool in verified mode, ignored in others. */
  readonly authorization?: JobAuthorization;
  /** Set by the workflow itself when it continues as new (workflows/job/state.ts). */
  readonly carry?: unknown;
}

/** `landlord`: the member that lends its slices to this one (docs/adr/0163). Absent: none does. */
export type StartedMember = JobMember & { readonly landlord?: JobRef };

/**
 * The one argument of the signal by which `notify` reports a job's end. `run` is the first run id of the job's chain. Two notices
 * of one job and run report the same end twice, because an operator reset the job. `refused`: no worker accepted the job, because
 * its file is wrong, and `message` is the output of `jobctl validate`.
 */
export type JobNotice = AboutJob &
  (
    | { readonly result: JobResult; readonly outcome: Outcome }
    | { readonly result: 'refused'; readonly message: string }
  );
/** Argument of the same signal when `notify` reports an event before the job's end. */
export type EventNotice = AboutJob & { readonly event: ToldEvent };

interface AboutJob {
  readonly v: 1;
  readonly job: string;
  readonly run: string;
}

/** Facts about the installation in which the job runs, from its worker. Frozen when the job is accepted. */
export interface JobSettings extends UsualAccounts {
  readonly owner: string;
  readonly label?: string;
  readonly bucket: string;
  /** OpenSSH public key line that goes into the slice's metadata. */
  readonly publicKey: string;
  readonly loginUser: string;
  /** The submitter, for quota and lists. */
  readonly user: string;
  /** A server has verified `user`. Absent: it is the submitter's own claim. */
  readonly isVerified?: true;
  /** The quota project. */
  readonly project: string;
  /** The quota file's effect on this job, in one sentence. */
  readonly quotaNote: string;
  readonly timings: Timings;
  /** Rows of the operator's price list that may fit the job. Absent: none. */
  readonly prices?: PriceList;
  /**
   * Hash of all that a member has in common with one that lends it slices (docs/adr/0163). Absent: its array does not ask for
   * that.
   */
  readonly fits?: string;
  /** From the pool's `[limits]`. Absent: no limits. */
  readonly limits?: Pick<PoolLimits, 'logBytesPerAttempt' | 'inputBytes' | 'requestsPerJob'>;
  /** Choices that an edit of the job may make. Absent: any. */
  readonly allowed?: AllowedChoices;
}

/** One slice as its job sees it. */
export interface SliceView {
  /** From 0, less than the job's `slices`. */
  readonly index: number;
  readonly generation: number;
  readonly ref: MachineRef;
  readonly state: 'starting' | 'ready' | 'lost' | 'gone';
  readonly uid?: string;
  readonly hosts: readonly SliceHost[];
  readonly detail?: string;
  /** When `detail` began to hold. Absent: not known, if the worker runs an older jobctl. */
  readonly since?: EpochMs;
  /** Time from which the provider may delete the slice, as it was bought. Absent: no such time, or it is not known. */
  readonly endsAt?: EpochMs;
}

export interface HostLogin {
  readonly user: string;
  /** OpenSSH line of the key that the hosts accept. */
  readonly publicKey: string;
  /** The job that lends its slices to this one, whose key it then is (docs/adr/0163). Absent: the key is the job's own. */
  readonly landlord?: Landlord['job'];
}
/** Answer of the `describe` query. */
export interface JobView {
  readonly id: string;
  /** First run id of the job's chain. Absent: a worker of an older jobctl answers. */
  readonly run?: string;
  readonly spec: JobSpec;
  /** In a job with `build`: the image that hosts pull and the commit it was built from, for people. */
  readonly image?: string;
  readonly project: string;
  readonly label?: string;
  readonly phase: JobPhase;
  readonly phaseSince: EpochMs;
  readonly why?: string;
  readonly submittedAt: EpochMs;
  readonly attempt: number;
  /** Preemptions by the provider. */
  readonly preemptions: number;
  /** Preemptions by quota. Absent: 0. */
  readonly quotaPreemptions?: number;
  /** Restarts that the command requested by its exit code. Absent: 0. */
  readonly requestedRestarts?: number;
  readonly slices: readonly SliceView[];
  /** Requests in other zones, beside `slices`, that exist or are being deleted (docs/adr/0101). Absent: there are none. */
  readonly rivals?: readonly SliceView[];
  /** The last refusal of each zone since all the job's slices were last ready. Absent: none. */
  readonly answers?: readonly (ZoneAnswer & ZoneTurn)[];
  /** The zone that is asked next, and when, unless the job gets its slices before. Absent: there is no next zone. */
  readonly nextZone?: { readonly zone: string; readonly at: EpochMs };
  /** Time at which `timeouts.queue` ends the job's wait. Absent: it does not wait, or without a bound. */
  readonly waitsUntil?: EpochMs;
  /** The pool's last grant, and how its slices are bought. Absent: no grant yet, or the pool has no tiers. */
  readonly granted?: Granted;
  /** Its account so far: the chip-time of its leases by part, and its cost. Absent: the job is not accepted yet. */
  readonly usage?: ShownUsage;
  /** Login for the job's hosts. Absent: the job is not accepted yet. */
  readonly login?: HostLogin;
  readonly outcome?: Outcome;
  /** The last request of a person, until the job has carried it out. A stop stays until `resume`. */
  readonly request?: { readonly kind: 'stop' | 'requeue' | 'restart' } & Asker;
  /** Actions of jobctl for the job, oldest first. The store keeps all of them. */
  readonly events: readonly ShownEvent[];
}

/** A zone's refusal of slices, in its provider's words, shortened. */
export interface ZoneAnswer {
  readonly zone: string;
  readonly at: EpochMs;
  readonly scope: RefusalScope;
  readonly message: string;
}

/** When a zone that refused is asked again, unless the job gets its slices before. */
export interface ZoneTurn {
  readonly againAt?: EpochMs;
  /** The zone is asked after this other one, at a time that is not known. */
  readonly againAfter?: string;
  /** The zone has already been asked again. */
  readonly isAsked?: true;
}

/** A grant of chips: the tier of the pool, from 0 (best), and how that tier is bought if its pool file says so. */
export interface Granted extends TierPurchase {
  readonly tier: number;
}

export const describeQuery = query<JobView>('describe');
/** The account of a job without an outcome up to a time, such as that of its terminate. Null: no worker had accepted it. */
export const accountQuery = query<JobRecord | null, [endedAt: EpochMs]>('account');

export type { Replaced } from '../domain/job-events/causes.js';

/** Identifies the lease and job of a signal of the quota workflow: lease `number` of the chain that began with `run`. */
export interface LeaseNews {
  readonly run: string;
  readonly number: number;
  readonly epoch: number;
}
/** The job holds the lease from now on, in a tier that is bought as given here. */
export interface LeaseGrant extends LeaseNews {
  readonly tier: number;
  readonly pricing?: Pricing;
  readonly reservation?: string;
  /** In a job with `zones: any`: its zones, best first. */
  readonly zones?: readonly string[];
  /** Other tiers that could serve the job too. */
  readonly otherTiers?: readonly number[];
}
/** The pool wants the lease back, with notice and the job's grace. The job asks again with its first submit time. */
export interface LeaseRevocation extends LeaseNews {
  readonly reason: string;
  /** `beside`: the job keeps the lease, but its pool has no room for a gang beside the first (docs/adr/0101). */
  readonly cause: Preemption['cause'] | 'beside';
}
/** An admin, or the job's user, changed the job's priority: 1 (first) to 5. */
export interface PriorityNews {
  readonly run: string;
  readonly priority: number;
}
/** From the quota workflow. `restate`: a workflow without memory asks every open job to repeat what it holds or waits for. */
export const grantedSignal = signal<[LeaseGrant]>('granted');
export const revokedSignal = signal<[LeaseRevocation]>('revoked');
export const prioritySignal = signal<[PriorityNews]>('priority');
export const restateSignal = signal<[{ readonly epoch: number }]>('restate');

/** Progress of the set-up of an attempt. Its worker sends it, at a bounded rate (activities/attempt/set-up-journal.ts). */
export interface SetUpProgress extends Pick<SetUpRecord, 'modules' | 'hosts' | 'ready'> {
  readonly v: 1;
  readonly attempt: number;
}
export const setUpProgressSignal = signal<[SetUpProgress]>('setUpProgress');

/** `what`: the thing that the worker of an attempt waits for. Absent: the worker no longer waits. */
export interface AttemptTrouble {
  readonly v: 1;
  readonly attempt: number;
  /** Kind of the trouble. Absent: the store. */
  readonly of?: 'accelerator' | 'silence' | 'use';
  readonly what?: string;
  /** The command has ended on all hosts. Absent: it may run; an older worker never sets this. */
  readonly hasEnded?: true;
  /** The command has ended, and its hosts store the files that it wrote. */
  readonly isStoringOutputs?: true;
}
export const attemptTroubleSignal = signal<[AttemptTrouble]>('attemptTrouble');

/** A host that its worker cannot reach. */
export interface UnreachableHost extends HostPlace {
  /** Time of the first of its consecutive misses. */
  readonly since: EpochMs;
}
/** Hosts of an attempt that do not answer: each time the full list, up to its bound. Empty: all answer. */
export interface UnreachableHosts {
  readonly v: 1;
  readonly attempt: number;
  readonly hosts: readonly UnreachableHost[];
}
export const unreachableHostsSignal = signal<[UnreachableHosts]>('unreachableHosts');

/** From the slice with that resource name, about the job whose chain began with `run`. */
export interface SliceNewsFrom {
  readonly name: string;
  readonly run: string;
  readonly news: SliceNews;
}
export const sliceNewsSignal = signal<[SliceNewsFrom]>('sliceNews');

/**
 * The user who is about to cancel the job. The cancel itself is Temporal's own request, which reaches a job without a worker and
 * carries no name. This signal goes before it (docs/adr/0060).
 */
export interface CancelNote extends HumanCall {
  readonly verb?: string;
}
export const cancelNoteSignal = signal<[CancelNote]>('cancelNote');
