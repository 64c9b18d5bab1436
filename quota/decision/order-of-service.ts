import { Heap } from './heap.js';
import { ProjectLine, TimeLine } from './project-line.js';
import type { Share, UserUsage } from './usage.js';
import { compareShares } from './usage.js';
import { inTimeOrder } from './time-order.js';
import type { WaitingRequest } from './waiting.js';

/**
 * Waiting requests in the order of service (rule 5). Inside a project: priority, then the user who holds least, then time.
 * Between projects their heads are compared: smallest dominant share, then time. Shares change as requests are served, so
 * the order is found one by one. Requests are put in order of time once, and are numbers from then on: places in it.
 */
export class ServiceOrder {
  readonly #timeLine: TimeLine;
  /** Lines by number of the project. */
  readonly #lines: (ProjectLine | undefined)[] = [];
  readonly #heads = new Heap<Head>(isHeadBefore);
  /** Lines of projects in which a user waits, by number of the user. A grant in one of them changes the order in the others. */
  readonly #linesOf: ProjectLine[][] = [];
  readonly #isOut: (waiting: WaitingRequest) => boolean;
  #last: ProjectLine | undefined;

  /** @param isOut whether a request is left out; asked when it is the head of its project, and when it is the first of all */
  constructor(waiting: readonly WaitingRequest[], isOut: (waiting: WaitingRequest) => boolean) {
    this.#isOut = isOut;
    this.#timeLine = new TimeLine(inTimeOrder(waiting));
    const inOrder = this.#timeLine.waiting;
    for (let place = 0; place < inOrder.length; place += 1) this.#add(place, inOrder[place] as WaitingRequest);
    for (const line of this.#lines) if (line !== undefined) this.#enter(line);
  }

  /** The next request, after the decision on the last. */
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

  /** Reorders the user's other projects, since the user holds more now. */
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
