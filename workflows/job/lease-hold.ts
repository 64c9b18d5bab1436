import { condition, setHandler, workflowInfo } from '@temporalio/workflow';
import type { Demand, LeaseId, LeaseMessageBody } from '../../domain/lease.js';
import type { SliceRef } from '../../domain/slice.js';
import { formatUnits } from '../../quota/quota-units.js';
import { quotaMail } from '../activity-options.js';
import { grantedSignal, restateSignal } from '../messages.js';
import { Sequence } from '../sequence.js';
import { chainRunId } from './story.js';

/** The job's side of its lease: asks, holds, says again to a new epoch, lets go. */
export class LeaseHold {
  #number: number;
  #heldSince: number | undefined;
  #epoch: number;
  #hasLetGo = false;
  readonly #pool: string;
  readonly #demand: Demand;
  /** Slices of this job that are not seen gone. */
  readonly #slices: () => readonly SliceRef[];
  readonly #sequence = new Sequence();

  constructor(pool: string, demand: Demand, slices: () => readonly SliceRef[], carry?: LeaseCarry) {
    this.#pool = pool;
    this.#demand = demand;
    this.#slices = slices;
    this.#number = carry?.number ?? 1;
    this.#heldSince = carry?.heldSince;
    this.#epoch = carry?.epoch ?? 0;
    setHandler(grantedSignal, (grant) => this.#onGranted(grant));
    setHandler(restateSignal, ({ epoch }) => this.#restate(epoch));
  }

  get isHeld(): boolean {
    return this.#heldSince !== undefined;
  }

  get id(): LeaseId {
    return { pool: this.#pool, job: workflowInfo().workflowId, run: chainRunId(), number: this.#number };
  }

  get demand(): Demand {
    return this.#demand;
  }

  /** Resolves when the lease is held. */
  async acquire(): Promise<void> {
    if (this.isHeld) return;
    await this.#ask();
    await condition(() => this.isHeld);
  }

  /** A slice was told that its lease does not stand: a quota workflow without memory did not know of it. */
  lost(): void {
    this.#heldSince = undefined;
  }

  /** For good: free once all slices that are left are seen gone. Repeating is safe. */
  async letGo(): Promise<void> {
    this.#hasLetGo = true;
    this.#heldSince = undefined;
    await this.#release();
  }

  #onGranted({ run, number, epoch }: { run: string; number: number; epoch: number }): void {
    if (run !== chainRunId() || number !== this.#number || epoch < this.#epoch || this.#hasLetGo) return;
    this.#epoch = epoch;
    this.#heldSince ??= Date.now();
  }

  async #restate(epoch: number): Promise<void> {
    if (epoch < this.#epoch) return;
    this.#epoch = epoch;
    if (this.#hasLetGo) await this.#release();
    else await this.#ask();
  }

  #ask(): Promise<void> {
    const held = this.#heldSince === undefined ? {} : { heldSince: this.#heldSince };
    const units = formatUnits(this.#demand.units);
    const summary = this.isHeld
      ? `tell quota pool ${this.#pool} again that the job holds ${units}`
      : `ask quota pool ${this.#pool} for ${units} of project ${this.#demand.project}`;
    return this.#send(summary, { kind: 'request', demand: this.#demand, ...held, slices: this.#slices() });
  }

  #release(): Promise<void> {
    return this.#send(`let the lease of quota pool ${this.#pool} go`, { kind: 'release', slices: this.#slices() });
  }

  #send(summary: string, body: LeaseMessageBody): Promise<void> {
    return quotaMail(summary).sendLease({ lease: this.id, sender: 'job', sequence: this.#sequence.next(), body });
  }

  carry(): LeaseCarry {
    return {
      number: this.#number,
      epoch: this.#epoch,
      ...(this.#heldSince === undefined ? {} : { heldSince: this.#heldSince }),
    };
  }
}

export interface LeaseCarry {
  readonly number: number;
  readonly epoch: number;
  readonly heldSince?: number;
}
