import type { LeftProcesses } from '../../domain/left-processes.js';
import type { StoredRound } from '../../domain/outputs.js';
import type { AcceleratorDevices } from '../../domain/machine-kinds/kind.js';
import type { HostCondition } from '../../domain/recovery/host-ends.js';
import type { StopNotice } from '../../domain/stop-notice.js';
import type { FileSource } from '../../domain/file-source.js';
import type { MachineRef } from '../../domain/machines.js';
import type { ModulePlan, RunContainer } from '../../domain/modules/module.js';
import type { SliceHost } from '../../domain/slice.js';
import type { HostStacks } from '../../domain/stacks/stack.js';
import { isGoogleBucket } from '../../domain/store-place.js';

/** One host, with what the way to it needs. */
export type HostTarget = SshTarget | PodTarget;

interface AnyTarget {
  /** Its slice at the provider: on Cloud TPU the node where guest attributes are read; absent = a host of no slice. */
  readonly ref?: MachineRef;
  /** The provider's id of its slice: host keys are pinned per node id, since addresses are recycled (failures.md 29). */
  readonly uid: string;
  /** Which slice of the job, from 0. */
  readonly slice: number;
  /** Which host of the slice, from 0. */
  readonly index: number;
}

/** A VM, as SSH reaches it. */
export interface SshTarget extends AnyTarget {
  readonly reach: 'ssh';
  /** Where it is reached: its external address where it has one. */
  readonly address: string;
  /** Inside its network, for a fleet that is told to go that way (`ssh.address: internal`). */
  readonly internalAddress?: string;
  readonly user: string;
  /** Absent: a VM, which was made for its slice. */
  readonly own?: OwnTarget;
}

/** A machine that outlives its slices. */
export interface OwnTarget {
  readonly port: number;
  /** Under which its host key is kept: the machine's own, whichever slice holds it. */
  readonly lastingUid: string;
  /** Commands are refused unless the machine has the claim of this id (docs/adr/0070). Absent: of whoever looks after the claims. */
  readonly claim?: string;
  /** `ssh-ed25519 AAAA..`, as the inventory has it. Absent: the record of the first sight stands. */
  readonly hostKey?: string;
  /** `secret:NAME` of the key that connects. Absent: the job's. */
  readonly key?: string;
}

/**
 * Whether a host was made with an account of its provider's, which opens the bucket. A rehearsed store asks nobody who is there: there as in
 * earnest only such a host goes to it by itself (docs/adr/0129).
 */
export const hasAccount = (target: HostTarget): boolean => target.reach === 'ssh' && target.own === undefined;

/**
 * Whether a host writes into the store by itself: it has an account, and the store is one that such an account opens.
 * @param bucket as `StorePort.bucket` says it
 */
export const reachesStore = (target: HostTarget, bucket: string): boolean =>
  hasAccount(target) && isGoogleBucket(bucket);

/** Under which uid and index the key of a host is recorded. */
export const hostKeyPlace = ({ uid, index, own }: SshTarget): readonly [uid: string, index: number] =>
  own === undefined ? [uid, index] : [own.lastingUid, 0];

/** A pod, as exec reaches it. */
export interface PodTarget extends AnyTarget {
  readonly reach: 'pod';
  readonly namespace: string;
  readonly pod: string;
  /** The pod's own id. */
  readonly podUid: string;
}

/** The host of a slice as a target. @param user of hosts that SSH reaches */
export function targetOf(
  host: SliceHost,
  {
    ref,
    uid,
    slice,
    user,
  }: { readonly ref: MachineRef; readonly uid: string; readonly slice: number; readonly user: string },
): HostTarget {
  const { reach, index } = host;
  switch (reach) {
    case 'ssh': {
      const { internalIp, externalIp, own } = host;
      const at = { reach, ref, uid, slice, index, address: externalIp ?? internalIp, internalAddress: internalIp };
      if (own === undefined) return { ...at, user };
      const { port, claim, key } = own;
      const reached = { port, claim, lastingUid: lastingUid(own), ...(key !== undefined && { key }) };
      return { ...at, user: own.user, own: reached };
    }
    case 'pod':
      return { reach, ref, uid, slice, index, namespace: host.namespace, pod: host.pod, podUid: host.uid };
  }
}

