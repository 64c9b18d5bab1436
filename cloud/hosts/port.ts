import type { LeftProcesses } from '../../domain/left-processes.js';
import type { StoredRound } from '../../domain/outputs.js';
import type { AcceleratorDevices } from '../../domain/machine-kinds/kind.js';
import type { HostCondition } from '../../domain/recovery/host-ends.js';
import type { StopNotice } from '../../domain/early-end.js';
import type { FileSource } from '../../domain/local-files.js';
import type { ModulePlan, RunContainer } from '../../domain/modules/module.js';
import type { HostTarget } from './reaches.js';
import type { HostStacks } from '../../domain/stacks/stack.js';
import type { HostUse } from '../../domain/workspace.js';

export {
  hostKeyPlace,
  type HostTarget,
  lastingUid,
  type PodTarget,
  reachesStore,
  type SshTarget,
  type TargetBy,
  targetOf,
  wayOf,
} from './reaches.js';

/** The outcome of making one module ready on one host. */
export type ModuleOutcome =
  /** Its check ran and passed. */
  | { readonly kind: 'unchanged'; readonly module: string }
  | { readonly kind: 'done'; readonly module: string }
  /** A step's script ended with a code other than 0: a fault of the user or the host, not of the connection. */
  | {
      readonly kind: 'failed';
      readonly module: string;
      readonly step: string;
      readonly code: number;
      /** The last lines that the step printed. */
      readonly tail: string;
    };

/** A file that is also an object of a store, from which the host may read it directly. */
export interface StoredSource extends FileSource {
  readonly stored: {
    /** The submitter's name for it, for the log. */
    readonly called: string;
    /** `gs://BUCKET/OBJECT` */
    readonly place: string;
    /**
     * URL from which a host reads the object with its token, or over `http:` without one. Absent: no host's token can read it
     * (`StorePort.downloadUrl`).
     */
    readonly url?: string | undefined;
    /** Returns a URL that is valid for minutes. Undefined if the worker's credentials cannot sign; rejects if they may not. */
    signedUrl(): Promise<string | undefined>;
  };
}

/** Is told of a set-up's steps while they run. */
export interface SetUpListener {
  /** Called with a step's output, and with a line of jobctl's on each large file. Reading pauses until its promise settles. */
  onOutput(module: string, chunk: Buffer): void | Promise<void>;
  /** Called when a step has begun or, with `code`, has ended. */
  onStep?(event: { readonly module: string; readonly step: string; readonly code?: number }): void;
  /** Called when the large files of a module are being put on the host, and with undefined when they are there. */
  onFiles?(module: string | undefined): void;
  /** Called when a module is ready. */
  onReady?(outcome: Exclude<ModuleOutcome, { kind: 'failed' }>): void;
}

/** A command for the on-host runner to start (docs/runner.md). */
export interface RunRequest {
  /** Name of the run's directory on the host: `<job>-a<attempt>`. One id starts at most once per host. */
  readonly runId: string;
  /** The attempt's number. A greater epoch fences off smaller ones. */
  readonly epoch: number;
  /** The user's script, for `bash -lc`. */
  readonly script: string;
  readonly env: Readonly<Record<string, string>>;
  /** Runs the script in a container, by its `bash -c`. Absent: in the login user's shell. */
  readonly container?: RunContainer;
  /** The accelerators to wait for before the start. Absent: none. */
  readonly accelerator?: AcceleratorCheck;
  /** Absent: the host writes no sign of life. */
  readonly sign?: SignOfLife;
  /** The place to which the host writes its exit record once, if it can (docs/adr/0058). Absent: none. */
  readonly exitRecord?: ExitRecordUpload;
  /** The files of the command that the host stores (docs/adr/0059). Absent: none, and the command has no folder for them. */
  readonly outputs?: RunOutputs;
  /** Absent: the command has no inputs. */
  readonly inputs?: RunInputs;
  /** Runs before the command is told of its preemption, once per run. Absent: no hook. */
  readonly preemptionHook?: { readonly script: string; readonly timeoutMs: number };
  /** If no worker contacts the host for this long, the host ends the run itself, with hook and `graceMs`. Absent: never. */
  readonly maxUnattendedMs?: number;
  /** The host ends the run itself after this duration. Absent: never. */
  readonly limitMs?: number;
  /** The end of a run with code 0: when its shell has ended, or when all processes that it started have. Absent: the shell. */
  readonly waitFor?: 'shell' | 'all';
  /** Grace for ends by the host itself. Absent: 0. */
  readonly graceMs?: number;
  /** The script is the watcher of a workspace. Absent: it is any other command. */
  readonly workspace?: WatchedUse;
}

