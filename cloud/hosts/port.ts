/** One TPU VM, as SSH reaches it. */
export interface HostTarget {
  /** The node's int64 id: host keys are pinned per node id, since addresses are recycled (failures.md 29). */
  readonly nodeId: string;
  /** Which slice of the job, from 0. */
  readonly slice: number;
  /** Which host of the slice, from 0. */
  readonly index: number;
  readonly address: string;
  readonly user: string;
}

/** The outcome of making one module ready on one host. */
export type ModuleOutcome =
  | { readonly kind: 'unchanged' }
  | { readonly kind: 'done' }
  /** A step's script ended with a code other than 0: the user's or the host's fault, not the connection's. */
  | { readonly kind: 'failed'; readonly step: string; readonly code: number; readonly tail: string };

/** A setup module as data, made by a pure function from the job's spec (activities/modules). Scripts run under `bash -l`. */
export interface ModulePlan {
  readonly name: string;
  /** Hash of everything the module depends on. Written on the host when all steps are done; other content = redone. */
  readonly fingerprint: string;
  /** Ends with 0 if what the module made is still there. Runs only if the fingerprint matches. */
  readonly check: string;
  readonly steps: readonly ModuleStep[];
}
export interface ModuleStep {
  readonly name: string;
  readonly script: string;
  /** Files to put on the host first; paths are relative to the login user's home. */
  readonly files?: readonly { readonly path: string; readonly content: Buffer; readonly mode: number }[];
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
}

/** Why a command is stopped, as it may read in its $JOBCTL_NOTICE_FILE (docs/job-states.md). */
export interface StopNotice {
  /** `quota`: its chips go to somebody else, and it will run again. `cancel`: it will not. `attempt`: another host or slice failed. */
  readonly cause: 'quota' | 'cancel' | 'attempt';
  /** One sentence. */
  readonly reason: string;
}

export type RunStatus =
  | { readonly kind: 'absent' }
  | { readonly kind: 'starting' }
  | { readonly kind: 'running'; readonly startedAt: number; readonly outputBytes: number }
  | {
      readonly kind: 'exited';
      readonly code: number;
      readonly signal?: string;
      readonly startedAt: number;
      readonly endedAt: number;
      readonly outputBytes: number;
      /** jobctl had asked for its end before. */
      readonly isStopped: boolean;
    }
  /** The supervisor is gone, processes of the run live on. */
  | { readonly kind: 'orphaned'; readonly outputBytes: number }
  /** The host was rebooted or the run was killed with its supervisor: evidence, never an exit code. */
  | { readonly kind: 'lost'; readonly outputBytes: number };

/** One kept connection to one host. All methods reject with `HostUnreachable` when the connection is the problem. */
export interface HostConnection {
  readonly target: HostTarget;
  /** Makes the module ready; output of its steps goes to `output` as it comes. Goes on from the failing step when called again in this connection. */
  applyModule(plan: ModulePlan, output: (chunk: Buffer) => void, signal: AbortSignal): Promise<ModuleOutcome>;
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
  close(): void;
}

export interface HostsPort {
  /** One connection per host, shared by all who ask for the same target and key. */
  connect(target: HostTarget, key: SshKey, signal: AbortSignal): Promise<HostConnection>;
  /** Closes the connections to these hosts, or all. */
  release(targets?: readonly HostTarget[]): void;
}

export interface SshKey {
  /** PEM or OpenSSH private key text. Never logged, never in history. */
  readonly privateKey: string;
}

export class HostUnreachable extends Error {
  override readonly name = 'HostUnreachable';
}
/** The host's key is not the one pinned for this node id. */
export class HostKeyMismatch extends Error {
  override readonly name = 'HostKeyMismatch';
}