/** No node's id: those are numbers, and those of pods are UUIDs. */
export const lastingUid = ({ pool, name }: { readonly pool: string; readonly name: string }): string =>
  `machine-${encodeURIComponent(pool)}-${encodeURIComponent(name)}`;

/** The outcome of making one module ready on one host. */
export type ModuleOutcome =
  /** Its check ran and passed. */
  | { readonly kind: 'unchanged'; readonly module: string }
  | { readonly kind: 'done'; readonly module: string }
  /** A step's script ended with a code other than 0: the user's or the host's fault, not the connection's. */
  | {
      readonly kind: 'failed';
      readonly module: string;
      readonly step: string;
      readonly code: number;
      /** The last lines that the step printed. */
      readonly tail: string;
    };

/** A file that is an object of a store too, from where the host may read it itself. */
export interface StoredSource extends FileSource {
  readonly stored: {
    /** What the submitter calls it, for the log. */
    readonly called: string;
    /** `gs://BUCKET/OBJECT` */
    readonly place: string;
    /** Where its bytes are had with a token; over `http:` without one. Absent: with none of a host's (`StorePort.downloadUrl`). */
    readonly url?: string | undefined;
    /** A URL that is good for minutes; undefined where the worker's credentials cannot sign. Rejects with why they may not. */
    signedUrl(): Promise<string | undefined>;
  };
}

/** Hears of the steps of a set-up while they run. */
export interface SetUpListener {
  /** What a step printed, and a line of jobctl's on each large file. Nothing more is read until its promise settles. */
  onOutput(module: string, chunk: Buffer): void | Promise<void>;
  /** A step began; with `code`, it ended. */
  onStep?(event: { readonly module: string; readonly step: string; readonly code?: number }): void;
  /** The large files of a module are put on the host from now on; undefined: they are there. */
  onFiles?(module: string | undefined): void;
  /** A module is ready. */
  onReady?(outcome: Exclude<ModuleOutcome, { kind: 'failed' }>): void;
}

/** What the on-host runner is asked to start (facts: docs/runner.md). */
export interface RunRequest {
  /** Names the run's directory on the host: `<job>-a<attempt>`. One id starts at most once per host. */
  readonly runId: string;
  /** Greater epochs fence smaller ones off; the attempt's number. */
  readonly epoch: number;
  /** The user's script, for `bash -lc`. */
  readonly script: string;
  readonly env: Readonly<Record<string, string>>;
  /** Runs the script in a container, by its `bash -c`; absent = in the login user's shell. */
  readonly container?: RunContainer;
  /** What to wait for before the start. Absent: nothing. */
  readonly accelerator?: AcceleratorCheck;
  /** Absent: the host writes none. */
  readonly sign?: SignOfLife;
  /** Where the host puts its exit record once, if it can (docs/adr/0058). Absent: nowhere. */
  readonly exitRecord?: ExitRecordUpload;
  /** What the host stores of the files that the command makes (docs/adr/0059). Absent: nothing, and the command has no folder for it. */
  readonly outputs?: RunOutputs;
  /** Runs before the command hears that it is preempted, once per run. Absent: nothing does. */
  readonly preemptionHook?: { readonly script: string; readonly timeoutMs: number };
  /** Without a word of a worker for this long the host ends the run itself, with hook and `graceMs`. Absent: never. */
  readonly maxUnattendedMs?: number;
  /** The host ends the run itself when it has lasted for this long. Absent: never. */
  readonly limitMs?: number;
  /** With code 0 the run ends when its shell has ended, or when all processes have that it has started. Absent: the shell. */
  readonly waitFor?: 'shell' | 'all';
  /** Of the ends that the host makes itself. Absent: 0. */
  readonly graceMs?: number;
}

/** An object that a host writes into the store itself. */
export interface HostUpload {
  /** Takes a POST (`StorePort.uploadUrl`). */
  readonly url: string;
  /** `nobody`: over `http:`, where no credentials are sent. */
  readonly as: 'service-account' | 'nobody';
}

/** Of which run a record must be. */
export interface ExitRecordOf {
  readonly runId: string;
  readonly proof?: string | undefined;
}

export interface ExitRecordUpload extends HostUpload {
  /** What the record must bear to be believed, 64 hexadecimal digits (docs/adr/0091). Absent: nothing. */
  readonly proof?: string | undefined;
}

