/** The workflow `group`: the members of an array, which are jobs (docs/adr/0157). All values are plain JSON. */
import type { JobArray } from '../domain/array/array.js';
import type { GroupCounts, GroupState } from '../domain/array/group-state.js';
import type { Asker, JobResult } from '../domain/job-state.js';
import type { EpochMs } from '../domain/units.js';
import type { OthersCarry } from './after.js';
import { type HumanCall, query, signal, update } from './define.js';
import type { JobAuthorization } from './authorization.js';
import type { JobCall } from './job-requests.js';
import type { JobInput, StartedMember } from './job.js';
import type { JobRef } from './workflow-ids.js';

/** Input of the workflow `group/<id>`. */
export interface GroupInput {
  readonly v: 1;
  /** The input of its members, without `member`: the job file has `array`. */
  readonly submission: JobInput;
  /** State to begin with, in a retry of a group that had ended. Absent: nothing has started. */
  readonly state?: GroupState;
  /** Statements of a server for later rounds, by round. Absent: none. */
  readonly authorizations?: Readonly<Record<string, JobAuthorization>>;
  /** Set by the workflow itself, when it continues as new. */
  readonly carry?: GroupCarry;
}

export interface GroupCarry {
  readonly state: GroupState;
  readonly authorizations: Readonly<Record<string, JobAuthorization>>;
  /** A person has cancelled the group. Absent: nobody. `by` is empty if the name is not known. */
  readonly cancelledBy?: Asker;
  readonly notes: readonly MemberNote[];
  /** Absent: the group waits for no others, or has not looked at them yet. */
  readonly others?: OthersCarry;
  /** Workflows that wait for its end. Absent: none. */
  readonly followers?: readonly string[];
  /** A stop that is in force, and the members that are still to be asked. Absent: neither. */
  readonly stop?: GroupStopCarry;
  /** Jobs that lend their slices to members that have not begun. Absent: none. */
  readonly landlords?: readonly JobRef[];
  /** Messages whose version the worker did not know, kept for a later one. Absent: none. */
  readonly kept?: readonly { readonly signal: string; readonly value: unknown }[];
}

export interface GroupStopCarry {
  /** No member begins until a `resume`. Absent: a resume came since. */
  readonly inForce?: GroupStopped;
  readonly round?: StopRound;
  /** Rounds so far: their number is in the ids of the updates, so that no update counts for a later round. */
  readonly rounds: number;
}

/** A person has stopped a group. */
export interface GroupStopped extends Asker {
  readonly at: EpochMs;
  /** Slices and leases go back too. */
  readonly release?: true;
}

/** The last `stop` or `resume` of a group, as it is passed on to open members. */
export interface StopRound {
  readonly verb: 'stop' | 'resume';
  readonly asker: Asker;
  readonly release?: true;
  /** Members that have not answered yet. */
  readonly left: readonly number[];
  /** Members that do it, and those that have nothing to do: not stopped, or ended. */
  readonly done: number;
  readonly idle: number;
  /** Members that were given up, with the reason. */
  readonly failed: readonly MemberNote[];
}

/** A sentence about a member that never became a job, and so cannot tell it itself. */
export type MemberNote = readonly [index: number, text: string];

/** Result of the workflow: all that a later retry needs. */
export interface GroupResult {
  readonly v: 1;
  readonly state: GroupState;
  readonly notes: readonly MemberNote[];
  readonly submission: JobInput;
  readonly authorizations: Readonly<Record<string, JobAuthorization>>;
}

/** Answer of the query `describeGroup`. */
export interface GroupView {
  readonly group: string;
  readonly array: JobArray;
  readonly state: GroupState;
  readonly notes: readonly MemberNote[];
  readonly isCancelling?: true;
  /** Others that it waits for before it starts a member, as in `prep-7f3k to succeed`. Absent: none. */
  readonly awaited?: string;
  /** No member begins: a person has stopped the group. Absent: nobody has. */
  readonly stopped?: GroupStopped;
  /** Progress of the last `stop` or `resume`. Absent: there was none since the group began, or was retried. */
  readonly stopRound?: Omit<StopRound, 'left'> & { readonly left: number };
  /**
   * No workflow answered: it is made of what lists know. Members that lists do not know count as waiting. Absent: the group's own
   * word.
   */
  readonly isFromLists?: true;
}