/** The settings of a workspace's watcher. */
export interface WatchedUse {
  /** Absent: it is not given back for want of use. */
  readonly idleMs?: number;
  /** Time that it has left in all. Absent: no limit. */
  readonly limitMs?: number;
  /** Whether the machine is the job's alone, so that whatever sessions and containers do there is use. */
  readonly isWhole: boolean;
}

/** An object that a host writes directly into the store. */
export interface HostUpload {
  /** Takes a POST (`StorePort.uploadUrl`). */
  readonly url: string;
  /** `nobody`: over `http:`, without credentials. */
  readonly as: 'service-account' | 'nobody';
}

/** The run that a record must belong to. */
export interface ExitRecordOf {
  readonly runId: string;
  readonly proof?: string | undefined;
}

export interface ExitRecordUpload extends HostUpload {
  /** Proof that the record must contain to be trusted, 64 hexadecimal digits (docs/adr/0091). Absent: none. */
  readonly proof?: string | undefined;
}

/** Files of a command that its host stores: while the command runs, on a notice, and when it has ended. */
export interface RunOutputs {
  /** Takes a PUT of a content (`StorePort.objectUrl`); `SHA256` stands for the content's hash. Empty: the worker takes all. */
  readonly contentUrl: string;
  /** Takes a PUT of the manifest. Empty like `contentUrl`. */
  readonly manifestUrl: string;
  /** `worker`: the caller of `deliverOutputs` stores them. */
  readonly as: HostUpload['as'] | 'worker';
  /** The prefix in the store, for messages. */
  readonly place: string;
  readonly everyMs: number;
  /** `$JOBCTL_OUTPUT_DIR`, below the login user's home; created before the command starts. */
  readonly folder: string;
  /** The folder in which the command starts; `patterns` are relative to it. */
  readonly base: string;
  /** Patterns of bash, with `**`; no newlines. */
  readonly patterns: readonly string[];
  /** An incomplete round never replaces a complete one (docs/adr/0124). */
  readonly isWholeOnly: boolean;
  /** Position among all hosts of the attempt. Later attempts find the files' host by it. */
  readonly host: number;
}

/** Stored files of other jobs that lie on the host. Paths begin with `~`. */
export interface RunInputs {
  /** Mounted read-only into the command's container. */
  readonly folder: string;
  /** The folder of each input, by the variable of the command. */
  readonly variables: Readonly<Record<string, string>>;
}

/** The result of storing content from a host. */
export type Taken =
  | { readonly kind: 'stored' }
  /** The content does not match its hash. */
  | { readonly kind: 'changed' }
  /** The store fails, which may pass. */
  | { readonly kind: 'later'; readonly why: string }
  /** It will never be stored. */
  | { readonly kind: 'refused'; readonly why: string };

/** Stores content that hosts deliver (docs/adr/0129). Its methods never reject. */
export interface OutputsTaker {
  /** Limits how many hosts deliver at once, to bound the memory. */
  inTurn<T>(take: () => Promise<T>): Promise<T>;
  content(source: FileSource): Promise<Taken>;
  manifest(content: Buffer): Promise<Taken>;
}

