/** The job workflow: its input, its memo, and the signals, queries and updates that it takes. All values are plain JSON. */
import { type HumanCall, query, signal, update } from './define.js';
import type { JobAuthorization } from './authorization.js';
import type { SliceNews } from './slice.js';
import type { JobSpec } from '../domain/job-spec.js';
import type { Asker, JobPhase, JobResult, Outcome } from '../domain/job-state.js';
import type { HostPlace } from '../domain/recovery/host-ends.js';
import type { SetUpRecord } from '../domain/setup-record.js';
import type { MachineRef } from '../domain/machines.js';
import type { Pricing, SliceHost, TierPurchase } from '../domain/slice.js';
import type { Timings } from '../domain/timings.js';
import type { EpochMs } from '../domain/units.js';
import type { AllowedChoices } from '../quota/allow/allowed.js';
import type { PoolLimits } from '../quota/pool-limits.js';
import type { Preemption } from '../quota/quota-config.js';

/** What a list row shows beside the search attributes. */
export interface JobMemo {
  readonly name: string;
  /** `v5litepod-16` or `2 x v5litepod-16`. */
  readonly slice: string;
  /** Hash of the job's content: an equal `--name` with an equal hash is the same job. */
  readonly contentHash: string;
  /** First run id of the job's chain: which job of this id it is. */
  readonly run?: string;
  /** Set by the worker that took the job: whether a server has verified who its user is. Absent: no worker has taken it. */
  readonly isVerified?: boolean;
  /** Set by the worker that took the job; REHEARSAL where nothing of it is real. */
  readonly label?: string;
  /** Of the chain's first run: a run that continues as new begins later. */
  readonly submittedAt?: EpochMs;
  readonly attempts?: number;
  readonly phaseSince?: EpochMs;
  /** One sentence: what the job waits for or ended with. */
  readonly why?: string;
  /** Set when the job has ended, or holds its slices with its outcome known. */
  readonly outcome?: Outcome;
  /** Its outcome may be known long before its workflow closes (`keep`). */
  readonly keeps?: true;
}

/** Input of the `job` workflow. Start it with `{v: 1, job: {...}}` and nothing else from any language. */
export interface JobInput {
  readonly v: 1;
  /** The job file as JSON, with the submitter's references resolved or not: the workflow checks it all again. */
  readonly job: unknown;
  /** The file's text as submitted, kept with the job. */
  readonly source?: string;
  /** Login name of the submitter; its word is trusted (DESIGN.md 3, "Trust"). */
  readonly user?: string;
  /** Local files the job names, uploaded to the store before: path as written -> SHA-256. */
  readonly files?: Readonly<Record<string, string>>;
  /** Public fingerprint (`SHA256:..`) of the submitter's file that `ssh.private_key` names: a worker uses no other key. */
  readonly sshKey?: string;
  /** The same of the private keys that `ssh.identities` and `ssh.tpu_private_key` name: path as written -> fingerprint. */
  readonly identityKeys?: Readonly<Record<string, string>>;
  /** Of `jobctl serve`: who the submitter is. Wanted in a pool in verified mode, ignored in others. */
  readonly authorization?: JobAuthorization;
  /** Set by the workflow itself when it continues as new (workflows/job/state.ts). */
  readonly carry?: unknown;
}

/**
 * The one argument of the signal that `notify` asks for: how the job ended. `run` is the first run id of the job's chain: two
 * notices of one job and run are the same end told twice (an operator reset the job). `refused`: it was never a job of ours,
 * since its file is wrong; `message` is what `jobctl validate` prints.
 */
export type JobNotice =
  | {
      readonly v: 1;
      readonly job: string;
      readonly run: string;
      readonly result: JobResult;
      readonly outcome: Outcome;
    }
  | {
      readonly v: 1;
      readonly job: string;
      readonly run: string;
      readonly result: 'refused';
      readonly message: string;
    };