/** Columns of a group that are not search attributes. */
export interface GroupMemo {
  readonly name: string;
  /** Hash of the submission's content, as in `JobMemo`. */
  readonly contentHash: string;
  readonly members: number;
  /** The schedule that started it. Absent: a person did. */
  readonly schedule?: string;
  /** Last known to the group. Absent: no worker has taken it yet. */
  readonly counts?: GroupCounts;
  /** The same as in `GroupView`. Empty: it waits for no others any more. */
  readonly awaited?: string;
  /** The person who stopped it. Empty: it goes on again. Absent: it was never stopped. */
  readonly stopped?: string;
}

export const describeGroupQuery = query<GroupView>('describeGroup');

/** A person wants the failed members to run again. */
export interface RetryCall extends HumanCall {
  /** The round that the caller expects of this retry. If another retry was accepted first, the call is refused. */
  readonly round: number;
  /** Statement of a server for the round, in a pool in verified mode. */
  readonly authorization?: JobAuthorization;
}
export const retryUpdate = update<RetryCall>('retry');

/** A person lets a group begin that waits for others. */
export type BeginCall = HumanCall;
export const beginUpdate = update<BeginCall>('begin');

/** A person stops all members: open ones are asked to stop, and none begins until `resume`. */
export interface StopGroupCall extends HumanCall {
  readonly release?: boolean;
}
export const stopGroupUpdate = update<StopGroupCall>('stopMembers');
/** A person lets a stopped group go on: open members are asked to resume, and others begin. */
export type ResumeGroupCall = HumanCall;
export const resumeGroupUpdate = update<ResumeGroupCall>('resumeMembers');

/** A member's outcome is known. */
export interface MemberNews {
  readonly v: 1;
  readonly index: number;
  readonly round: number;
  readonly result: JobResult | 'refused';
  /** The job that lends the slices of this member to the next one (docs/adr/0163). Absent: they go. */
  readonly lends?: JobRef;
}
/** To a group: ends of members, which a worker has coalesced. */
export const memberNewsSignal = signal<[readonly MemberNews[]]>('memberNews');

export interface StartMembersInput {
  readonly group: string;
  readonly round: number;
  readonly indexes: readonly number[];
  readonly submission: JobInput;
  /** Those of `indexes` to which a job lends its slices. Absent: none. */
  readonly landlords?: readonly (readonly [index: number, landlord: JobRef])[];
}
/** @property marks one `MemberMark` for each index, in their order */
export interface StartedMembers {
  readonly marks: string;
  readonly notes: readonly MemberNote[];
}

export interface AskMembersInput {
  readonly group: string;
  readonly members: readonly { readonly index: number; readonly id: string }[];
  readonly verb: 'stop' | 'resume';
  readonly call: JobCall<'stop'>;
  /** A member that has taken an update of this id does not take it a second time. */
  readonly updateId: string;
}
/** Members that are in neither list have ended, or have nothing to do. */
export interface AskedMembers {
  readonly done: readonly number[];
  /** No worker answered for them in time, or the server did not. The update may still be taken. */
  readonly unanswered: readonly MemberNote[];
}

export interface GroupActivities {
  /** Starts members. Repeating is safe: a member whose workflow exists is not started again. */
  startMembers(input: StartMembersInput): Promise<StartedMembers>;
  /** Asks members to end as cancelled. Those that have ended stay as they are. */
  cancelMembers(input: { readonly ids: readonly string[]; readonly asker?: Asker }): Promise<void>;
  /** Asks open members to stop or to go on. Repeating is safe. */
  askMembers(input: AskMembersInput): Promise<AskedMembers>;
  /** The state as Temporal shows it: each member's mark in its last round, `UNSEEN` for a member that Temporal does not know. */
  compareMembers(input: { readonly group: string; readonly state: GroupState }): Promise<GroupState>;
  /** Tells a group the end of a member. Does nothing if the group is not open. */
  tellGroup(input: { readonly group: string; readonly news: MemberNews }): Promise<void>;
}

/** The mark that `compareMembers` returns for a place of which Temporal knows no member. */
export const UNSEEN = '.';

/** `null`, Python's None, counts as absent, as in a job file. */
const isGiven = <T>(value: T | null | undefined): value is T => value !== undefined && value !== null;

/** A member that a job's input names. */
export const memberIn = ({ member }: Pick<JobInput, 'member'>): StartedMember | undefined =>
  isGiven(member) ? member : undefined;
