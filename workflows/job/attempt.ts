import type { AttemptEnd, AttemptInput, ReadySlice, SetUpEnd } from '../../contract/job-activities.js';
import type { JobSettings, UnreachableHost } from '../../contract/job.js';
import type { JobRef } from '../../contract/workflow-ids.js';
import type { Reaction, UnreadyHosts } from '../../domain/job-events/causes.js';
import type { LeftReport } from '../../domain/left-processes.js';
import type { OutputsReport } from '../../domain/outputs.js';
import type { EpochMs } from '../../domain/units.js';
import type { GivenBack } from '../../domain/workspace.js';
import type { InterruptedEnd } from './interruption.js';
import type { JobFile } from './job-file.js';

/** Progress of a job's attempts. `startedAt`: when the command of the attempt was started. */
export type AttemptState =
  /** No attempt is under way. `startedAt` is that of the last one, if its command was started. */
  | { readonly kind: 'closed'; readonly startedAt?: EpochMs }
  | { readonly kind: 'setting-up' }
  /** All hosts are set up. No host was told yet to start the command. */
  | { readonly kind: 'starting'; readonly startedAt: EpochMs }
  /** The command may run, even while no worker watches it. It has to be stopped before its slices are deleted. */
  | { readonly kind: 'running'; readonly startedAt: EpochMs }
  /** The command was told to end, and its end is not recorded yet. */
  | { readonly kind: 'stopped'; readonly startedAt: EpochMs };

export interface AttemptCarry {
  readonly number: number;
  readonly state: AttemptState;
  /** When the job's command was first started. */
  readonly firstStartedAt?: EpochMs;
  /** The end of the previous attempt. */
  readonly previousEnd?: string;
  /** Report on the stored files of the last attempt whose command ended. */
  readonly outputs?: OutputsReport;
  /** Processes of this attempt, or of the last one, that still ran when the command had ended with code 0, and were ended. */
  readonly left?: LeftReport;
  /** Hosts of the open attempt that do not answer. */
  readonly unreachable?: readonly UnreachableHost[];
}

/** State of a job that was accepted and had no attempt yet. */
export const NO_ATTEMPT: AttemptCarry = { number: 0, state: { kind: 'closed' } };

/** The pool, a person or a clock ended the attempt: its command was stopped, or had not begun. */
export interface Interrupted {
  readonly kind: Exclude<InterruptedEnd, 'no-output' | 'run-duration-over' | 'given-back'>;
  /** Hosts that were not set up in time, if their worker could tell. */
  readonly unready?: UnreadyHosts;
}

/** The bought time of slices is about to end. Their command was told to save before. */
export interface RunDurationOver {
  readonly kind: 'run-duration-over';
  /** Time at which the first of these slices may end. */
  readonly endsAt: EpochMs;
}

/** The end of a workspace that nobody uses, or whose time is over. */
export type GivenBackEnd = { readonly kind: 'given-back' } & GivenBack;

/** The end of an attempt, as the job decides on it. `unwatched`: nothing ended; the job may continue as new here. */
export type AttemptResult =
  | Exclude<AttemptEnd, { kind: 'handed-over' | 'still-running' | 'fenced' | 'idle' }>
  | Extract<SetUpEnd, { kind: 'module-failed' | 'host-bad' }>
  /** `isPermanent`: no host takes a text of the job, so another try cannot help. */
  | { readonly kind: 'worker-failed'; readonly message: string; readonly isPermanent?: true }
  | Interrupted
  | RunDurationOver
  | GivenBackEnd
  | { readonly kind: 'unwatched' };

/** The attempts of a job, one at a time. State only: `Attempts` sets up, starts and watches. */
export class Attempt {
  #number: number;
  #state: AttemptState;
  #firstStartedAt: EpochMs | undefined;
  #previousEnd: string | undefined;
  #unreachable: readonly UnreachableHost[];
  #outputs: OutputsReport | undefined;
  /** Processes of this attempt, or of the last one, that still ran when the command had ended with code 0, and were ended. */
  left: LeftReport | undefined;
  /** Its command has ended, and its worker waits until its hosts have stored the command's outputs. */
  isStoringOutputs = false;
  /** Its worker has said that its command has ended, so nothing is left to save. Only texts use this, decisions do not. */
  hasEnded = false;

  constructor({
    number,
    state,
    firstStartedAt,
    previousEnd,
    outputs,
    left,
    unreachable = [],
  }: AttemptCarry = NO_ATTEMPT) {
    this.#unreachable = unreachable;
    this.#outputs = outputs;
    this.left = left;
    this.#number = number;
    this.#state = state;
    this.#firstStartedAt = firstStartedAt;
    this.#previousEnd = previousEnd;
  }

