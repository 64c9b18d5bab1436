import { type Share, type UserUsage, compareShares, type ProjectUsage } from './usage.js';
import { inTimeOrder } from './time-order.js';
import { type WaitingRequest, PRIORITIES } from './waiting.js';

/**
 * Waiting requests in the order of service (rule 5). Inside a project: priority, then the user who holds least, then time.
 * Between projects their heads are compared: smallest dominant share, then time. Shares change as requests are served, so the
 * order is found one request at a time. Requests are sorted by time once. From then on a request is known by its number in that
 * order, its place.
 */
export class ServiceOrder {
  readonly #timeLine: TimeLine;
  /** Lines by number of the project. */
  readonly #lines: (ProjectLine | undefined)[] = [];
  readonly #heads = new Heap<Head>(isHeadBefore);
  /**
   * Lines of projects in which a user waits, by number of the user. A grant to the user in one changes the order in the others.
   */
  readonly #linesOf: ProjectLine[][] = [];
  readonly #isOut: (waiting: WaitingRequest) => boolean;
  #last: ProjectLine | undefined;

  /** @param isOut whether to skip a request; called when it becomes the head of its project, and again when it is first of all */
  constructor(waiting: readonly WaitingRequest[], isOut: (waiting: WaitingRequest) => boolean) {
    this.#isOut = isOut;
    this.#timeLine = new TimeLine(inTimeOrder(waiting));
    const inOrder = this.#timeLine.waiting;
    for (let place = 0; place < inOrder.length; place += 1) this.#add(place, inOrder[place] as WaitingRequest);
    for (const line of this.#lines) if (line !== undefined) this.#enter(line);
  }

  /** The next request to serve. Call it after the decision on the last one. */
  next(): WaitingRequest | undefined {
    if (this.#last !== undefined) this.#enter(this.#last);
    for (;;) {
      const head = this.#heads.pop();
      if (head === undefined) return undefined;
      const { line, place, waiting } = head;
      if (head.turn !== line.turn) continue;
      if (this.#isOut(waiting)) {
        this.#enter(line);
        continue;
      }
      this.#last = line;
      line.passOver(place);
      return waiting;
    }
  }

  /** Updates the user's lines in other projects, since the user holds more now. */
  served({ user, kind }: WaitingRequest): void {
    for (const line of this.#linesOf[user.index] ?? []) if (line.project !== kind.project) this.#enter(line);
  }

  #add(place: number, waiting: WaitingRequest): void {
    const { project } = waiting.kind;
    const line = (this.#lines[project.index] ??= new ProjectLine(project, this.#timeLine, this.#isOut));
    if (line.add(place, waiting)) this.#note(waiting.user, line);
  }

  #note(user: UserUsage, line: ProjectLine): void {
    const lines = (this.#linesOf[user.index] ??= []);
    if (!lines.includes(line)) lines.push(line);
  }

  /** Enters the line anew with its present head. An older entry of the line is stale. */
  #enter(line: ProjectLine): void {
    line.turn += 1;
    const place = line.head();
    const waiting = place === undefined ? undefined : this.#timeLine.at(place);
    if (place === undefined || waiting === undefined) return;
    this.#heads.push({ place, waiting, line, turn: line.turn, share: line.project.shareWith(waiting.kind.shape) });
  }
}

/** Head of a project's line, as it is compared with the heads of other lines. */
interface Head {
  readonly place: number;
  readonly waiting: WaitingRequest;
  readonly line: ProjectLine;
  readonly turn: number;
  readonly share: Share;
}

function isHeadBefore(a: Head, b: Head): boolean {
  return (compareShares(a.share, b.share) || a.place - b.place) < 0;
}

/** A binary heap: the least item first, by `isBefore`. */
export class Heap<Item> {
  readonly #items: Item[] = [];
  readonly #isBefore: (a: Item, b: Item) => boolean;

  constructor(isBefore: (a: Item, b: Item) => boolean) {
    this.#isBefore = isBefore;
  }

  first(): Item | undefined {
    return this.#items[0];
  }

  push(item: Item): void {
    const items = this.#items;
    let at = items.push(item) - 1;
    while (at > 0) {
      const above = (at - 1) >> 1;
      const other = items[above] as Item;
      if (!this.#isBefore(item, other)) break;
      items[at] = other;
      at = above;
    }
    items[at] = item;
  }

  pop(): Item | undefined {
    const top = this.#items[0];
    const last = this.#items.pop();
    if (last !== undefined && this.#items.length > 0) this.replaceFirst(last);
    return top;
  }

  /** Same as a pop and a push of `item`, in one step. */
  replaceFirst(item: Item): void {
    const items = this.#items;
    let at = 0;
    for (;;) {
      let below = 2 * at + 1;
      if (below >= items.length) break;
      if (below + 1 < items.length && this.#isBefore(items[below + 1] as Item, items[below] as Item)) below += 1;
      const other = items[below] as Item;
      if (!this.#isBefore(other, item)) break;
      items[at] = other;
      at = below;
    }
    items[at] = item;
  }
}

/** The place after the last of a queue. */
const NOBODY = -1;

/** Requests in order of time, linked into queues: each has the place of the next in its queue. */
class TimeLine {
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
  /** Values by which the heap sorted the queue: the user's share and the first place. They may be out of date. */
  share: Share;
  head: number;
}

/** One project's requests in the order of service. */
class ProjectLine {
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
   * Place of the first request that `isOut` does not skip. The rank of a queue only gets worse, so an outdated rank is updated
   * only when the queue comes first.
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

  /** Moves past the head after its turn. */
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
