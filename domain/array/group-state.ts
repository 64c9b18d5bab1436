import type { JobResult } from '../job-state.js';
import { count } from '../units.js';

/** The state of one place of a group's matrix, as one character: 10,000 of them are 10 KB (docs/adr/0157). */
export const MemberMark = {
  /** Excluded: no member. */
  Gap: '-',
  /** Not started yet. */
  Waiting: 'w',
  /** Started, and its end is not known. */
  Open: 'o',
  Succeeded: 's',
  Failed: 'f',
  Cancelled: 'c',
  /** Its workflow was ended in Temporal from outside, without an outcome. */
  Terminated: 't',
  /** No worker accepted it. */
  Refused: 'r',
  /** `fail_fast` ended it, or it never began because of it. */
  Skipped: 'k',
  /** Another workflow has its id. */
  Taken: 'x',
  /** The group waited for others (`after`), and one of them ended so that no member could begin. */
  Unbegun: 'n',
} as const;
export type MemberMark = (typeof MemberMark)[keyof typeof MemberMark];

/** State of all members. Both texts have one character for each place of the matrix. */
export interface GroupState {
  /** `MemberMark` of each. */
  readonly marks: string;
  /** Round of each, in base 36: 0 is the first, and each retry is one more. */
  readonly rounds: string;
}

/** The last round that one character can name. */
export const LAST_ROUND = 35;

const FAILED_MARKS: ReadonlySet<string> = new Set([
  ...[MemberMark.Failed, MemberMark.Terminated, MemberMark.Refused, MemberMark.Taken],
]);
/** Whether a member of this mark makes `fail_fast` end the others. */
export const hasFailed = (mark: string): boolean => FAILED_MARKS.has(mark);
/** Whether `retry --failed` runs a member of this mark again: it failed, or `fail_fast` skipped it, or its group never began. */
export const isRetried = (mark: string): boolean =>
  hasFailed(mark) || mark === MemberMark.Skipped || mark === MemberMark.Unbegun;

const BEGUN_NOTHING: ReadonlySet<string> = new Set([
  ...[MemberMark.Gap, MemberMark.Waiting, MemberMark.Skipped, MemberMark.Taken, MemberMark.Unbegun],
]);
/** Whether a member of this mark has a job with files in the store. The job with the id of one that is `Taken` is somebody else's. */
export const hasFiles = (mark: string | undefined): boolean => mark !== undefined && !BEGUN_NOTHING.has(mark);

/** The mark of a job that ended. */
export const markOfResult = (result: JobResult | 'refused'): MemberMark => MARK_OF[result];
const MARK_OF: Readonly<Record<JobResult | 'refused', MemberMark>> = {
  succeeded: MemberMark.Succeeded,
  failed: MemberMark.Failed,
  cancelled: MemberMark.Cancelled,
  refused: MemberMark.Refused,
};

export const roundAt = ({ rounds }: Pick<GroupState, 'rounds'>, index: number): number =>
  Number.parseInt(rounds[index] ?? '0', 36);

/** The state of a group of which nothing has started. @param isMember whether a place has a member */
export function freshState(size: number, isMember: (index: number) => boolean): GroupState {
  const marks = Array.from({ length: size }, (_, index) => (isMember(index) ? MemberMark.Waiting : MemberMark.Gap));
  return { marks: marks.join(''), rounds: '0'.repeat(size) };
}

/** The number of members of each mark; marks without members are absent. */
export function countMarks(marks: Iterable<string>): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const mark of marks) if (mark !== MemberMark.Gap) counts.set(mark, (counts.get(mark) ?? 0) + 1);
  return counts;
}

/** The round that a retry would be: one more than any so far. */
export function nextRound({ rounds }: Pick<GroupState, 'rounds'>): number {
  let last = 0;
  for (const round of rounds) last = Math.max(last, Number.parseInt(round, 36));
  return last + 1;
}

/** Members that a retry runs again. */
export const retriedIndexes = ({ marks }: Pick<GroupState, 'marks'>): readonly number[] =>
  Array.from(marks).flatMap((mark, index) => (isRetried(mark) ? [index] : []));

/** The state after a retry was asked for: its members wait again, in the next round. */
export function retriedState(state: GroupState): GroupState {
  const round = nextRound(state).toString(36);
  const marks = Array.from(state.marks);
  const rounds = Array.from(state.rounds);
  for (const index of retriedIndexes(state)) {
    marks[index] = MemberMark.Waiting;
    rounds[index] = round;
  }
  return { marks: marks.join(''), rounds: rounds.join('') };
}