/** What the worker knows about the place the job runs in. Frozen when the job is accepted. */
export interface JobSettings {
  readonly owner: string;
  readonly label?: string;
  readonly bucket: string;
  readonly googleProject: string;
  /** OpenSSH public key line that goes into the slice's metadata. */
  readonly publicKey: string;
  readonly loginUser: string;
  /** Who submitted, for quota and lists. */
  readonly user: string;
  /** A server has verified it. Absent: it is the submitter's own word. */
  readonly isVerified?: true;
  /** The quota project. */
  readonly project: string;
  /** What the quota file says of this job, in one sentence. */
  readonly quotaNote: string;
  readonly timings: Timings;
  /** Of the pool's `[limits]`; absent: none. */
  readonly limits?: Pick<PoolLimits, 'logBytesPerAttempt' | 'inputBytes' | 'requestsPerJob'>;
  /** What an edit of the job may choose; absent: anything. */
  readonly allowed?: AllowedChoices;
}

/** One slice of a job, as its job knows it. */
export interface SliceView {
  /** From 0, below the `slices` of its job. */
  readonly index: number;
  readonly generation: number;
  readonly ref: MachineRef;
  readonly state: 'starting' | 'ready' | 'lost' | 'gone';
  readonly uid?: string;
  readonly hosts: readonly SliceHost[];
  readonly detail?: string;
  /** Since when `detail` says so. Absent: not known, as of a worker of an older jobctl. */
  readonly since?: EpochMs;
  /** From then on its provider may delete it, as it was bought. Absent: it has no such end, or that is not known. */
  readonly endsAt?: EpochMs;
}

export interface JobEvent {
  readonly at: EpochMs;
  readonly text: string;
}

/** Answer of the `describe` query. */
export interface HostLogin {
  readonly user: string;
  /** OpenSSH line of the key that the hosts accept. */
  readonly publicKey: string;
}
export interface JobView {
  readonly id: string;
  /** First run id of its chain. Absent: a worker of an older jobctl answers. */
  readonly run?: string;
  readonly spec: JobSpec;
  /** Of a job file with `build`: what hosts pull and of which commit it was made, for people. */
  readonly image?: string;
  readonly project: string;
  readonly label?: string;
  readonly phase: JobPhase;
  readonly phaseSince: EpochMs;
  readonly why?: string;
  readonly submittedAt: EpochMs;
  readonly attempt: number;
  /** By the provider. */
  readonly preemptions: number;
  /** By quota. Absent: never. */
  readonly quotaPreemptions?: number;
  /** Starts that the command asked for by its exit code. Absent: none. */
  readonly requestedRestarts?: number;
  readonly slices: readonly SliceView[];
  /** Of requests in other zones, beside `slices`, that are there or on their way out (docs/adr/0101). Absent: none. */
  readonly rivals?: readonly SliceView[];
  /** When another zone is asked, if none of those that are asked has the slices before. Absent: there is none to be asked. */
  readonly nextZone?: { readonly zone: string; readonly at: EpochMs };
  /** What the pool granted last, and how its slices are bought. Absent: nothing yet, or by a pool without tiers. */
  readonly granted?: Granted;
  /** How the job's hosts are logged in to. Absent: the job is not accepted yet. */
  readonly login?: HostLogin;
  readonly outcome?: Outcome;
  /** What a person asked for last, if the job is not through with it: a stop, until `resume`. */
  readonly request?: { readonly kind: 'stop' | 'requeue' | 'restart' } & Asker;
  /** What jobctl did for the job, oldest first; the store keeps the whole. */
  readonly events: readonly JobEvent[];
}

/** A grant of chips: the tier of the pool, from 0 (best), and how that tier is bought where its pool file says so. */
export interface Granted extends TierPurchase {
  readonly tier: number;
}

export const describeQuery = query<JobView>('describe');

/** Which lease of which job a signal of the quota workflow is about: `number` of the chain that began with `run`. */
export interface LeaseNews {
  readonly run: string;
  readonly number: number;
  readonly epoch: number;
}
/** The lease is held from now on, in a tier that is bought like this. */
export interface LeaseGrant extends LeaseNews {
  readonly tier: number;
  readonly pricing?: Pricing;
  readonly reservation?: string;
  /** Of a job with `zones: any`: its zones, the best first. */
  readonly zones?: readonly string[];
  /** Of a job that could have its chips in other tiers too: these. */
  readonly otherTiers?: readonly number[];
}
/** The pool wants the lease back, with notice and the job's grace. The job asks again with its first submit time. */
export interface LeaseRevocation extends LeaseNews {
  readonly reason: string;
  /** `beside`: the lease stands, and its pool has no room for a gang beside the first (docs/adr/0101). */
  readonly cause: Preemption['cause'] | 'beside';
}
/** An admin, or the job's user, gave it another priority: 1 (first) to 5. */
export interface PriorityNews {
  readonly run: string;
  readonly priority: number;
}
/** From the quota workflow. `restate`: one without memory asks every open job to say again what it holds or waits for. */
export const grantedSignal = signal<[LeaseGrant]>('granted');
export const revokedSignal = signal<[LeaseRevocation]>('revoked');
export const prioritySignal = signal<[PriorityNews]>('priority');
export const restateSignal = signal<[{ readonly epoch: number }]>('restate');

