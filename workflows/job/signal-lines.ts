import { CancellationScope, condition, getExternalWorkflowHandle } from '@temporalio/workflow';
import { messageOf } from '../../domain/errors.js';
import type { EventNotice, JobNotice } from '../../contract/job.js';
import type { Told } from '../../domain/job-events/kinds.js';
import { targetKey, type WorkflowTarget } from '../../domain/notify.js';

/** A server that does not say whether a signal was taken must not keep an ended job open. */
export const NOTIFY_TIMEOUT = '60s';

type Notice = JobNotice | EventNotice;

/** Notices for one workflow, in order: the first of `queue` is under way, or is signalled next. */
interface Line {
  readonly target: WorkflowTarget;
  readonly queue: Notice[];
  told: number;
  /** The problem of the last signal. Absent: it was taken. */
  problem: string | undefined;
  isBusy: boolean;
}

export interface LineCarry {
  readonly target: WorkflowTarget;
  readonly queue: readonly Notice[];
  readonly told: number;
  readonly problem?: string;
}

/**
 * Signals to the workflows that a job tells. The server keeps each signal with the job's history, so no crash repeats or loses
 * it. Each workflow gets its notices in order; a workflow that does not exist delays no other.
 */
export class SignalLines {
  readonly #lines: Map<string, Line>;
  /** Called if a signal could not be sent, unless the previous one to that workflow could not be sent either. */
  readonly #onProblem: (told: Told) => void;

  constructor(carried: readonly LineCarry[] = [], onProblem: (told: Told) => void = () => undefined) {
    this.#onProblem = onProblem;
    this.#lines = new Map(
      carried.map(({ target, queue, told, problem }) => [
        targetKey(target),
        { target, queue: [...queue], told, problem, isBusy: false },
      ]),
    );
  }

  /** Continues with notices that the previous run left. */
  resume(): void {
    for (const line of this.#lines.values()) this.#send(line);
  }

  tell(target: WorkflowTarget, notice: Notice): void {
    const key = targetKey(target);
    const line = this.#lines.get(key) ?? { target, queue: [], told: 0, problem: undefined, isBusy: false };
    this.#lines.set(key, line);
    line.queue.push(notice);
    this.#send(line);
  }

  /** Resolves once each signal was taken or refused, or after `NOTIFY_TIMEOUT`. */
  async settled(): Promise<void> {
    const isSettled = (): boolean => this.#all.every(({ queue }) => queue.length === 0);
    if (!isSettled()) await condition(isSettled, NOTIFY_TIMEOUT);
  }

  /** One event for each workflow, with the result. */
  reports(): readonly Told[] {
    return this.#all.map(({ target: to, queue, told, problem }): Told => {
      const unknown = `not known to be told: the server did not answer within ${NOTIFY_TIMEOUT}`;
      const why = queue.length > 0 ? unknown : problem;
      if (why !== undefined) return { kind: 'not-notified', facts: { to, problem: why } };
      return { kind: 'notified', facts: { to, ...(told === 1 ? {} : { events: told }) } };
    });
  }

  carry(): readonly LineCarry[] {
    return this.#all.map(({ target, queue, told, problem }) => ({
      ...{ target, queue, told },
      ...(problem === undefined ? {} : { problem }),
    }));
  }

  get #all(): readonly Line[] {
    return [...this.#lines.values()];
  }

  #send(line: Line): void {
    const [notice] = line.queue;
    if (line.isBusy || notice === undefined) return;
    line.isBusy = true;
    const { id, signal } = line.target.workflow;
    // A signal that was handed to the server cannot be taken back, so a cancel of the job does not reach it.
    void CancellationScope.nonCancellable(() => getExternalWorkflowHandle(id).signal(signal, notice)).then(
      () => this.#sent(line, undefined),
      (error: unknown) => this.#sent(line, `could not be told: ${messageOf(error)}`),
    );
  }

  #sent(line: Line, problem: string | undefined): void {
    line.isBusy = false;
    line.queue.shift();
    const isNew = problem !== undefined && line.problem === undefined;
    line.problem = problem;
    if (problem === undefined) line.told += 1;
    if (isNew) this.#onProblem({ kind: 'not-notified', facts: { to: line.target, problem } });
    this.#send(line);
  }
}
