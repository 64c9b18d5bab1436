import { condition, getExternalWorkflowHandle, log, workflowInfo } from '@temporalio/workflow';
import { type BuildNews, buildNewsSignal, type BuildWaiter } from '../../contract/build.js';
import type { JobRef } from '../../contract/workflow-ids.js';

type LastNews = Exclude<BuildNews, { kind: 'progress' }>;

/** The jobs that wait for an image. Each is told the end of the build once, also a job that joins after that end. */
export class Audience {
  readonly #waiting = new Map<string, BuildWaiter>();
  #news: LastNews | undefined;
  #progress = '';
  #unacknowledged = 0;

  constructor(waiters: readonly BuildWaiter[] = []) {
    for (const waiter of waiters) this.#waiting.set(keyOf(waiter), waiter);
  }

  join(waiter: BuildWaiter): void {
    if (this.#news !== undefined) return this.#tell(waiter, this.#news);
    this.#waiting.set(keyOf(waiter), waiter);
  }

  leave(job: JobRef): void {
    this.#waiting.delete(keyOf(job));
  }

  get isEmpty(): boolean {
    return this.#waiting.size === 0;
  }

  get waiters(): readonly BuildWaiter[] {
    return [...this.#waiting.values()];
  }

  /** Tells the text that lists and `why` show, if it is new. */
  tellProgress(detail: string): void {
    if (detail === this.#progress) return;
    this.#progress = detail;
    for (const waiter of this.waiters) this.#tell(waiter, { kind: 'progress', detail });
  }

  /** Tells all jobs the end. No job waits from now on. */
  tellAll(news: LastNews): void {
    this.#news = news;
    const waiting = this.waiters;
    this.#waiting.clear();
    for (const waiter of waiting) this.#tell(waiter, news);
  }

  /** Resolves once all of them have been told. */
  async settled(): Promise<void> {
    await condition(() => this.#unacknowledged === 0);
  }

  #tell({ id, run }: BuildWaiter, news: BuildNews): void {
    this.#unacknowledged += 1;
    getExternalWorkflowHandle(id)
      .signal(buildNewsSignal, { v: 1, build: workflowInfo().workflowId, run, news })
      // The job is closed, and needs no image.
      .catch((error: unknown) => log.debug(`job ${id} did not take the news: ${String(error)}`))
      .finally(() => (this.#unacknowledged -= 1));
  }
}

const keyOf = ({ id, run }: JobRef): string => `${id}/${run}`;
