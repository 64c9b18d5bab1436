import type { GroupView } from '../contract/group.js';
import type { JobInput } from '../contract/job.js';
import { type GroupState, MemberMark, memberWithId } from '../domain/array/group-state.js';
import { isMapping } from '../domain/job-file/plain-tree.js';
import { JobRefused } from './errors.js';
import { type JobRow, resultOf, type ShownPhase } from './job-rows.js';

/** The array of a submission. @throws JobRefused without a readable array */
export async function arrayOf(id: string, { job }: JobInput): Promise<GroupView['array']> {
  // It loads zod, which other calls do without.
  const { readArray } = await import('../domain/array/array.js');
  const read = isMapping(job) ? readArray(job) : undefined;
  if (read?.ok !== true) throw new JobRefused(id, `group ${id} has no array that can be read`);
  return read.array;
}

/**
 * A group for which no workflow answers, by the rows of its members. Lists know neither a member that no worker accepted nor one
 * that another job kept from beginning: both count as waiting.
 */
export async function viewOfRows(id: string, submission: JobInput, rows: readonly JobRow[]): Promise<GroupView> {
  const { hasMember } = await import('../domain/array/array.js');
  const array = await arrayOf(id, submission);
  const marks = Array.from<string>({ length: array.size });
  for (const index of marks.keys()) marks[index] = hasMember(array, index) ? MemberMark.Waiting : MemberMark.Gap;
  const rounds = marks.map(() => 0);
  for (const row of rows) {
    const member = memberWithId(id, row.id);
    const known = member === undefined ? undefined : marks[member.index];
    if (member === undefined || known === undefined || known === MemberMark.Gap) continue;
    const isEarlier = known !== MemberMark.Waiting && member.round < (rounds[member.index] ?? 0);
    if (isEarlier) continue;
    marks[member.index] = markOfRow(row);
    rounds[member.index] = member.round;
  }
  const state = { marks: marks.join(''), rounds: rounds.map((round) => round.toString(36)).join('') };
  return { group: id, array, state, notes: [], isFromLists: true };
}

const MARKS: Readonly<Partial<Record<ShownPhase, MemberMark>>> = {
  succeeded: MemberMark.Succeeded,
  failed: MemberMark.Failed,
  cancelled: MemberMark.Cancelled,
  terminated: MemberMark.Terminated,
};
const markOfRow = (row: JobRow): MemberMark => MARKS[resultOf(row)] ?? MemberMark.Open;

/**
 * The state of a group with the ends that lists know and the group does not: it hears of a terminated member within ten minutes.
 */
export function withSeenEnds(group: string, state: GroupState, rows: readonly JobRow[]): GroupState {
  const marks = Array.from(state.marks);
  for (const row of rows) {
    const member = memberWithId(group, row.id);
    if (member === undefined || member.round !== Number.parseInt(state.rounds[member.index] ?? '', 36)) continue;
    if (marks[member.index] === MemberMark.Open) marks[member.index] = markOfRow(row);
  }
  return { ...state, marks: marks.join('') };
}
