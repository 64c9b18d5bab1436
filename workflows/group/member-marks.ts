import { UNSEEN } from '../../contract/group.js';
import {
  type GroupState,
  hasFailed,
  MemberMark,
  retriedIndexes,
  retriedState,
} from '../../domain/array/group-state.js';

/** A member that Temporal knows otherwise than its group does. */
interface SeenMember {
  readonly index: number;
  /** In base 36. */
  readonly round: string;
  readonly mark: MemberMark;
}

/** The mark and the round of each place of a group. State only: the workflow `group` starts members and cancels them. */
export class MemberMarks {
  readonly #marks: string[];
  readonly #rounds: string[];
  /** Number of places with each mark: a group asks at each event, and it may have 10,000 places. */
  readonly #counts = new Map<string, number>();
  /** No place before it waits. */
  #firstWaiting = 0;

  constructor({ marks, rounds }: GroupState) {
    this.#marks = Array.from(marks);
    this.#rounds = Array.from(rounds);
    for (const mark of this.#marks) this.#count(mark, 1);
  }

  #count(mark: string, by: 1 | -1): void {
    this.#counts.set(mark, (this.#counts.get(mark) ?? 0) + by);
  }

  get state(): GroupState {
    return { marks: this.#marks.join(''), rounds: this.#rounds.join('') };
  }

  /** No member waits or is open. */
  get isOver(): boolean {
    return this.countOf(MemberMark.Waiting) === 0 && this.countOf(MemberMark.Open) === 0;
  }

  get hasFailed(): boolean {
    return [...this.#counts].some(([mark, number]) => number > 0 && hasFailed(mark));
  }

  get counts(): ReadonlyMap<string, number> {
    return this.#counts;
  }

  countOf(mark: MemberMark): number {
    return this.#counts.get(mark) ?? 0;
  }

  indexesOf(wanted: MemberMark): readonly number[] {
    if (this.countOf(wanted) === 0) return [];
    return this.#marks.flatMap((mark, index) => (mark === wanted ? [index] : []));
  }

  get open(): readonly number[] {
    return this.indexesOf(MemberMark.Open);
  }

  roundOf(index: number): number {
    return Number.parseInt(this.#rounds[index] ?? '0', 36);
  }

  /** Whether a member has this place in this round. News of other rounds are old. */
  isMember(index: number, round: number): boolean {
    const mark = this.#marks[index];
    return mark !== undefined && mark !== MemberMark.Gap && round === this.roundOf(index);
  }

  isOpen(index: number): boolean {
    return this.#marks[index] === MemberMark.Open;
  }

  /** The next members to start, all of one round, for one statement covers a round. */
  toStart(most: number, maxParallel = Infinity): readonly number[] {
    const limit = Math.min(most, maxParallel - this.countOf(MemberMark.Open));
    if (this.countOf(MemberMark.Waiting) === 0 || limit <= 0) return [];
    while (this.#marks[this.#firstWaiting] !== MemberMark.Waiting) this.#firstWaiting += 1;
    const round = this.#rounds[this.#firstWaiting];
    const indexes: number[] = [];
    for (let index = this.#firstWaiting; index < this.#marks.length && indexes.length < limit; index += 1)
      if (this.#marks[index] === MemberMark.Waiting && this.#rounds[index] === round) indexes.push(index);
    return indexes;
  }

  /** @param marks a mark for each of these members, in their order */
  started(indexes: readonly number[], marks: string): void {
    for (const [at, index] of indexes.entries()) {
      // Its end may have been told before.
      if (this.#marks[index] === MemberMark.Waiting)
        this.mark(index, (marks[at] as MemberMark | undefined) ?? MemberMark.Open);
    }
  }

  /** Members that have not begun never do. */
  endWaiting(mark: MemberMark): void {
    for (const index of this.indexesOf(MemberMark.Waiting)) this.mark(index, mark);
  }

  mark(index: number, mark: MemberMark): void {
    const before = this.#marks[index];
    if (before === undefined) return;
    this.#count(before, -1);
    this.#count(mark, 1);
    this.#marks[index] = mark;
    if (mark === MemberMark.Waiting) this.#firstWaiting = Math.min(this.#firstWaiting, index);
  }

  /** @param isWithoutMemory members may run that this run has not started */
  newsIn(seen: GroupState, isWithoutMemory: boolean): readonly SeenMember[] {
    return Array.from(seen.marks).flatMap((mark, index) => {
      const [known, round] = [this.#marks[index], seen.rounds[index] ?? '0'];
      if (mark === UNSEEN || known === undefined || known === MemberMark.Gap) return [];
      const isLater = Number.parseInt(round, 36) > this.roundOf(index);
      const isNews = known === MemberMark.Open || (known === MemberMark.Waiting && isWithoutMemory);
      const isOld = isLater ? !isWithoutMemory : round !== this.#rounds[index] || !isNews;
      return isOld ? [] : [{ index, round, mark: mark as MemberMark }];
    });
  }

  inRound(index: number, round: string): void {
    this.#rounds[index] = round;
  }

  /** Members that failed wait again, in the next round. @returns their indexes */
  retry(): readonly number[] {
    const indexes = retriedIndexes(this.state);
    const { marks, rounds } = retriedState(this.state);
    for (const index of indexes) {
      this.mark(index, (marks[index] as MemberMark | undefined) ?? MemberMark.Waiting);
      this.#rounds[index] = rounds[index] ?? '0';
    }
    return indexes;
  }
}