/** A host's report about the outputs of a run that has ended. */
export type RunOutputsStatus =
  /** The run has no outputs. */
  | { readonly state: 'none' }
  /** The host is storing them. `reason`: why the last round was not stored. */
  | { readonly state: 'storing'; readonly reason?: string }
  | ({ readonly state: 'stored' } & StoredRound)
  /** The host cannot mend the failure; earlier stored files stay. */
  | ({ readonly state: 'failed'; readonly reason: string } & Partial<StoredRound>);

/** The place in the store to which a host writes signs of life while its command runs, if it can (docs/adr/0046). */
export interface SignOfLife extends HostUpload {
  readonly everyMs: number;
}

/**
 * Accelerators that must be free before the command starts, since each serves one process. The host waits for a process that
 * still has one, and names that process if it does not end in time.
 */
export interface AcceleratorCheck extends AcceleratorDevices {
  /** Absent: a minute. 0: the devices are not checked. */
  readonly waitMs?: number;
  /** UUIDs of the only GPUs that count, or indexes, as nvidia-smi has them. Absent: all. */
  readonly gpus?: readonly (string | number)[];
  /** UUIDs of the GPUs of the claim, without which the command does not begin. Absent: no driver told them. */
  readonly claimed?: readonly string[];
}

/** Reasons for which a host may end a command itself, as in the runner's `ended-by`. */
export const HOST_REASONS = ['unattended', 'limit', 'ray'] as const;

export type RunStatus =
  | { readonly kind: 'absent' }
  /** `waitsFor`: the process that has the accelerators, `PID (COMMAND)`, or why it cannot be seen. */
  | { readonly kind: 'starting'; readonly waitsFor?: string }
  /** Not started, because of a condition of the host: the same id may be started again. */
  | { readonly kind: 'blocked'; readonly message: string }
  | {
      readonly kind: 'running';
      readonly startedAt: number;
      readonly outputBytes: number;
      /** Lower bound of the time since its last output or start by the host's clock. Absent: the host cannot tell (disk full). */
      readonly quietMs?: number;
      /** A warning from `warnRun`, maybe of another worker, is still in place. */
      readonly isWarned?: true;
      /** The use of the host. Only of a workspace, once its watcher has begun. */
      readonly use?: HostUse;
    }
  | {
      readonly kind: 'exited';
      readonly code: number;
      readonly signal?: string;
      readonly startedAt: number;
      readonly endedAt: number;
      readonly outputBytes: number;
      /** jobctl had requested its end before. */
      readonly isStopped: boolean;
      /** Lower bound of the time since its end. Absent: the host cannot tell. */
      readonly quietMs?: number;
      /** The host's condition at the end. Absent: the host could not read it. */
      readonly host?: HostCondition;
      /** Set if the host ended it: by `maxUnattendedMs` or `limitMs`, or because its Ray was gone (docs/adr/0068). */
      readonly endedBy?: (typeof HOST_REASONS)[number];
      /** Processes that the kernel killed for lack of memory during the run, in its pod. Absent: none, or not counted. */
      readonly killedForMemory?: number;
      /** Processes that still ran when the shell had ended with code 0, and were ended. Absent: none. */
      readonly left?: LeftProcesses;
    }
  /** The supervisor is gone, but processes of the run are alive. */
  | { readonly kind: 'orphaned'; readonly outputBytes: number }
  /**
   * The run is over, and the host has no exit record: this is evidence, but never an exit code. `isRestarted`: the boot id shows
   * that the host or its pod was restarted. Absent: it was not, so the supervisor was killed with the run, or the disk did not
   * keep the record.
   */
  | { readonly kind: 'lost'; readonly outputBytes: number; readonly isRestarted?: true };

/** Folder of the marks of jobs, on a machine that outlives the slices of one: a file each, as old as the job's first set-up. */
export const JOBS_FOLDER = '.jobctl/machine/jobs';
/** @param job a job's id, which is a name of one file */
export const jobMark = (job: string): string => `${JOBS_FOLDER}/${job}`;

export interface PutFileOptions {
  /** Permissions, such as 0o644. */
  readonly mode: number;
  readonly signal: AbortSignal;
}