/** Files of a command that its host puts into the store itself: while it runs, on a notice, and when it has ended. */
export interface RunOutputs {
  /** Takes a PUT of a content (`StorePort.objectUrl`); `SHA256` in it stands for the content's hash. Empty: the worker takes all. */
  readonly contentUrl: string;
  /** Takes a PUT of the manifest. Empty as the other. */
  readonly manifestUrl: string;
  /** `worker`: whoever calls `deliverOutputs`. */
  readonly as: HostUpload['as'] | 'worker';
  /** The prefix in the store, for messages. */
  readonly place: string;
  readonly everyMs: number;
  /** `$JOBCTL_OUTPUT_DIR`; made before the command starts. Below the login user's home. */
  readonly folder: string;
  /** The folder that `patterns` are relative to: where the command starts. */
  readonly base: string;
  /** Of bash, with `**`; no newlines. */
  readonly patterns: readonly string[];
  /** A round that is not whole takes the place of none that is (docs/adr/0124). */
  readonly isWholeOnly: boolean;
  /** Position among all hosts of the attempt: whose files these are, for the attempts after it. */
  readonly host: number;
}

/** What became of what a host handed over. */
export type Taken =
  | { readonly kind: 'stored' }
  /** It is not what its hash says. */
  | { readonly kind: 'changed' }
  /** The store is in trouble, which may pass. */
  | { readonly kind: 'later'; readonly why: string }
  /** Nobody will ever take it. */
  | { readonly kind: 'refused'; readonly why: string };

/** Stores for a host what it hands over (docs/adr/0129). Its methods never reject. */
export interface OutputsTaker {
  /** So that no more than some of all hosts fill the memory here. */
  inTurn<T>(take: () => Promise<T>): Promise<T>;
  content(source: FileSource): Promise<Taken>;
  manifest(content: Buffer): Promise<Taken>;
}

/** What a host says of the outputs of a run that has ended. */
export type RunOutputsStatus =
  /** There are none. */
  | { readonly state: 'none' }
  /** It goes on. `reason`: why the last round was not stored. */
  | { readonly state: 'storing'; readonly reason?: string }
  | ({ readonly state: 'stored' } & StoredRound)
  /** Nothing that the host could mend; what was stored before stays. */
  | ({ readonly state: 'failed'; readonly reason: string } & Partial<StoredRound>);

/** Where a host says into the store that it lives, while its command runs, if it can (docs/adr/0046). */
export interface SignOfLife extends HostUpload {
  readonly everyMs: number;
}

/** An accelerator serves one process: whoever still has it is waited for, and then named. */
export interface AcceleratorCheck extends AcceleratorDevices {
  /** 0: the devices are not looked at. Absent: a minute. */
  readonly waitMs?: number;
}

/** Why a host may end a command itself, as in the runner's `ended-by`. */
export const HOST_REASONS = ['unattended', 'limit', 'ray'] as const;

export type RunStatus =
  | { readonly kind: 'absent' }
  /** `waitsFor`: who has the accelerators, `PID (COMMAND)`, or why that cannot be seen. */
  | { readonly kind: 'starting'; readonly waitsFor?: string }
  /** Not begun, since something on the host stands in its way: the same id may be started again. */
  | { readonly kind: 'blocked'; readonly message: string }
  | {
      readonly kind: 'running';
      readonly startedAt: number;
      readonly outputBytes: number;
      /** How long ago it printed last, or began, at least: the host's own word. Absent: it cannot tell (its disk is full). */
      readonly quietMs?: number;
      /** `warnRun` put a warning there, maybe another worker's, and nobody has taken it back. */
      readonly isWarned?: true;
    }
  | {
      readonly kind: 'exited';
      readonly code: number;
      readonly signal?: string;
      readonly startedAt: number;
      readonly endedAt: number;
      readonly outputBytes: number;
      /** jobctl had asked for its end before. */
      readonly isStopped: boolean;
      /** How long ago it ended, at least. Absent: the host cannot tell. */
      readonly quietMs?: number;
      /** How the host was then. Absent: it could not say. */
      readonly host?: HostCondition;
      /** The host ended it: by `maxUnattendedMs` or `limitMs`, or since its Ray was gone (docs/adr/0068). Absent: it did not. */
      readonly endedBy?: (typeof HOST_REASONS)[number];
      /** Processes that the kernel killed for want of memory while it ran, in its pod. Absent: none, or nobody counted. */
      readonly killedForMemory?: number;
      /** What still ran when the shell had ended with code 0, and was ended. Absent: nothing. */
      readonly left?: LeftProcesses;
    }
  /** The supervisor is gone, processes of the run live on. */
  | { readonly kind: 'orphaned'; readonly outputBytes: number }
  /**
   * The run is over, and no exit record is on the host: evidence, never an exit code. `isRestarted`: by its boot id the host, or its
   * pod, was started anew; absent: it was not, so the supervisor was killed with the run, or the disk did not keep the record.
   */
  | { readonly kind: 'lost'; readonly outputBytes: number; readonly isRestarted?: true };

