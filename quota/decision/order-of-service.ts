import { Heap } from './heap.js';
import type { ProjectUse, UserUse } from './project-use.js';
import { compareShares } from './share.js';
import type { Share } from './share.js';
import { entryOf } from './shapes.js';
import { byTime } from './waiting.js';
import type { Waiting } from './waiting.js';

/**
 * Waiting requests in the order of service (rule 5). Inside a project: priority, then the user who holds least, then time.
 * Between projects their heads are compared: smallest dominant share, then time. Shares change as requests are served, so
 * the order is found one by one.
 */
export class ServiceOrder {
  readonly #lines = new Map<ProjectUse, ProjectLine>();
  readonly #heads = new Heap<Head>(isHeadBefore);
  /** Projects of each user who waits in several: what the user gets in one changes the order in the others. */
  readonly #linesOf = new Map<UserUse, Set<ProjectLine>>();
  readonly #isOut: (waiting: Waiting) => boolean;
  #last: ProjectLine | undefined;

  /** @param isOut who is left out; asked when one is the head of its project, and when it is the first of all */
  constructor(waiting: Iterable<Waiting>, isOut: (waiting: Waiting) => boolean) {
    this.#isOut = isOut;
    for (const each of waiting) {
      const line = entryOf(this.#lines, each.kind.project, () => new ProjectLine(each.kind.project, isOut));
      line.add(each);
      entryOf(this.#linesOf, each.user, () => new Set()).add(line);
    }
    for (const line of this.#lines.values()) this.#enter(line);
  }

  /** The next one, after what was decided on the last. */
  next(): Waiting | undefined {
    if (this.#last !== undefined) this.#enter(this.#last);
    for (;;) {
      const head = this.#heads.pop();
      if (head === undefined) return undefined;
      if (head.turn !== head.line.turn) continue;
      if (this.#isOut(head.waiting)) {
        this.#enter(head.line);
        continue;
      }
      this.#last = head.line;
      head.line.passOver(head.waiting);
      return head.waiting;
    }
  }

  /** The user holds more now. */
  served({ user, kind }: Waiting): void {
    for (const line of this.#linesOf.get(user) ?? []) if (line.project !== kind.project) this.#enter(line);
  }

  /** Anew with its present head; an older entry of it is stale. */
  #enter(line: ProjectLine): void {
    line.turn += 1;
    const waiting = line.head();
    if (waiting === undefined) return;
    this.#heads.push({ waiting, line, turn: line.turn, share: line.project.shareWith(waiting.kind.shape) });
  }
}

interface Head {
  readonly waiting: Waiting;
  readonly line: ProjectLine;
  readonly turn: number;
  readonly share: Share;
}

function isHeadBefore(a: Head, b: Head): boolean {
  return (compareShares(a.share, b.share) || byTime(a.waiting, b.waiting)) < 0;
}

/** One user's requests of one project and priority, in order of time. */
interface Queue {
  readonly user: UserUse;
  readonly waiting: Waiting[];
  at: number;
  /** As the queue stands in its heap; the user may hold more by now, or its head be another. */
  share: Share;
  head: Waiting | undefined;
}

class ProjectLine {
  readonly project: ProjectUse;
  turn = 0;
  readonly #byPriority = new Map<number, Map<UserUse, Queue>>();
  /** Heaps of queues, best priority first; made when first asked. */
  #heaps: Heap<Queue>[] | undefined;
  readonly #isOut: (waiting: Waiting) => boolean;

  constructor(project: ProjectUse, isOut: (waiting: Waiting) => boolean) {
    this.project = project;
    this.#isOut = isOut;
  }

  add(waiting: Waiting): void {
    const queues = entryOf(this.#byPriority, waiting.kind.priority, () => new Map<UserUse, Queue>());
    const { user } = waiting;
    entryOf(queues, user, () => ({ user, waiting: [], at: 0, share: user.share, head: undefined })).waiting.push(
      waiting,
    );
  }

  head(): Waiting | undefined {
    this.#heaps ??= [...this.#byPriority].sort(([a], [b]) => a - b).map(([, queues]) => heapOf(queues.values()));
    for (;;) {
      const heap = this.#heaps[0];
      if (heap === undefined) return undefined;
      const head = headOf(heap, this.#isOut);
      if (head !== undefined) return head;
      this.#heaps.shift();
    }
  }

  /** The head was looked at. */
  passOver(head: Waiting): void {
    const queue = this.#byPriority.get(head.kind.priority)?.get(head.user);
    if (queue?.waiting[queue.at] === head) queue.at += 1;
  }
}

function heapOf(queues: Iterable<Queue>): Heap<Queue> {
  const heap = new Heap<Queue>(isQueueBefore);
  for (const queue of queues) {
    sortByTime(queue.waiting);
    queue.head = queue.waiting[0];
    heap.push(queue);
  }
  return heap;
}

/** Usually they come in order. */
function sortByTime(waiting: Waiting[]): void {
  for (let index = 1; index < waiting.length; index += 1) {
    if (byTime(waiting[index - 1] as Waiting, waiting[index] as Waiting) > 0) {
      waiting.sort(byTime);
      return;
    }
  }
}

function isQueueBefore(a: Queue, b: Queue): boolean {
  return (compareShares(a.share, b.share) || byTime(a.head as Waiting, b.head as Waiting)) < 0;
}

/** The first queue's head. A queue's place only gets worse, so that one which is out of date can wait until it is first. */
function headOf(heap: Heap<Queue>, isOut: (waiting: Waiting) => boolean): Waiting | undefined {
  for (;;) {
    const queue = heap.first();
    if (queue === undefined) return undefined;
    const { waiting, user } = queue;
    while (queue.at < waiting.length && isOut(waiting[queue.at] as Waiting)) queue.at += 1;
    const head = waiting[queue.at];
    if (head === undefined) heap.pop();
    else if (head === queue.head && user.share === queue.share) return head;
    else {
      queue.head = head;
      queue.share = user.share;
      heap.replaceFirst(queue);
    }
  }
}