export interface GetFileOptions {
  /** The file's size in the listing. If the file has grown, its beginning is taken. Further bytes are refused. */
  readonly most: number;
  readonly signal: AbortSignal;
}

/** A host's file as copied; `sha256` was compared with the received bytes. */
export interface ReceivedFile {
  readonly size: number;
  readonly mode: number;
  readonly sha256: string;
}

export interface CommandOptions {
  readonly stdin?: Buffer | AsyncIterable<Buffer>;
  /** May return a promise: nothing more is read until it settles. */
  readonly onStdout: (chunk: Buffer) => void | Promise<void>;
  readonly onStderr: (chunk: Buffer) => void | Promise<void>;
  readonly signal: AbortSignal;
}

/** Returns the program py-spy for a host of this `uname -m`. Rejects with the reason if it cannot be obtained. */
export type PySpySource = (machine: string) => Promise<Buffer>;

/** The file `$JOBCTL_METRICS_FILE` of a run, to which its program appends. */
export interface FollowedMetrics {
  /** Bytes that were read before. */
  readonly offset: number;
  readonly onChunk: (chunk: Buffer) => void;
}

/** Selects the processes that `runStacks` examines, with its time limits. */
export interface StacksRequest {
  /** Position among all hosts of the attempt. */
  readonly host: number;
  readonly runId: string;
  /** For hosts without py-spy that cannot get it from PyPI. Absent: py-spy is neither put on hosts nor downloaded there. */
  readonly pySpy?: PySpySource | undefined;
  /** Limit for any answer of a host. */
  readonly answerMs: number;
  /** Limit for a host to get py-spy and to answer with it. After that, its answer without stacks counts. */
  readonly installMs: number;
  readonly signal: AbortSignal;
}

/** The end of a user's command; `code` is absent if a signal ended it. */
export interface CommandEnd {
  readonly code?: number;
  readonly signal?: string;
}

/** One kept connection to one host. All methods reject with `HostUnreachable` if the connection fails. */
export interface HostConnection {
  readonly target: HostTarget;
  /**
   * Makes modules ready, in order, up to the first that fails. One round trip if nothing has to be done. A repeated call
   * continues at the failed step.
   */
  applyModules(
    plans: readonly ModulePlan[],
    listener: SetUpListener,
    signal: AbortSignal,
  ): Promise<readonly ModuleOutcome[]>;
  /** The host's own worker number in its slice, from 0. Undefined if no metadata server tells it. */
  workerNumber(): Promise<number | undefined>;
  /** Makes these modules anew at the next call, whatever is on the host. */
  forgetModules(names: readonly string[]): Promise<void>;
  /**
   * Idempotent: a second start with the same run id changes nothing and returns its status. `fenced` if the host knows a greater
   * epoch of the job.
   */
  startRun(request: RunRequest): Promise<RunStatus | { readonly kind: 'fenced'; readonly epoch: number }>;
  runStatus(runId: string): Promise<RunStatus>;
  /**
   * Follows the run's output (stdout and stderr as one stream) from a byte offset on. Ends after a last read when the run has
   * ended. `onChunk` may return a promise: nothing more is read until it settles. Resolves with the offset reached.
   * @param metrics follows the run's metrics file on the same channel too
   */
  followOutput(
    runId: string,
    offset: number,
    onChunk: (chunk: Buffer) => void | Promise<void>,
    signal: AbortSignal,
    metrics?: FollowedMetrics,
  ): Promise<number>;
  /**
   * Sends SIGTERM to all processes of the run, waits `graceMs`, and sends SIGKILL until none is left. A run that never started
   * will never start after this. Before the signal, `notice` is written to the run's $JOBCTL_NOTICE_FILE, so that the command can
   * learn the reason.
   */
  stopRun(runId: string, graceMs: number, notice: StopNotice): Promise<RunStatus>;
  /** Writes the provider's warning to $JOBCTL_WARNING_FILE, without a signal; undefined removes it. */
  warnRun(runId: string, reason: string | undefined): Promise<RunStatus>;
  /**
   * Reads the stacks of a run's processes without stopping or changing them (docs/adr/0127). Also rejects if the host does not
   * answer in time.
   */
  runStacks(request: StacksRequest): Promise<HostStacks>;
  /** The state of storing the outputs of a run that has ended. Starts the storing if the host has not. */
  runOutputs(runId: string): Promise<RunOutputsStatus>;
  /**
   * Stores the outputs of a host without an identity until the run has ended and its last files are stored (`settled`), or until
   * the call ends for another reason. Of two callers the later one continues.
   */
  deliverOutputs(runId: string, taker: OutputsTaker, signal: AbortSignal): Promise<'settled' | 'cut'>;
  /** Runs one command line in the login user's shell, like `ssh HOST COMMAND`. It ends with the connection. Never repeated. */
  exec(command: string, options: CommandOptions): Promise<CommandEnd>;
  /**
   * Puts a file in place as a whole or not at all, after its sha256 was compared on the host; missing parent folders are made.
   * `unchanged`: the file existed with this content, which was not sent. Continues after a cut, and when called again.
   * @param path absolute, or below the login user's home (`~/x` and `x` are the same)
   */
  putFile(source: FileSource | Buffer, path: string, options: PutFileOptions): Promise<'unchanged' | 'done'>;
  /**
   * Puts contents into a folder below the login user's home, each under its SHA-256, which is compared on the host. Existing ones
   * are not sent, so a repeated call continues.
   */
  putContents(contents: readonly FileSource[], folder: string, signal: AbortSignal): Promise<void>;
  /** Reads a file's bytes in order, each once, even over cuts. @throws HostFileError if it is missing, or changed meanwhile */
  getFile(
    path: string,
    onChunk: (chunk: Buffer) => void | Promise<void>,
    options: GetFileOptions,
  ): Promise<ReceivedFile>;
  close(): void;
}