  /** Number of the attempt that is under way, or of the last one. The first is 1; 0: there was none. */
  get number(): number {
    return this.#number;
  }

  get state(): AttemptState {
    return this.#state;
  }

  get isOpen(): boolean {
    return this.#state.kind !== 'closed';
  }

  get isRunning(): boolean {
    return this.#state.kind === 'running';
  }

  /** When the command of this attempt, or of the last one, was started. */
  get startedAt(): EpochMs | undefined {
    return 'startedAt' in this.#state ? this.#state.startedAt : undefined;
  }

  /** Time since this attempt, or the last one, was started, in ms. */
  get lastedMs(): number {
    return this.startedAt === undefined ? 0 : Date.now() - this.startedAt;
  }

  /** Time since the job's command was first started, in ms. */
  get sinceFirstStartMs(): number {
    return this.#firstStartedAt === undefined ? 0 : Date.now() - this.#firstStartedAt;
  }

  /** When the job's command was first started. */
  get firstStartedAt(): EpochMs | undefined {
    return this.#firstStartedAt;
  }

  get previousEnd(): string | undefined {
    return this.#previousEnd;
  }

  /** Report on the stored files of the last attempt whose command ended; undefined: there are none. */
  get outputs(): OutputsReport | undefined {
    return this.#outputs;
  }

  stored(outputs: OutputsReport): void {
    this.#outputs = outputs;
  }

  /** Its hosts that do not answer, by its worker's last report. */
  get unreachable(): readonly UnreachableHost[] {
    return this.#unreachable;
  }

  /** The hosts that do not answer, for the worker that goes on watching. */
  get silence(): Pick<AttemptInput, 'unreachable'> {
    return this.#unreachable.length === 0 ? {} : { unreachable: this.#unreachable };
  }

  cannotReach(hosts: readonly UnreachableHost[]): void {
    this.#unreachable = hosts;
  }

  /** Begins a new attempt, unless one is under way. */
  open(): void {
    if (this.isOpen) return;
    this.#number += 1;
    this.#state = { kind: 'setting-up' };
    this.isStoringOutputs = false;
    this.hasEnded = false;
    this.left = undefined;
  }

  /** Called when its hosts are set up. If the command may already run, nothing changes. */
  setUp(): void {
    const startedAt = Date.now();
    this.#firstStartedAt ??= startedAt;
    this.#state = { kind: 'starting', startedAt };
  }

  /** The time that its command has left to save. */
  saving(graceSeconds: number): Extract<Reaction, { do: 'save' }> {
    return { do: 'save', ...(this.hasEnded ? {} : { seconds: graceSeconds }) };
  }

  /** Called when its command may run from now on. @param number a later attempt that the hosts run, in a job that was reset */
  runs(number = this.#number): void {
    this.#number = number;
    this.#state = { kind: 'running', startedAt: this.startedAt ?? Date.now() };
  }

  stopped(): void {
    this.#state = { kind: 'stopped', startedAt: this.startedAt ?? Date.now() };
  }

  /** @param end the attempt's end. Absent: nothing of it ran, so the previous end stays */
  close(end?: string): void {
    if (this.isOpen && end !== undefined) this.#previousEnd = end;
    const { startedAt } = this;
    this.#unreachable = [];
    this.#state = { kind: 'closed', ...(startedAt === undefined ? {} : { startedAt }) };
  }

  carry(): AttemptCarry {
    return {
      number: this.#number,
      state: this.#state,
      ...(this.#firstStartedAt === undefined ? {} : { firstStartedAt: this.#firstStartedAt }),
      ...(this.#previousEnd === undefined ? {} : { previousEnd: this.#previousEnd }),
      ...(this.#outputs === undefined ? {} : { outputs: this.#outputs }),
      ...(this.left === undefined ? {} : { left: this.left }),
      ...this.silence,
    };
  }
}

/** Parts of an attempt, apart from its slices. */
export interface AttemptParts {
  readonly job: JobRef;
  readonly file: JobFile;
  readonly settings: JobSettings;
  readonly attempt: Attempt;
}

/** Input for the set-up and the command of these slices' hosts. */
export function attemptInput(
  { job, file, settings, attempt }: AttemptParts,
  slices: readonly ReadySlice[],
): AttemptInput {
  const { previousEnd, firstStartedAt } = attempt;
  return {
    job,
    spec: file.spec,
    settings,
    attempt: attempt.number,
    slices,
    files: file.files,
    ...(file.identityKeys && { identityKeys: file.identityKeys }),
    ...(previousEnd === undefined ? {} : { previousEnd }),
    ...(file.spec.workspace !== undefined && firstStartedAt !== undefined && { firstStartedAt }),
  };
}
