import { CancellationScope, condition, workflowInfo } from '@temporalio/workflow';
import { evictionForm, lodgeAnswerForm } from '../../contract/job-forms.js';
import type { JobSettings, StartedMember } from '../../contract/job.js';
import {
  type Eviction,
  evictionSignal,
  type LodgeAnswer,
  lodgeAnswerSignal,
  lodgerNewsSignal,
  lodgeSignal,
} from '../../contract/lodging.js';
import type { JobRef } from '../../contract/workflow-ids.js';
import { askedMachines } from '../../domain/machines.js';
import type { Inbox } from '../inbox.js';
import { tell } from '../others.js';
import type { Attempt } from './attempt.js';
import type { Gang } from './gang.js';
import type { JobFile } from './job-file.js';
import type { LeaseHold } from './lease.js';
import type { Requests } from './requests.js';
import type { Slices } from './slices.js';
import { chainRunId, type JobStory } from './story.js';
import type { ZoneRace } from './zone-race.js';

interface LodgingParts {
  readonly settings: JobSettings;
  readonly file: JobFile;
  readonly story: JobStory;
  readonly requests: Requests;
  readonly slices: Slices;
  readonly attempt: Attempt;
  readonly lease: LeaseHold;
  readonly gang: Gang;
  readonly race: ZoneRace;
}

/** Time without an answer after which the pool is asked. A worker that dies costs half of it. */
const ANSWER_MS = 60_000;

/**
 * The lodger's side of lent slices (docs/adr/0163): a member asks the one that its group named, once, and runs on its slices, or
 * asks its pool as any job does.
 */
export class Lodging {
  readonly #parts: LodgingParts;
  readonly #member: StartedMember | undefined;
  #hasAsked = false;
  #isAsking = false;
  #answer: LodgeAnswer | undefined;

  constructor(parts: LodgingParts, member: StartedMember | undefined) {
    this.#parts = parts;
    this.#member = member;
  }

  listen(inbox: Inbox): void {
    inbox.on(lodgeAnswerSignal, lodgeAnswerForm, (answer) => this.#onAnswer(answer));
    inbox.on(evictionSignal, evictionForm, (eviction) => this.#onEviction(eviction));
  }

  /** @returns true if the job has slices now */
  async enter(): Promise<boolean> {
    const { lease, attempt, requests, file, settings } = this.#parts;
    const { landlord, group } = this.#member ?? {};
    const { fits } = settings;
    if (landlord === undefined || group === undefined || fits === undefined) return false;
    if (this.#hasAsked || attempt.number > 0 || lease.isWanted) return false;
    this.#hasAsked = true;
    this.#isAsking = true;
    const { graceSeconds } = file.spec;
    const call = { v: 1, lodger: ownRef(), group, fits, graceSeconds } as const;
    const isOpen = await tell(landlord.id, lodgeSignal, call);
    const isUnwanted = (): boolean => requests.current !== undefined;
    try {
      const summary = `until ${landlord.id} says whether it lends its slices`;
      if (isOpen) await condition(() => this.#answer !== undefined || isUnwanted(), ANSWER_MS, { summary });
    } finally {
      this.#isAsking = false;
    }
    const answer = this.#answer;
    this.#answer = undefined;
    // Its answer may still come, and then the landlord must not wait for this job.
    if (answer === undefined && isOpen) await this.#decline(landlord);
    if (answer?.lent === undefined) return false;
    const zone = answer.lent.slices[0]?.ref.zone ?? '';
    if (isUnwanted() || !askedMachines(file.spec).zones.includes(zone)) {
      await this.#decline(landlord);
      return false;
    }
    this.#move(answer.landlord, answer.lent, zone);
    return true;
  }

  #move(landlord: LodgeAnswer['landlord'], { slices: lent, lease: terms }: Lent, zone: string): void {
    const { slices, lease, race, story, gang } = this.#parts;
    slices.lodge(landlord, lent);
    lease.lodge(landlord.job, terms);
    race.begin(zone);
    story.note({ kind: 'lodged', facts: { landlord: landlord.job.id } });
    gang.changed();
  }

  #onAnswer(answer: LodgeAnswer): void {
    if (answer.run !== chainRunId() || answer.landlord.job.id !== this.#member?.landlord?.id) return;
    if (this.#isAsking) this.#answer ??= answer;
    // Too late: the job waits for its pool, or has ended.
    else if (answer.lent && !this.#parts.lease.isLodged) this.#declineNow(answer.landlord.job);
  }

  /** Nothing of the job has run there. */
  #decline({ id }: JobRef): Promise<unknown> {
    const news = { v: 1, lodger: ownRef(), kind: 'left', isClean: true } as const;
    return CancellationScope.nonCancellable(() => tell(id, lodgerNewsSignal, news));
  }

  #declineNow(landlord: JobRef): void {
    void this.#decline(landlord).catch(() => undefined);
  }

  #onEviction({ run, landlord, reason, cause }: Eviction): void {
    const { lease } = this.#parts;
    const isOfLandlord = (job: JobRef | undefined): boolean => job?.id === landlord.id && job.run === landlord.run;
    if (run !== chainRunId()) return;
    if (isOfLandlord(lease.landlord)) return lease.evicted({ reason, cause });
    if (this.#answer === undefined || !isOfLandlord(this.#answer.landlord.job)) return;
    // It came together with the answer, before the job has moved in.
    const { lent: _, ...refusal } = this.#answer;
    this.#answer = refusal;
    this.#declineNow(landlord);
  }

  /** Called at the job's end: a cancel may have come with the answer. */
  async ends(): Promise<void> {
    if (this.#answer?.lent) await this.#decline(this.#answer.landlord.job);
  }
}

type Lent = NonNullable<LodgeAnswer['lent']>;

const ownRef = (): JobRef => ({ id: workflowInfo().workflowId, run: chainRunId() });