export interface PutFileOptions {
  /** Permissions, such as 0o644. */
  readonly mode: number;
  readonly signal: AbortSignal;
}

export interface GetFileOptions {
  /** Bytes that are taken, as the file was listed: of one that has grown, its beginning. More than that is refused. */
  readonly most: number;
  readonly signal: AbortSignal;
}

/** A host's file as it was copied from there: `sha256` was compared with what arrived. */
export interface ReceivedFile {
  readonly size: number;
  readonly mode: number;
  readonly sha256: string;
}

export interface CommandOptions {
  readonly stdin?: Buffer | AsyncIterable<Buffer>;
  /** May return a promise: nothing more is read until it is settled. */
  readonly onStdout: (chunk: Buffer) => void | Promise<void>;
  readonly onStderr: (chunk: Buffer) => void | Promise<void>;
  readonly signal: AbortSignal;
}

/** The program py-spy for a host of this `uname -m`. Rejects with what keeps it from being had, in words. */
export type PySpySource = (machine: string) => Promise<Buffer>;

/** Which processes `runStacks` looks at, and how long. */
export interface StacksRequest {
  /** Position among all hosts of the attempt. */
  readonly host: number;
  readonly runId: string;
  /** For hosts that have no py-spy and cannot get it from PyPI. Absent: none is put on hosts, nor fetched there. */
  readonly pySpy?: PySpySource | undefined;
  /** How long a host may take to answer at all. */
  readonly answerMs: number;
  /** How long it may take to get py-spy and to answer with it: after that it is believed without stacks. */
  readonly installMs: number;
  readonly signal: AbortSignal;
}

/** How a command of the user's ended; `code` is absent where a signal ended it. */
export interface CommandEnd {
  readonly code?: number;
  readonly signal?: string;
}

