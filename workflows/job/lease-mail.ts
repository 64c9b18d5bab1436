import { condition } from '@temporalio/workflow';
import type { Demand, LeaseId, LeaseMessageBody } from '../../domain/lease.js';
import type { MachineRef } from '../../domain/machines.js';
import type { TierPurchase } from '../../domain/slice.js';
import { type EpochMs, formatUnits } from '../../domain/units.js';
import { quotaMail } from '../activity-options.js';
import { Sequence } from '../one-at-a-time.js';

/** Slices of the job that are not seen gone. */
export interface PresentSlices {
  readonly present: readonly MachineRef[];
}

/** Facts about the present lease, while it is held. */
export interface Held {
  readonly heldSince?: number;
  readonly tier?: number;
  /** Other tiers in which the job could be. Absent: none. */
  readonly otherTiers?: readonly number[];
  readonly bought?: TierPurchase;
  /** All slices are ready, in this zone. */
  readonly chipsIn?: string;
  /** Nothing runs on its chips. */
  readonly isParked?: true;
}

/** Messages of a job to its pool, numbered in the order in which they are sent. */
export class LeaseMail {
  /** Messages that are not awaited and not acknowledged yet. */
  #unacknowledged = 0;
  readonly #pool: string;
  readonly #slices: PresentSlices;
  readonly #sequence = new Sequence();

  constructor(pool: string, slices: PresentSlices) {
    this.#pool = pool;
    this.#slices = slices;
  }

  /** Asks for the lease, or repeats what the job holds; and which slices it started. */
  ask(
    lease: LeaseId,
    { demand, askedAt, held }: { readonly demand: Demand; readonly askedAt: EpochMs; readonly held: Held },
  ): Promise<void> {
    const { heldSince, tier, chipsIn, isParked } = held;
    const units = formatUnits(demand.units);
    const summary =
      heldSince === undefined
        ? `ask quota pool ${this.#pool} for ${units} of project ${demand.project}`
        : `tell quota pool ${this.#pool} again that the job holds ${units}`;
    return this.#send(lease, summary, {
      kind: 'request',
      demand,
      slices: this.#slices.present,
      askedAt,
      ...(heldSince === undefined ? {} : { heldSince }),
      ...(tier === undefined ? {} : { tier }),
      ...(chipsIn === undefined ? {} : { zone: chipsIn }),
      ...(isParked === undefined ? {} : { isParked }),
    });
  }

  parked(lease: LeaseId, isParked: boolean): Promise<void> {
    const what = isParked ? 'that nothing runs on its chips' : 'that its chips are used again';
    return this.#send(lease, `tell quota pool ${this.#pool} ${what}`, { kind: 'parked', isParked });
  }

  /** Is not awaited; see `settled`. @param zone where all chips are; undefined: some are lost, by a preemption or not */
  chips(lease: LeaseId, zone: string | undefined, isPreempted: boolean): void {
    const what = zone === undefined ? 'that some of its chips are lost' : `that all of its chips are there, in ${zone}`;
    const lost = isPreempted ? ({ isPreempted } as const) : {};
    const chips = { kind: 'chips', ...(zone === undefined ? lost : { zone }) } as const;
    this.post(this.#send(lease, `tell quota pool ${this.#pool} ${what}`, chips));
  }

  release(lease: LeaseId): Promise<void> {
    const body = { kind: 'release', slices: this.#slices.present } as const;
    return this.#send(lease, `let the lease of quota pool ${this.#pool} go`, body);
  }

  /** Takes a message that is not awaited; see `settled`. */
  post(sending: Promise<void>): void {
    this.#unacknowledged += 1;
    // Only a cancel ends it, and then the lease is given back anyway.
    void sending.catch(() => undefined).finally(() => (this.#unacknowledged -= 1));
  }

  /** Resolves once the pool has acknowledged every message. A run that ended before would drop messages that are on their way. */
  async settled(): Promise<void> {
    await condition(() => this.#unacknowledged === 0);
  }

  #send(lease: LeaseId, summary: string, body: LeaseMessageBody): Promise<void> {
    return quotaMail(summary).sendLease({ lease, sender: 'job', sequence: this.#sequence.next(), body });
  }
}