/** Tells a person that a retry was taken. @param number of members */
export const retryText = (group: string, round: number, number: number): string =>
  `${count(number, 'member')} of group ${group} ${number === 1 ? 'runs' : 'run'} again, as ${roundPrefix({ group, round })}-N`;

/** Names of the marks for people, in the order of a summary. */
export const MARK_WORDS: readonly (readonly [MemberMark, string])[] = [
  [MemberMark.Open, 'open'],
  [MemberMark.Waiting, 'waiting'],
  [MemberMark.Succeeded, 'succeeded'],
  [MemberMark.Failed, 'failed'],
  [MemberMark.Terminated, 'terminated'],
  [MemberMark.Refused, 'refused'],
  [MemberMark.Taken, 'not started (id taken)'],
  [MemberMark.Skipped, 'skipped by fail_fast'],
  [MemberMark.Unbegun, 'never begun'],
  [MemberMark.Cancelled, 'cancelled'],
];

/** The name of a mark; undefined for one that this build does not know, and for a place without a member. */
export const wordOfMark = (mark: string | undefined): string | undefined => WORD_OF_MARK.get(mark ?? '');
const WORD_OF_MARK: ReadonlyMap<string, string> = new Map(MARK_WORDS);

/** Numbers of members by the words of their marks, in the order of a summary; marks without members are absent. */
export type GroupCounts = Readonly<Record<string, number>>;

export const countsByWord = (marks: string): GroupCounts => inWords(countMarks(marks));

/** @param counts number of places with each mark */
export function inWords(counts: ReadonlyMap<string, number>): GroupCounts {
  return Object.fromEntries(
    MARK_WORDS.flatMap(([mark, word]) => {
      const number = counts.get(mark) ?? 0;
      return number === 0 ? [] : [[word, number] as const];
    }),
  );
}

/** `3 open, 2 waiting, 7 succeeded`. */
export const countsText = (counts: GroupCounts): string =>
  MARK_WORDS.flatMap(([, word]) => (counts[word] === undefined ? [] : [`${counts[word]} ${word}`])).join(', ');

// Names ---------------------------------------------------------------------------------------------------------------

/** Place of a job in its group. */
export interface JobMember {
  /** Id of the group. */
  readonly group: string;
  /** Place in the matrix, from 0. */
  readonly index: number;
  /** Absent: the first, 0. Each retry is one more. */
  readonly round?: number;
}

/** The common beginning of the ids of a round's members. A server signs a round under this text. */
export const roundPrefix = ({ group, round = 0 }: Pick<JobMember, 'group' | 'round'>): string =>
  round === 0 ? group : `${group}-r${round}`;

export const memberId = (member: JobMember): string => `${roundPrefix(member)}-${member.index}`;

const REST = /^(?:r(\d{1,2})-)?(\d{1,5})$/;

/** The member of `group` that has this id, or undefined. */
export function memberWithId(group: string, id: string): Required<JobMember> | undefined {
  if (!id.startsWith(`${group}-`)) return undefined;
  const [, round = '0', index] = REST.exec(id.slice(group.length + 1)) ?? [];
  if (index === undefined) return undefined;
  const member = { group, index: Number(index), round: Number(round) };
  return memberId(member) === id && member.round <= LAST_ROUND ? member : undefined;
}

/** The group that an id of this form names, or undefined. The form proves no membership: any job may have such an id. */
export const groupOfMember = (id: string): string | undefined => MEMBER.exec(id)?.[1];
const MEMBER = /^(.+?)(?:-r\d{1,2})?-\d{1,5}$/;

/** A group with such an id would share the ids of its members with a retry of another group. */
const LIKE_A_ROUND = /-r\d+$/;

/** The longest id of a group whose members all have valid ids in all rounds. @param most characters of a job's id */
export const mostOfGroupId = (size: number, most: number): number =>
  most - `-r${LAST_ROUND}-${Math.max(0, size - 1)}`.length;

/** The reason why no group may have this id, with a remedy, or undefined. @param most characters of a job's id */
export function groupIdProblem(id: string, size: number, most: number): string | undefined {
  const longest = mostOfGroupId(size, most);
  if (id.length > longest)
    return `'${id}' has ${id.length} characters, and ${longest} are the most for an array of ${size} places: ids of its members are made of it`;
  if (groupOfMember(id) !== undefined || LIKE_A_ROUND.test(id))
    return `'${id}' ends like a member or a retry of another group, which would have the same ids: take another name`;
  return undefined;
}