export interface HostsPort {
  /** Keeps one connection per host, shared by all callers with the same target and key. Only hosts behind SSH use the key. */
  connect(target: HostTarget, key: SshKey, signal: AbortSignal): Promise<HostConnection>;
  /** Reads a host's exit record from the store (`RunRequest.exitRecord`). Undefined: it is not a record of that run. */
  readExitRecord(content: string, of: ExitRecordOf): Extract<RunStatus, { kind: 'exited' }> | undefined;
  /** The record that the host would write for this end, for a worker that has heard of the end and may yet lose the host. */
  exitRecord(status: Extract<RunStatus, { kind: 'exited' }>, of: ExitRecordOf): string;
  /** Closes the connections to these hosts, or all. */
  release(targets?: readonly HostTarget[]): void;
}

export type { KeyReader } from './ssh-key.js';

export interface SshKey {
  /** PEM or OpenSSH private key text. Never logged, never in history. */
  readonly privateKey: string;
  /**
   * The key to connect with under OS Login, which admits a key to every host of an account. A job's own key must not be used
   * there (docs/adr/0077). Absent: `privateKey` connects.
   */
  readonly underOsLogin?: SshKey;
}

export class HostUnreachable extends Error {
  override readonly name = 'HostUnreachable';
}
/** The host, and every host made like it, permanently lacks something that jobctl needs, such as a program in a pod's image. */
export class HostUnfit extends Error {
  override readonly name = 'HostUnfit';
}
/** The on-host runner could not do its task, for example because of a full disk. Not the connection's fault. */
export class RunnerFailed extends Error {
  override readonly name = 'RunnerFailed';
}
/** A file that cannot be copied to or from a host: no such file, no right, no space. Not the connection's fault. */
export class HostFileError extends Error {
  override readonly name = 'HostFileError';
}
/** No source confirms the host's key, and the worker's policy requires one (docs/ssh-fleet.md). */
export class HostKeyUnverified extends Error {
  override readonly name = 'HostKeyUnverified';
}
/** The host's key is not the one pinned for this node id. */
export class HostKeyMismatch extends Error {
  override readonly name = 'HostKeyMismatch';
}
