import { Heap } from './heap.js';
import { PRIORITIES } from './waiting.js';
import type { ProjectUsage, Share, UserUsage } from './usage.js';
import { compareShares } from './usage.js';
import type { WaitingRequest } from './waiting.js';

/** The place after the last of a queue. */
const NOBODY = -1;

/** Requests in order of time, linked into queues: each has the place of the next in its queue. */
export class TimeLine {
  readonly waiting: readonly WaitingRequest[];
  readonly #after: Int32Array;

  /** @param waiting in order of time */
  constructor(waiting: readonly WaitingRequest[]) {
    this.waiting = waiting;
    this.#after = new Int32Array(waiting.length).fill(NOBODY);
  }

  at(place: number): WaitingRequest | undefined {
    return this.waiting[place];
  }

  after(place: number): number {
    return this.#after[place] ?? NOBODY;
  }

  link(place: number, next: number): void {
    this.#after[place] = next;
  }
}

/** One user's requests of one project and priority, in order of time. */
interface Queue {
  readonly user: UserUsage;
  readonly priority: number;
  /** Places of the first request that is not passed over, and of the last. */
  first: number;
  last: number;
  /** Values by which the queue stands in its heap. By now the user may hold more, or the first place be another. */
  share: Share;
  head: number;
}

/** One project's requests in the order of service. */
export class ProjectLine {
  readonly project: ProjectUsage;
  turn = 0;
  readonly #timeLine: TimeLine;
  /** Queues by number of the user and priority, as one number. */
  readonly #queues = new Map<number, Queue>();
  /** Made on first use. */
  #heap: Heap<Queue> | undefined;
  readonly #isOut: (waiting: WaitingRequest) => boolean;

  constructor(project: ProjectUsage, timeLine: TimeLine, isOut: (waiting: WaitingRequest) => boolean) {
    this.project = project;
    this.#timeLine = timeLine;
    this.#isOut = isOut;
  }

  /** Adds a place. Places must come in order. @returns whether it is the first of its queue */
  add(place: number, { user, kind: { priority } }: WaitingRequest): boolean {
    const key = user.index * PRIORITIES + priority;
    const queue = this.#queues.get(key);
    if (queue === undefined) {
      this.#queues.set(key, { user, priority, first: place, last: place, share: user.share, head: place });
      return true;
    }
    this.#timeLine.link(queue.last, place);
    queue.last = place;
    return false;
  }

  /**
   * Place of the first request that is not out. A queue's rank only gets worse, so an outdated one is updated only when it is
   * first.
   */
  head(): number | undefined {
    const heap = (this.#heap ??= heapOf(this.#queues.values()));
    for (;;) {
      const queue = heap.first();
      if (queue === undefined) return undefined;
      this.#skipThoseOut(queue);
      if (queue.first === NOBODY) heap.pop();
      else if (queue.first === queue.head && queue.share === queue.user.share) return queue.head;
      else {
        queue.head = queue.first;
        queue.share = queue.user.share;
        heap.replaceFirst(queue);
      }
    }
  }

  /** Moves past the head, which was looked at. */
  passOver(head: number): void {
    const queue = this.#heap?.first();
    if (queue?.first === head) queue.first = this.#timeLine.after(head);
  }

  #skipThoseOut(queue: Queue): void {
    for (;;) {
      const waiting = this.#timeLine.at(queue.first);
      if (waiting === undefined || !this.#isOut(waiting)) return;
      queue.first = this.#timeLine.after(queue.first);
    }
  }
}

function heapOf(queues: Iterable<Queue>): Heap<Queue> {
  const heap = new Heap<Queue>(isQueueBefore);
  for (const queue of queues) heap.push(queue);
  return heap;
}

function isQueueBefore(a: Queue, b: Queue): boolean {
  return (a.priority - b.priority || compareShares(a.share, b.share) || a.head - b.head) < 0;
}