/** How far the set-up of an attempt is. Its worker sends it, at a bounded rate (activities/attempt/set-up-journal.ts). */
export interface SetUpProgress extends Pick<SetUpRecord, 'modules' | 'hosts' | 'ready'> {
  readonly v: 1;
  readonly attempt: number;
}
export const setUpProgressSignal = signal<[SetUpProgress]>('setUpProgress');

/** What the worker of an attempt waits for before it can go on; absent: it goes on again. */
export interface AttemptTrouble {
  readonly v: 1;
  readonly attempt: number;
  /** Absent: the store. */
  readonly of?: 'accelerator' | 'silence';
  readonly what?: string;
  /** Its command has ended on all hosts. Absent: it may run; an earlier worker does not say it. */
  readonly hasEnded?: true;
  /** Its command has ended, and its hosts store what it wrote. */
  readonly isStoringOutputs?: true;
}
export const attemptTroubleSignal = signal<[AttemptTrouble]>('attemptTrouble');

/** A host that its worker cannot reach. */
export interface UnreachableHost extends HostPlace {
  /** Its first miss in a row. */
  readonly since: EpochMs;
}
/** Hosts of an attempt that do not answer: all of them each time, as many as are told; none: all answer. */
export interface UnreachableHosts {
  readonly v: 1;
  readonly attempt: number;
  readonly hosts: readonly UnreachableHost[];
}
export const unreachableHostsSignal = signal<[UnreachableHosts]>('unreachableHosts');

/** From the slice of that resource name, about the job whose chain began with `run`. */
export interface SliceNewsFrom {
  readonly name: string;
  readonly run: string;
  readonly news: SliceNews;
}
export const sliceNewsSignal = signal<[SliceNewsFrom]>('sliceNews');

/** Another job file for the attempts to come: the whole of it, or single values of the one in force. */
export interface EditCall extends HumanCall {
  /** As plain JSON. */
  readonly job?: unknown;
  readonly set?: readonly { readonly path: readonly (string | number)[]; readonly value: unknown }[];
  /** The file's text, kept with the attempt. */
  readonly source?: string;
  /** Local files that the new file names, uploaded before: path as written -> SHA-256. */
  readonly files?: Readonly<Record<string, string>>;
  /** As in `JobInput`, of the keys that the new file names. */
  readonly identityKeys?: Readonly<Record<string, string>>;
}
/**
 * Who is about to cancel the job. The cancel itself is Temporal's own request, which reaches a job without a worker and
 * carries no name; this signal goes before it (docs/adr/0060).
 */
export interface CancelNote extends HumanCall {
  readonly verb?: string;
}
export const cancelNoteSignal = signal<[CancelNote]>('cancelNote');

/** `release`: slices and lease go back too. */
export interface StopCall extends HumanCall {
  readonly release?: boolean;
}
/** `zone`: the first that is asked then, one of the job's own. */
export interface RequeueCall extends HumanCall {
  readonly zone?: string;
}
/** `replace`: the next attempt starts on other machines in place of all slices, or of these (from 0). */
export interface RestartCall extends EditCall {
  readonly replace?: Replaced;
}
export type Replaced = 'all' | readonly number[];
/**
 * To a job, by people (docs/adr/0022). Each is refused by its validator where the job's state makes no sense of it, or noted; the
 * answer is a sentence. What was noted is done when the job comes by.
 */
export const stopUpdate = update<StopCall>('stop');
export const resumeUpdate = update<EditCall>('resume');
export const requeueUpdate = update<RequeueCall>('requeue');
export const restartUpdate = update<RestartCall>('restart');
/** Without modules: all of the job's. `force`: also what is found unchanged. */
export interface SetUpCall extends HumanCall {
  readonly modules?: readonly string[];
  readonly force?: boolean;
}
export const setUpUpdate = update<SetUpCall>('setUp');
