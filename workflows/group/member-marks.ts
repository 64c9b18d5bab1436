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

  constructor({ marks, rounds }: GroupState) {
    this.#marks = Array.from(marks);
    this.#rounds = Array.from(rounds);
  }

  get state(): GroupState {
    return { marks: this.#marks.join(''), rounds: this.#rounds.join('') };
  }

  /** No member waits or is open. */
  get isOver(): boolean {
    return !this.#marks.some((mark) => mark === MemberMark.Waiting || mark === MemberMark.Open);
  }

  get hasFailed(): boolean {
    return this.#marks.some(hasFailed);
  }

  indexesOf(wanted: MemberMark): readonly number[] {
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
    const free = maxParallel - this.indexesOf(MemberMark.Open).length;
    const waiting = free <= 0 ? [] : this.indexesOf(MemberMark.Waiting);
    const [first = -1] = waiting;
    return waiting.filter((index) => this.#rounds[index] === this.#rounds[first]).slice(0, Math.min(free, most));
  }

  /** @param marks a mark for each of these members, in their order */
  started(indexes: readonly number[], marks: string): void {
    for (const [at, index] of indexes.entries()) {
      // Its end may have been told before.
      if (this.#marks[index] === MemberMark.Waiting) this.#marks[index] = marks[at] ?? MemberMark.Open;
    }
  }

  /** Members that have not begun never do. */
  endWaiting(mark: MemberMark): void {
    for (const index of this.indexesOf(MemberMark.Waiting)) this.#marks[index] = mark;
  }

  end(index: number, mark: MemberMark): void {
    this.#marks[index] = mark;
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
      this.#marks[index] = marks[index] ?? MemberMark.Waiting;
      this.#rounds[index] = rounds[index] ?? '0';
    }
    return indexes;
  }
}
