import { getExternalWorkflowHandle, log } from '@temporalio/workflow';
import { sliceNewsSignal } from '../../contract/job.js';
import type { SliceNews } from '../../contract/slice.js';
import type { LeaseId, LeaseMessageBody } from '../../domain/lease.js';
import type { MachineRef } from '../../domain/machines.js';
import { quotaMail } from '../activity-options.js';
import { OneAtATime, Sequence } from '../one-at-a-time.js';
import { mailSummary } from './details.js';

/** Messages of a slice to its job and to the quota workflow of its lease. */
export class SliceMail {
  #news: SliceNews | undefined;
  readonly #ref: MachineRef;
  readonly #lease: LeaseId;
  readonly #sequence = new Sequence();
  readonly #repeating = new OneAtATime(() => this.#sayAgain());

  constructor(ref: MachineRef, lease: LeaseId) {
    this.#ref = ref;
    this.#lease = lease;
  }

  async report(news: SliceNews): Promise<void> {
    this.#news = news;
    try {
      await getExternalWorkflowHandle(this.#lease.job).signal(sliceNewsSignal, {
        name: this.#ref.name,
        run: this.#lease.run,
        news,
      });
    } catch (error) {
      // The job is closed and needs no news. The quota workflow gets its own.
      log.debug(`job did not take the news: ${String(error)}`);
    }
  }

  /** Tells the job its last news again. */
  repeatNews(): Promise<void> | undefined {
    return this.#repeating.ask();
  }

  tellQuota(body: LeaseMessageBody): Promise<void> {
    return quotaMail(mailSummary(this.#ref, this.#lease, body.kind)).sendLease({
      lease: this.#lease,
      sender: this.#ref.name,
      sequence: this.#sequence.next(),
      body,
    });
  }

  async #sayAgain(): Promise<void> {
    if (this.#news) await this.report(this.#news);
  }
}
