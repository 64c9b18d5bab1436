import {
  allHandlersFinished,
  condition,
  continueAsNew,
  setHandler,
  upsertMemo,
  workflowInfo,
} from '@temporalio/workflow';
import type { JobAuthorization } from '../contract/authorization.js';
import { beginForm, memberNewsForm, retryForm } from '../contract/group-forms.js';
import {
  type BeginCall,
  beginUpdate,
  describeGroupQuery,
  type GroupCarry,
  type GroupInput,
  type GroupMemo,
  type GroupResult,
  type GroupView,
  type MemberNews,
  memberNewsSignal,
  type MemberNote,
  type RetryCall,
  retryUpdate,
} from '../contract/group.js';
import { cancelNoteForm } from '../contract/job-forms.js';
import { cancelNoteSignal, type JobInput } from '../contract/job.js';
import { noLodgerSignal } from '../contract/lodging.js';
import type { JobRef } from '../contract/workflow-ids.js';
import { hasMember } from '../domain/array/array.js';
import {
  inWords,
  countsText,
  freshState,
  LAST_ROUND,
  markOfResult,
  memberId,
  MemberMark,
  nextRound,
  retriedIndexes,
  retryText,
  type GroupCounts,
} from '../domain/array/group-state.js';
import { type Asker, askerText } from '../domain/job-state.js';
import { count } from '../domain/units.js';
import { describeBy } from './current-details.js';
import { groupReading, groupWork } from './activity-options.js';
import { checkedInput, type CheckedInput, groupId } from './group/input.js';
import { MemberMarks } from './group/member-marks.js';
import { GroupStop } from './group/stop.js';
import { hearingCancel, Inbox, mustBeForm, refusal } from './inbox.js';
import { askerOf } from './job/requests.js';
import { joinBlocks, plain } from './markdown.js';
import { Followers, Others, tell } from './others.js';

/**
 * Starts the members of an array, which are jobs, and knows how each ended (docs/adr/0157). A cancel ends all of them. It ends
 * when no member waits or is open, and always as completed: its result is the state from which a later retry goes on.
 */
export async function group(input: GroupInput): Promise<GroupResult> {
  const owner = new GroupOwner(checkedInput(input));
  const isOver = await hearingCancel(
    () => owner.run(),
    () => owner.cancel(),
  );
  return isOver ? owner.result() : continueAsNew<typeof group>(owner.nextInput());
}

/** Members that one activity starts or cancels. */
const BATCH = 100;
/** Time after which open members are compared with Temporal's Visibility: a terminated one tells nobody. */
const COMPARE_MS = 10 * 60_000;
/** Events and bytes of a history after which it continues as new: far below Temporal's 51,200 events and 50 MB. */
const LONG_HISTORY = 4_000;
const LARGE_HISTORY = 8 * 2 ** 20;
/** Sentences kept about members that have no job to say it. */
const MOST_NOTES = 100;

/** Acts for a group: starts its members, asks them to end, hears of their ends, and answers people. */
class GroupOwner {
  readonly #input: CheckedInput;
  readonly #group: string;
  readonly #inbox: Inbox;
  readonly #members: MemberMarks;
  readonly #stop: GroupStop;
  readonly #authorizations: Record<string, JobAuthorization>;
  #notes: MemberNote[];
  #cancelledBy: Asker | undefined;
  /** Open members that were asked to end. */
  readonly #asked = new Set<number>();
  #comparedAt: number;
  #hasNews = false;
  readonly #others: Others;
  readonly #followers: Followers;
  /** Others that it waits for before it starts a member, in words. */
  #awaited = '';
  /** Jobs that lend their slices to members that have not begun (docs/adr/0163). */
  #landlords: readonly JobRef[];
  /** The last news for lists, as JSON. */
  #shown = '';