/** One kept connection to one host. All methods reject with `HostUnreachable` when the connection is the problem. */
export interface HostConnection {
  readonly target: HostTarget;
  /**
   * Makes modules ready, in order, up to the first that fails. One round trip where nothing is to be done. Called again, it goes
   * on from the failing step.
   */
  applyModules(
    plans: readonly ModulePlan[],
    listener: SetUpListener,
    signal: AbortSignal,
  ): Promise<readonly ModuleOutcome[]>;
  /** Which worker of its slice the host says it is, from 0. Undefined where it has no metadata server that says so. */
  workerNumber(): Promise<number | undefined>;
  /** These modules are made anew at the next call, whatever stands on the host. */
  forgetModules(names: readonly string[]): Promise<void>;
  /** Idempotent: a second start of one run id changes nothing and answers with its status. `fenced` if the host knows a greater epoch of the job. */
  startRun(request: RunRequest): Promise<RunStatus | { readonly kind: 'fenced'; readonly epoch: number }>;
  runStatus(runId: string): Promise<RunStatus>;
  /**
   * The run's output (stdout and stderr as one stream) from a byte offset on. Ends after a last read when the run has ended.
   * `onChunk` may return a promise: nothing more is read until it is settled. Resolves with the offset reached.
   */
  followOutput(
    runId: string,
    offset: number,
    onChunk: (chunk: Buffer) => void | Promise<void>,
    signal: AbortSignal,
  ): Promise<number>;
  /**
   * SIGTERM to the run's whole tree, `graceMs`, SIGKILL until none is left. Also for a run that never started (it then never will).
   * Before the signal `notice` appears where the run's $JOBCTL_NOTICE_FILE points, so that the command can tell why.
   */
  stopRun(runId: string, graceMs: number, notice: StopNotice): Promise<RunStatus>;
  /** What the provider warns of, where $JOBCTL_WARNING_FILE points, with no signal; undefined: it warns no more. */
  warnRun(runId: string, reason: string | undefined): Promise<RunStatus>;
  /**
   * What the processes of a run are doing, of which none is stopped or changed for it (docs/adr/0127). Rejects also if the host does not
   * answer in time.
   */
  runStacks(request: StacksRequest): Promise<HostStacks>;
  /** How far the outputs of a run that has ended are stored. A host that does not store them begins to. */
  runOutputs(runId: string): Promise<RunOutputsStatus>;
  /**
   * Takes what a host without an identity has to store, until the run has ended and its last files are stored (`settled`), or the
   * call has ended for another reason. Of two callers the later one goes on.
   */
  deliverOutputs(runId: string, taker: OutputsTaker, signal: AbortSignal): Promise<'settled' | 'cut'>;
  /** One command line for the login user's shell, as `ssh HOST COMMAND`; it ends with the connection. Never repeated here. */
  exec(command: string, options: CommandOptions): Promise<CommandEnd>;
  /**
   * Puts a file in place whole or not at all, after its sha256 was compared on the host; folders above it are made.
   * `unchanged`: it was there with this content, which was not sent. Goes on after a cut, and when called again.
   * @param path absolute, or under the login user's home (`~/x` and `x` are the same)
   */
  putFile(source: FileSource | Buffer, path: string, options: PutFileOptions): Promise<'unchanged' | 'done'>;
  /**
   * Puts contents into a folder of the login user's, each under its SHA-256, which is compared on the host. Those that are there are not
   * sent: called again, it goes on.
   */
  putContents(contents: readonly FileSource[], folder: string, signal: AbortSignal): Promise<void>;
  /** A file's bytes in order, each once, also over cuts. @throws HostFileError if there is none, or it changed meanwhile. */
  getFile(
    path: string,
    onChunk: (chunk: Buffer) => void | Promise<void>,
    options: GetFileOptions,
  ): Promise<ReceivedFile>;
  close(): void;
}

export interface HostsPort {
  /** One connection per host, shared by all who ask for the same target and key, which is read for hosts behind SSH alone. */
  connect(target: HostTarget, key: SshKey, signal: AbortSignal): Promise<HostConnection>;
  /** Reads what a host put into the store at the end of a run (`RunRequest.exitRecord`). Undefined: it is no record of that run. */
  readExitRecord(content: string, of: ExitRecordOf): Extract<RunStatus, { kind: 'exited' }> | undefined;
  /** What the host would put there, for an end that it has told and may yet lose. */
  exitRecord(status: Extract<RunStatus, { kind: 'exited' }>, of: ExitRecordOf): string;
  /** Closes the connections to these hosts, or all. */
  release(targets?: readonly HostTarget[]): void;
}

export type { KeyReader } from './ssh-key.js';

export interface SshKey {
  /** PEM or OpenSSH private key text. Never logged, never in history. */
  readonly privateKey: string;
  /**
   * Connects in its place under OS Login, which lets a key into every host of an account: a job's own key must not be one
   * (docs/adr/0077). Absent: this key does.
   */
  readonly underOsLogin?: SshKey;
}

export class HostUnreachable extends Error {
  override readonly name = 'HostUnreachable';
}
/** The host lacks what jobctl needs of it, such as a program in a pod's image: as long as it lives, and in each that is made like it. */
export class HostUnfit extends Error {
  override readonly name = 'HostUnfit';
}
/** The on-host runner answered that it cannot do what it was asked, such as for a full disk. Not the connection's fault. */
export class RunnerFailed extends Error {
  override readonly name = 'RunnerFailed';
}
/** A file that cannot be copied to or from a host: no such file, no right, no space. Not the connection's fault. */
export class HostFileError extends Error {
  override readonly name = 'HostFileError';
}
/** No one vouches for the host's key, and the worker's policy wants somebody to (docs/ssh-fleet.md). */
export class HostKeyUnverified extends Error {
  override readonly name = 'HostKeyUnverified';
}
/** The host's key is not the one pinned for this node id. */
export class HostKeyMismatch extends Error {
  override readonly name = 'HostKeyMismatch';
}
