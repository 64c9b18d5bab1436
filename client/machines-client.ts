import { randomUUID } from 'node:crypto';
import type { Client } from '@temporalio/client';
import {
  MACHINES_TIMEOUT_MS,
  type MachinesAnswer,
  type MachinesInput,
  machinesStart,
  type MachineVerb,
} from '../contract/machines.js';
import { WorkflowType } from '../contract/workflow-ids.js';
import { FailureType } from '../domain/failure-types.js';
import { IS_A_WORKER_UP, MachineNotFound, NoWorkerAnswers, PoolRefused } from './errors.js';
import { innermost } from './update-answer.js';
import type { TemporalCalls } from './temporal-calls.js';

export interface MachinesCall {
  readonly verb: MachineVerb;
  /** Empty: all machines of the pool, for `ls` and `check`. */
  readonly names: readonly string[];
  /** The user who asks, as the caller states it; compared with the pool file's `admins`. */
  readonly by: string;
  readonly reason?: string;
  /** The claim that `release` removes, as `ls` shows it. */
  readonly claim?: string;
}

/**
 * Requests of operators about the machines that a pool owns, which a worker reaches. Rejects with `PoolRefused` (nothing was
 * changed), `MachineNotFound`, `TemporalUnreachable` (no worker answers) or `TemporalRefused`.
 */
export interface MachinesClient {
  readonly pool: string;
  call(call: MachinesCall): Promise<MachinesAnswer>;
}

export class TemporalMachines implements MachinesClient {
  readonly pool: string;
  readonly #temporal: Client;
  readonly #calls: TemporalCalls;
  readonly #taskQueue: string;

  constructor(pool: string, options: { temporal: Client; calls: TemporalCalls; taskQueue: string }) {
    this.pool = pool;
    this.#temporal = options.temporal;
    this.#calls = options.calls;
    this.#taskQueue = options.taskQueue;
  }

  async call(call: MachinesCall): Promise<MachinesAnswer> {
    const input: MachinesInput = { v: 1, pool: this.pool, ...call };
    const start = machinesStart(this.#taskQueue, input, randomUUID());
    const execute = () =>
      this.#temporal.workflow.execute<(input: MachinesInput) => Promise<MachinesAnswer>>(WorkflowType.Machines, start);
    try {
      return await this.#calls.bounded(execute, MACHINES_TIMEOUT_MS + 5_000);
    } catch (error) {
      return this.#throwInOurWords(error);
    }
  }

  async #throwInOurWords(failure: unknown): Promise<never> {
    const [{ WorkflowFailedError }, { TimeoutFailure }] = await Promise.all([
      import('@temporalio/client'),
      import('@temporalio/common'),
    ]);
    if (!(failure instanceof WorkflowFailedError)) throw failure;
    if (failure.cause instanceof TimeoutFailure)
      throw new NoWorkerAnswers(
        `no worker answered for the machines of pool ${this.pool} within ${MACHINES_TIMEOUT_MS / 1000} s`,
        `${IS_A_WORKER_UP}; repeating is safe`,
      );
    const { message, type } = innermost(failure);
    throw type === FailureType.NotFound ? new MachineNotFound(message) : new PoolRefused(this.pool, message);
  }
}