  constructor(input: CheckedInput) {
    const { array, carry } = input;
    this.#input = input;
    this.#group = groupId();
    this.#members = new MemberMarks(
      carryOf(carry)?.state ?? input.state ?? freshState(array.size, (index) => hasMember(array, index)),
    );
    this.#stop = new GroupStop(this.#group, this.#members, carryOf(carry)?.stop);
    this.#authorizations = { ...(carryOf(carry)?.authorizations ?? input.authorizations) };
    this.#notes = [...(carryOf(carry)?.notes ?? [])];
    this.#cancelledBy = carryOf(carry)?.cancelledBy;
    this.#landlords = carryOf(carry)?.landlords ?? [];
    this.#comparedAt = Date.now();
    this.#others = new Others(this.#group, carryOf(carry)?.others);
    this.#followers = new Followers(this.#group, carryOf(carry)?.followers);
    setHandler(describeGroupQuery, () => this.#view());
    setHandler(retryUpdate, (call) => this.#retry(call), { validator: (call: RetryCall) => this.#mustTake(call) });
    setHandler(beginUpdate, () => this.#begin(), { validator: (call: BeginCall) => this.#mayBegin(call) });
    this.#stop.listen({
      mustBeOpen: () => this.#mustNotBeCancelled(),
      heard: () => {
        this.#hasNews = true;
        this.#show();
      },
    });
    this.#inbox = new Inbox(carryOf(carry)?.kept)
      .onEach(memberNewsSignal, memberNewsForm, (news) => this.#hear(news))
      .on(cancelNoteSignal, cancelNoteForm, (note) => this.#takeNote(askerOf(note)));
    this.#others.listen(this.#inbox);
    this.#followers.listen(this.#inbox);
  }

  /** Runs until no member waits or is open. False: the history is long, and the next run continues. */
  async run(): Promise<boolean> {
    describeBy(() => this.#details());
    this.#inbox.open();
    // A run without memory is new, or was reset: then its members are there already.
    if (carryOf(this.#input.carry) === undefined) await this.#compare(true);
    if (!(await this.#untilOthersEnded())) return false;
    this.#awaited = '';
    for (;;) {
      await this.#act();
      this.#show();
      if (this.#members.isOver) {
        await condition(allHandlersFinished);
        await this.#followers.tell();
        if (this.#members.isOver) return true;
      }
      if (isLong()) {
        await condition(allHandlersFinished);
        return false;
      }
      if (this.#hasWork) continue;
      this.#hasNews = false;
      await this.#untilNews();
    }
  }

  async #untilNews(): Promise<void> {
    const isNews = (): boolean => this.#hasNews;
    // A group that is stopped before any member began.
    if (this.#members.countOf(MemberMark.Open) === 0) return condition(isNews);
    const compareAt = this.#comparedAt + COMPARE_MS;
    const askAt = this.#stop.nextAt ?? Infinity;
    const summary =
      askAt < compareAt
        ? 'before members are asked again'
        : 'until open members are compared with those that Temporal knows';
    const waitMs = Math.max(1, Math.min(compareAt, askAt) - Date.now());
    if (await condition(isNews, waitMs, { summary })) return;
    if (Date.now() >= compareAt) await this.#compare(false);
  }

  /** Only before its first members: a retry waits for nobody. False: the history is long, and the next run waits on. */
  async #untilOthersEnded(): Promise<boolean> {
    const { after } = this.#input.array;
    while (after !== undefined && !this.#hasBegun) {
      if (this.#cancelledBy !== undefined) return true;
      const due = await this.#others.look(after);
      if (this.#hasBegun) return true;
      this.#awaited = due.awaited;
      this.#show();
      if (due.do === 'give up') return this.#neverBegin(due.why);
      if (due.do === 'go') return true;
      if (isLong()) return false;
      await this.#others.news(() => this.#cancelledBy !== undefined || this.#hasBegun);
    }
    return true;
  }

  /** It waits for no others, or no more. */
  get #hasBegun(): boolean {
    const { array, state } = this.#input;
    return array.after === undefined || state !== undefined || this.#others.overAt !== undefined;
  }

  #neverBegin(why: string): true {
    const waiting = this.#members.indexesOf(MemberMark.Waiting);
    this.#members.endWaiting(MemberMark.Unbegun);
    const notes = waiting.slice(0, MOST_NOTES).map((index): MemberNote => [index, `it did not begin: ${why}`]);
    this.#notes = [...this.#notes, ...notes].slice(-MOST_NOTES);
    return true;
  }

  result(): GroupResult {
    const { submission } = this.#input;
    return { v: 1, state: this.#members.state, notes: this.#notes, submission, authorizations: this.#authorizations };
  }

  nextInput(): GroupInput {
    const { array: _, state: __, authorizations: ___, ...input } = this.#input;
    const { kept } = this.#inbox;
    const others = this.#others.carry();
    const followers = this.#followers.carry;
    const stop = this.#stop.carry();
    const carry: GroupCarry = {
      state: this.#members.state,
      authorizations: this.#authorizations,
      notes: this.#notes,
      ...(this.#cancelledBy && { cancelledBy: this.#cancelledBy }),
      ...(stop && { stop }),
      ...(others && { others }),
      ...(followers.length > 0 && { followers }),
      ...(this.#landlords.length > 0 && { landlords: this.#landlords }),
      ...(kept.length === 0 ? {} : { kept }),
    };
    return { ...input, carry };
  }

  /** A person cancels all. Members that have not begun never do. */
  cancel(): void {
    this.#cancelledBy ??= NOBODY;
    this.#hasNews = true;
  }

  /** The cancel request follows, or came before. A reset of this workflow drops the request and keeps the note, which is enough. */
  #takeNote(asker: Asker): void {
    if (this.#cancelledBy === undefined || this.#cancelledBy.by === '') this.#cancelledBy = asker;
    this.#hasNews = true;
  }

  // State ------------------------------------------------------------------------------------------------------------

  /** A member that failed ends the others. */
  get #isFailing(): boolean {
    return this.#input.array.isFailFast && this.#members.hasFailed;
  }

  get #isEnding(): boolean {
    return this.#cancelledBy !== undefined || this.#isFailing;
  }

  get #hasWork(): boolean {
    if (this.#isEnding) return this.#toCancel.length > 0;
    return this.#stop.isDue || this.#toStart.length > 0;
  }

  get #toCancel(): readonly number[] {
    return this.#members.open.filter((index) => !this.#asked.has(index));
  }

  get #toStart(): readonly number[] {
    if (this.#stop.inForce !== undefined) return [];
    return this.#members.toStart(BATCH, this.#input.array.maxParallel);
  }

  // Acting -----------------------------------------------------------------------------------------------------------

  async #act(): Promise<void> {
    if (!this.#isEnding) {
      await this.#stop.ask();
      await this.#start(this.#toStart);
      return this.#dismissLandlords();
    }
    this.#members.endWaiting(this.#cancelledBy === undefined ? MemberMark.Skipped : MemberMark.Cancelled);
    await this.#dismissLandlords();
    await this.#cancelMembers(this.#toCancel.slice(0, BATCH));
  }

  /** Tells those that lend their slices that no member is left to come. */
  async #dismissLandlords(): Promise<void> {
    if (this.#landlords.length === 0 || this.#members.countOf(MemberMark.Waiting) > 0) return;
    const landlords = this.#landlords;
    this.#landlords = [];
    await Promise.all(landlords.map(({ id }) => tell(id, noLodgerSignal, { v: 1, group: this.#group })));
  }

  async #start(indexes: readonly number[]): Promise<void> {
    const [first] = indexes;
    if (first === undefined) return;
    const round = this.#members.roundOf(first);
    const landlords = indexes
      .slice(0, this.#landlords.length)
      .map((index, at) => [index, this.#landlords[at] as JobRef] as const);
    this.#landlords = this.#landlords.slice(landlords.length);
    const { marks, notes } = await groupWork(`start ${count(indexes.length, 'member')}`).startMembers({
      ...{ group: this.#group, round, indexes, submission: this.#submissionOf(round) },
      ...(landlords.length > 0 && { landlords }),
    });
    this.#members.started(indexes, marks);
    this.#stop.started(indexes);
    this.#notes = [...this.#notes, ...notes].slice(-MOST_NOTES);
  }

  #submissionOf(round: number): JobInput {
    const { submission } = this.#input;
    const authorization = this.#authorizations[round];
    return authorization === undefined ? submission : { ...submission, authorization };
  }

  async #cancelMembers(indexes: readonly number[]): Promise<void> {
    if (indexes.length === 0) return;
    const asker = this.#cancelledBy ?? { by: `fail_fast of ${this.#group}` };
    const ids = indexes.map((index) => memberId({ group: this.#group, index, round: this.#members.roundOf(index) }));
    await groupWork(`cancel ${count(ids.length, 'member')}`).cancelMembers({
      ids,
      ...(asker.by === '' ? {} : { asker }),
    });
    for (const index of indexes) this.#asked.add(index);
  }

  // Hearing ----------------------------------------------------------------------------------------------------------

  #hear(news: readonly MemberNews[]): void {
    for (const { index, round, result, lends } of news) {
      if (!this.#members.isMember(index, round)) continue;
      if (lends !== undefined && this.#members.isOpen(index)) this.#landlords = [...this.#landlords, lends];
      this.#end(index, markOfResult(result));
    }
    this.#hasNews = true;
  }

  #end(index: number, mark: MemberMark): void {
    const isSkipped = mark === MemberMark.Cancelled && this.#cancelledBy === undefined && this.#isFailing;
    this.#members.mark(index, isSkipped ? MemberMark.Skipped : mark);
  }

  /** @param isWithoutMemory members may run that this run has not started */
  async #compare(isWithoutMemory: boolean): Promise<void> {
    const seen = await groupReading('compare the members with those that Temporal knows').compareMembers({
      group: this.#group,
      state: this.#members.state,
    });
    this.#comparedAt = Date.now();
    for (const { index, round, mark } of this.#members.newsIn(seen, isWithoutMemory)) {
      this.#members.inRound(index, round);
      this.#end(index, mark);
    }
  }

  // People -----------------------------------------------------------------------------------------------------------

  #mustTake(call: RetryCall): void {
    mustBeForm(retryForm, call);
    this.#mustNotBeCancelled();
    if (this.#isFailing && !this.#members.isOver)
      throw refusal(`fail_fast is ending the members of group ${this.#group}: retry them when they have ended`);
    if (retriedIndexes(this.#members.state).length === 0) throw refusal(`group ${this.#group} has no failed member`);
    const round = nextRound(this.#members.state);
    if (round > LAST_ROUND) throw refusal(`group ${this.#group} was retried ${LAST_ROUND} times, which are the most`);
    if (call.round !== round)
      throw refusal(`group ${this.#group} was retried by somebody else meanwhile: look at it, and ask again`);
  }

  #mayBegin(call: BeginCall): void {
    mustBeForm(beginForm, call);
    this.#mustNotBeCancelled();
  }

  #mustNotBeCancelled(): void {
    if (this.#cancelledBy !== undefined) throw refusal(`group ${this.#group} is being cancelled`);
  }

  #begin(): { readonly message: string } {
    if (this.#hasBegun) return { message: `group ${this.#group} waits for no others: nothing was changed` };
    this.#others.over();
    return { message: `group ${this.#group} waits for no others any more: its members begin` };
  }

  #retry({ round, authorization }: RetryCall): { readonly message: string } {
    const indexes = this.#members.retry();
    for (const index of indexes) this.#asked.delete(index);
    if (authorization !== undefined) this.#authorizations[round] = authorization;
    const again = new Set(indexes);
    this.#notes = this.#notes.filter(([index]) => !again.has(index));
    this.#hasNews = true;
    return { message: retryText(this.#group, round, indexes.length) };
  }

  #view(): GroupView {
    const { array } = this.#input;
    const isCancelling = this.#cancelledBy !== undefined && !this.#members.isOver;
    const view = { group: this.#group, array, state: this.#members.state, notes: this.#notes };
    const stop = this.#stop.view();
    return {
      ...view,
      ...stop,
      ...(isCancelling && { isCancelling }),
      ...(this.#awaited !== '' && { awaited: this.#awaited }),
    };
  }

  get #counts(): GroupCounts {
    return inWords(this.#members.counts);
  }

  get #stopped(): Asker | undefined {
    return this.#isEnding ? undefined : this.#stop.inForce;
  }

  #details(): string {
    const stopped = this.#stopped;
    const lines = [
      `Group \`${this.#group}\`: ${plain(countsText(this.#counts))}`,
      ...(this.#awaited === '' ? [] : [`Waits for ${plain(this.#awaited)}`]),
      ...(stopped === undefined ? [] : [`Stopped by ${plain(askerText(stopped))}`]),
    ];
    return joinBlocks(lines, '');
  }

  /** Shows the counts in lists, which ask no worker. */
  #show(): void {
    const memo = {
      ...{ counts: this.#counts, awaited: this.#awaited },
      ...(this.#stop.isUsed && { stopped: this.#stopped?.by ?? '' }),
    } satisfies Partial<GroupMemo>;
    const shown = JSON.stringify(memo);
    if (shown === this.#shown) return;
    this.#shown = shown;
    upsertMemo(memo);
  }
}

const NOBODY: Asker = { by: '' };

/** Only the workflow's own continue-as-new is trusted to bring a state of its own. */
function carryOf(carry: GroupCarry | undefined): GroupCarry | undefined {
  return workflowInfo().continuedFromExecutionRunId === undefined ? undefined : carry;
}

const isLong = (): boolean => workflowInfo().historyLength > LONG_HISTORY || workflowInfo().historySize > LARGE_HISTORY;
