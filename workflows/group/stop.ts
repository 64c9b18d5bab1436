import { setHandler } from '@temporalio/workflow';
import type { Form } from '../../contract/form.js';
import { resumeGroupForm, stopGroupForm } from '../../contract/group-forms.js';
import {
  type GroupStopCarry,
  type GroupStopped,
  type MemberNote,
  type ResumeGroupCall,
  resumeGroupUpdate,
  type StopGroupCall,
  stopGroupUpdate,
  type StopRound,
} from '../../contract/group.js';
import { memberId } from '../../domain/array/group-state.js';
import type { Asker } from '../../domain/job-state.js';
import { count, type EpochMs } from '../../domain/units.js';
import { groupWork } from '../activity-options.js';
import { mustBeForm } from '../inbox.js';
import { personOf } from '../job/requests.js';
import type { MemberMarks } from './member-marks.js';

/** Members that one activity asks. */
const BATCH = 100;
/** Pause after a batch of which no member has answered; it grows with each such batch. */
const PAUSE_MS = 5_000;
const LONGEST_PAUSE_MS = 60_000;
/** Batches in a row without an answer after which the members that are left are given up: some 15 minutes. */
const MOST_SILENT = 20;
/** Reasons that are kept. */
const MOST_FAILED = 100;

/**
 * The stop of a group (docs/adr/0172): while one is in force no member begins. Open members are asked in batches, by the group
 * and not by the person's computer, so that no end of a process leaves half of them running. A later call replaces the round.
 */
export class GroupStop {
  readonly #group: string;
  readonly #members: MemberMarks;
  #inForce: GroupStopped | undefined;
  #round: Omit<StopRound, 'left'> | undefined;
  #left: number[];
  #rounds: number;
  #silent = 0;
  #nextAt: EpochMs = 0;

  constructor(group: string, members: MemberMarks, carry?: GroupStopCarry) {
    this.#group = group;
    this.#members = members;
    this.#inForce = carry?.inForce;
    const { left = [], ...round } = carry?.round ?? {};
    this.#round = carry?.round && (round as Omit<StopRound, 'left'>);
    this.#left = [...left];
    this.#rounds = carry?.rounds ?? 0;
  }

  /** Takes the calls of people. @param mustBeOpen throws a refusal if the group is being cancelled @param heard is called after each */
  listen({ mustBeOpen, heard }: { readonly mustBeOpen: () => void; readonly heard: () => void }): void {
    const told = (message: string): { readonly message: string } => {
      heard();
      return { message };
    };
    const mayBe = <T>(form: Form<T>, call: T): void => {
      mustBeForm(form, call);
      mustBeOpen();
    };
    setHandler(stopGroupUpdate, (call) => told(this.#stop(personOf(call), call.release === true)), {
      validator: (call: StopGroupCall) => mayBe(stopGroupForm, call),
    });
    setHandler(resumeGroupUpdate, (call) => told(this.#resume(personOf(call))), {
      validator: (call: ResumeGroupCall) => mayBe(resumeGroupForm, call),
    });
  }

  /** The stop that keeps members from beginning. */
  get inForce(): GroupStopped | undefined {
    return this.#inForce;
  }

  /** It was stopped at least once. */
  get isUsed(): boolean {
    return this.#rounds > 0;
  }

  #stop(asker: Asker, release: boolean): string {
    const also = release ? { release: true as const } : {};
    this.#inForce = { ...asker, at: Date.now(), ...also };
    const open = this.#begin({ verb: 'stop', asker, ...also });
    return `group ${this.#group} is stopped: ${open} asked to stop, and no other begins until \`jobctl resume ${this.#group}\``;
  }

  #resume(asker: Asker): string {
    this.#inForce = undefined;
    const open = this.#begin({ verb: 'resume', asker });
    return `group ${this.#group} goes on: ${open} asked to go on, and others begin in their turn`;
  }

  /** Asks members too that were being started when the stop came. */
  started(indexes: readonly number[]): void {
    if (this.#inForce !== undefined && this.#round?.verb === 'stop') this.#left = [...this.#left, ...indexes];
  }

  /** A batch is due now. */
  get isDue(): boolean {
    return this.#open.length > 0 && Date.now() >= this.#nextAt;
  }

  /** The time of the next batch. Undefined: no member is left to be asked. */
  get nextAt(): EpochMs | undefined {
    return this.#open.length === 0 ? undefined : this.#nextAt;
  }

  /** Asks the next members. Those that do not answer are asked again after the others. */
  async ask(): Promise<void> {
    const [round, batch] = [this.#round, this.#open.slice(0, BATCH)];
    if (round === undefined || batch.length === 0 || Date.now() < this.#nextAt) return;
    const { verb, asker, release } = round;
    const { done, unanswered } = await groupWork(`${verb} ${count(batch.length, 'member')}`).askMembers({
      ...{ group: this.#group, verb, updateId: `${verb}-${this.#rounds}` },
      members: batch.map((index) => ({ index, id: this.#idOf(index) })),
      call: { v: 1, by: asker.by, ...(asker.from !== undefined && { from: asker.from }), ...(release && { release }) },
    });
    // Another call came meanwhile, and asks all of them anew.
    if (this.#round !== round) return;
    this.#heard(round, batch, done, unanswered);
  }

  carry(): GroupStopCarry | undefined {
    if (this.#rounds === 0) return undefined;
    return {
      rounds: this.#rounds,
      ...(this.#inForce && { inForce: this.#inForce }),
      ...(this.#round && { round: { ...this.#round, left: this.#open } }),
    };
  }

  view(): {
    readonly stopped?: GroupStopped;
    readonly stopRound?: Omit<StopRound, 'left'> & { readonly left: number };
  } {
    return {
      ...(this.#inForce && { stopped: this.#inForce }),
      ...(this.#round && { stopRound: { ...this.#round, left: this.#open.length } }),
    };
  }

  #begin(what: Pick<StopRound, 'verb' | 'asker' | 'release'>): string {
    this.#left = [...this.#members.open];
    this.#round = { ...what, done: 0, idle: 0, failed: [] };
    this.#rounds += 1;
    this.#silent = 0;
    this.#nextAt = 0;
    return `${count(this.#left.length, 'open member')} ${this.#left.length === 1 ? 'is' : 'are'}`;
  }

  #heard(
    round: Omit<StopRound, 'left'>,
    batch: readonly number[],
    done: readonly number[],
    unanswered: readonly MemberNote[],
  ): void {
    const again = new Set(unanswered.map(([index]) => index));
    const asked = new Set(batch);
    this.#left = [...this.#left.filter((index) => !asked.has(index)), ...again];
    this.#silent = again.size < batch.length ? 0 : this.#silent + 1;
    this.#nextAt = this.#silent === 0 ? 0 : Date.now() + Math.min(this.#silent * PAUSE_MS, LONGEST_PAUSE_MS);
    const givenUp = this.#silent >= MOST_SILENT ? unanswered : [];
    if (givenUp.length > 0) this.#left = this.#left.filter((index) => !again.has(index));
    this.#round = {
      ...round,
      done: round.done + done.length,
      idle: round.idle + batch.length - done.length - again.size,
      failed: [...round.failed, ...givenUp].slice(0, MOST_FAILED),
    };
  }

  /** A member that has ended needs no more to be asked. */
  get #open(): readonly number[] {
    return this.#left.filter((index) => this.#members.isOpen(index));
  }

  #idOf(index: number): string {
    return memberId({ group: this.#group, index, round: this.#members.roundOf(index) });
  }
}
