import {
  setHandler,
  workflowInfo,
  CancellationScope,
  condition,
  getExternalWorkflowHandle,
  isCancellation,
  log,
  sleep,
} from '@temporalio/workflow';
import { cancelNoteForm, priorityNewsForm } from '../../contract/job-forms.js';
import {
  cancelNoteSignal,
  accountQuery,
  describeQuery,
  type JobInput,
  type JobSettings,
  type PriorityNews,
  prioritySignal,
  type StartedMember,
} from '../../contract/job.js';
import type { JobRef } from '../../contract/workflow-ids.js';
import { memberIn } from '../../contract/group.js';
import { contentHash } from '../../domain/content-hash.js';
import { askedMachines, formatSlices } from '../../domain/machines.js';
import type { Priority } from '../../domain/job-spec.js';
import { DEFAULT_TIMINGS } from '../../domain/timings.js';
import {
  buildNewsForm,
  buildLeftSignal,
  type BuildNews,
  type BuildNewsFrom,
  buildNewsSignal,
} from '../../contract/build.js';
import { buildText, type RemoteBuild } from '../../domain/build/spec.js';
import { type Asker, JobPhase } from '../../domain/job-state.js';
import { describeBy } from '../current-details.js';
import { Inbox } from '../inbox.js';
import { Followers, Others } from '../others.js';
import { buildMail, groupWork } from '../activity-options.js';
import { Attempt } from './attempt.js';
import { Attempts } from './attempts.js';
import { jobDetails } from './details.js';
import { accountAt } from './end.js';
import { Gang } from './gang.js';
import { Interruptions } from './interruption.js';
import { JobFile } from './job-file.js';
import { JobInputs } from './inputs.js';
import { SliceKeeper } from './keep-slices.js';
import { LandlordHold } from './landlord.js';
import { LeaseHold } from './lease.js';
import { Lodging } from './lodging.js';
import { Notices } from './notices.js';
import { Recovery } from './recovery.js';
import { askerOf, CANCEL_FOLLOWS_MS, Requests } from './requests.js';
import { RequestedSetUp } from './set-up.js';
import { Slices } from './slices.js';
import { demandOf, type JobCarry } from './state.js';
import { chainRunId, JobStory } from './story.js';
import { takeUpdates } from './updates.js';
import { JobUsage } from './usage.js';
import { ZoneAnswers } from './zones.js';
import { Wait } from './wait.js';
import { ZoneMoves } from './zone-moves.js';
import { ZoneRace } from './zone-race.js';
import { jobFacts, jobView } from './views.js';

/** All parts of an open job. */
export interface Job {
  readonly carried: JobCarry;
  readonly job: JobRef;
  /** Its place in an array. Absent: the job belongs to no array. */
  readonly member?: StartedMember;
  readonly settings: JobSettings;
  readonly inbox: Inbox;
  // Parts that hold what the job knows.
  readonly file: JobFile;
  readonly story: JobStory;
  readonly requests: Requests;
  readonly slices: Slices;
  readonly attempt: Attempt;
  readonly answers: ZoneAnswers;
  readonly others: Others;
  readonly inputs: JobInputs;
  readonly followers: Followers;
  // Parts that act on it.
  readonly notices: Notices;
  readonly image: ImageBuild;
  readonly lease: LeaseHold;
  readonly usage: JobUsage;
  readonly interruptions: Interruptions;
  readonly gang: Gang;
  readonly race: ZoneRace;
  readonly wait: Wait;
  readonly moves: ZoneMoves;
  readonly requestedSetUp: RequestedSetUp;
  readonly attempts: Attempts;
  readonly recovery: Recovery;
  readonly keeper: SliceKeeper;
  readonly lodging: Lodging;
  readonly landlord: LandlordHold;
}

/**
 * Makes the parts of a job from the state of the previous run, or from the accepted job: first those that hold its state, then
 * those that act on it. Messages come in only when all parts are there (`Inbox`).
 * @param isWarm it is a member of an array whose members lend each other their slices
 */
export function openJob(carried: JobCarry, input: JobInput, isWarm: boolean): Job {
  // A worker of an earlier build, which accepted it, does not know timings that were added since.
  const settings = { ...carried.settings, timings: { ...DEFAULT_TIMINGS, ...carried.settings.timings } };
  const member = memberIn(input);
  const known = {
    carried,
    settings,
    ...(member && { member }),
    job: { id: workflowInfo().workflowId, run: chainRunId() },
    inbox: new Inbox(carried.kept),
    file: new JobFile(carried.spec, input, carried.edited),
    story: new JobStory(carried.story),
    requests: new Requests(carried.requests),
    slices: new Slices(carried.spec, carried.gang),
    attempt: new Attempt(carried.attempt),
    answers: new ZoneAnswers(carried.answers, carried.askedZones),
    others: new Others(workflowInfo().workflowId, carried.others),
    followers: new Followers(workflowInfo().workflowId, carried.followers),
  };
  const notices = new Notices(known, carried.notices);
  const lease = new LeaseHold(known.file.spec.pool, demandOf(carried), known.slices, carried.lease);
  const image = new ImageBuild(known.story);
  const inputs = new JobInputs(known, carried.inputs);
  const usage = new JobUsage({ ...known, lease }, carried.usage);
  const held = {
    ...known,
    notices,
    image,
    inputs,
    lease,
    usage,
    interruptions: new Interruptions(lease, known.requests),
  };
  const gang = new Gang(held, carried.gang.zoneTry, carried.gang.zones);
  const race = new ZoneRace({ ...held, gang });
  const wait = new Wait({ ...held, gang, race }, carried);
  const moves = new ZoneMoves({ ...held, gang, race, wait }, carried);
  const ready = { ...held, gang, race, wait, moves, requestedSetUp: new RequestedSetUp(known.story) };
  const job: Job = {
    ...ready,
    attempts: new Attempts(ready),
    recovery: new Recovery(ready, carried),
    keeper: new SliceKeeper(ready),
    lodging: new Lodging(ready, member),
    landlord: new LandlordHold(ready, isWarm),
  };
  void CancellationScope.current().cancelRequested.catch(() => known.requests.cancelled(Date.now()));
  if (!workflowInfo().continuedFromExecutionRunId) begin(job, input, isWarm);
  listen(job);
  job.story.waitBy(() => job.wait.endsAt);
  describeBy(() => jobDetails(jobFacts(job)));
  return job;
}

/** State that the next run continues from. */
export function carryOf({ carried, ...job }: Job): JobCarry {
  const requests = job.requests.carry();
  const zones = job.gang.zones.carry();
  const notices = job.notices.carry();
  const others = job.others.carry();
  const followers = job.followers.carry;
  const inputs = job.inputs.carry();
  const { kept } = job.inbox;
  return {
    v: 1,
    settings: carried.settings,
    submittedAt: carried.submittedAt,
    ...job.file.carry(),
    ...(requests === undefined ? {} : { requests }),
    story: job.story.carry(),
    ...job.recovery.carry(),
    ...job.wait.carry(),
    ...job.moves.carry(),
    lease: job.lease.carry(),
    gang: { ...job.slices.carry(), zoneTry: job.gang.zones.current, ...(zones && { zones }) },
    attempt: job.attempt.carry(),
    usage: job.usage.carry(),
    ...(job.answers.all.length === 0 ? {} : { answers: job.answers.all }),
    ...(job.answers.asked.length === 0 ? {} : { askedZones: job.answers.asked }),
    ...(notices === undefined ? {} : { notices }),
    ...(others === undefined ? {} : { others }),
    ...(inputs === undefined ? {} : { inputs }),
    ...(followers.length === 0 ? {} : { followers }),
    ...(kept.length === 0 ? {} : { kept }),
  };
}

function listen(job: Job): void {
  const { inbox } = job;
  setHandler(describeQuery, () => jobView(job));
  setHandler(accountQuery, (endedAt) => accountAt(job, endedAt));
  takeUpdates(job);
  inbox.on(cancelNoteSignal, cancelNoteForm, (note) => {
    const asker = askerOf(note);
    job.requests.noteCancel(asker, Date.now());
    void askForAnnounced(job, asker).catch(() => undefined);
  });
  inbox.on(prioritySignal, priorityNewsForm, (news) => reprioritize(job, news));
  job.image.listen(inbox);
  job.lease.listen(inbox);
  job.gang.listen(inbox);
  job.attempts.listen(inbox);
  job.others.listen(inbox);
  job.followers.listen(inbox);
  job.lodging.listen(inbox);
  job.landlord.listen(inbox);
  inbox.open();
}

/**
 * Asks for a cancel that was announced and did not come: a reset of the workflow keeps the note and drops Temporal's request, and a
 * client may die between the two (docs/adr/0060).
 */
async function askForAnnounced({ job: { id } }: Job, asker: Asker): Promise<void> {
  // The cancel ends the wait.
  await sleep(CANCEL_FOLLOWS_MS, { summary: 'until an announced cancel is asked for' });
  await groupWork(`cancel ${id}, as was announced`).cancelMembers({ ids: [id], asker });
}

/** Called once, when the job was accepted. */
function begin(
  { carried, settings, member, file: { spec }, story }: Job,
  { job, files = {} }: JobInput,
  isWarm: boolean,
): void {
  story.begin(
    {
      JobProject: settings.project,
      JobUser: settings.user,
      JobAccelerator: askedMachines(spec).accelerator,
      JobPool: spec.pool,
      ...(member && { JobGroup: member.group }),
    },
    {
      // The values that JobClient sets at the start: a job that another service started has the same row.
      name: spec.name,
      slice: formatSlices(spec),
      contentHash: contentHash({ job, files }),
      isVerified: settings.isVerified === true,
      ...(settings.label === undefined ? {} : { label: settings.label }),
      submittedAt: carried.submittedAt,
      attempts: 0,
      run: chainRunId(),
      ...(spec.keep === undefined && !isWarm ? {} : { keeps: true }),
    },
  );
  story.note({ kind: 'accepted', facts: { quota: settings.quotaNote } });
}

function reprioritize({ file, lease, story }: Job, { run, priority }: PriorityNews): void {
  const before = file.spec.priority;
  if (run !== chainRunId() || priority === before) return;
  // The form has checked that it is from 1 to 5.
  file.reprioritize(priority as Priority);
  lease.reprioritize(priority);
  story.note({ kind: 'priority-changed', facts: { priority, before } });
}

type ImageEnd = Exclude<BuildNews, { kind: 'progress' }> | { readonly kind: 'unwanted' };

/** Time after which the job asks again, because a build workflow that was terminated tells no job. Asking costs one activity. */
const ASK_AGAIN_MS = 10 * 60_000;

/**
 * The job's side of an image that a cluster builds (docs/adr/0074): it starts or joins the build of these inputs, and waits for
 * its news. It holds nothing of its pool meanwhile.
 */
class ImageBuild {
  /** Id of the build workflow that the job waits for. */
  #id: string | undefined;
  #news: ImageEnd | undefined;
  readonly #story: JobStory;

  constructor(story: JobStory) {
    this.#story = story;
  }

  listen(inbox: Inbox): void {
    inbox.on(buildNewsSignal, buildNewsForm, (from) => this.#onNews(from));
  }

  /**
   * Resolves with the end of the build, or as soon as it is unwanted. After a cancel, the job leaves the build too.
   * @param attempt the attempt whose logs get the build's output
   */
  async untilBuilt(build: RemoteBuild, attempt: number, isUnwanted: () => boolean): Promise<ImageEnd> {
    const { image, commit, namespace } = build;
    this.#story.move(JobPhase.Queued, { kind: 'building-image', facts: { image, commit, namespace } });
    let end: ImageEnd | undefined;
    try {
      end = await this.#ended(build, attempt, isUnwanted);
    } catch (error) {
      if (isCancellation(error)) await CancellationScope.nonCancellable(() => this.#leave());
      throw error;
    }
    if (end.kind !== 'built') await this.#leave();
    this.#id = undefined;
    return end;
  }

  async #ended(build: RemoteBuild, attempt: number, isUnwanted: () => boolean): Promise<ImageEnd> {
    this.#news = undefined;
    const waiter = { id: workflowInfo().workflowId, run: chainRunId(), attempt };
    for (;;) {
      // A cancel in the middle would leave a waiter behind that cannot be taken back.
      const joined = await CancellationScope.nonCancellable(() =>
        buildMail(`start or join the build of ${buildText(build)}`).joinBuild({ waiter, build }),
      );
      if (joined.kind === 'built') return { kind: 'built', digest: joined.digest };
      if (this.#id !== joined.id) this.#story.note({ kind: 'image-build-joined', facts: { workflow: joined.id } });
      this.#id = joined.id;
      const summary = 'before it asks again how its image is';
      if (await condition(() => this.#news !== undefined || isUnwanted(), ASK_AGAIN_MS, { summary }))
        return this.#news ?? { kind: 'unwanted' };
    }
  }

  #onNews({ build, run, news }: BuildNewsFrom): void {
    if (run !== chainRunId() || (this.#id !== undefined && build !== this.#id)) return;
    if (news.kind !== 'progress') this.#news = news;
    else if (this.#id !== undefined) this.#story.trouble({ kind: 'image-progress', facts: { detail: news.detail } });
  }

  /** Leaves the build. It ends if this was the last job that waited for it. */
  async #leave(): Promise<void> {
    const id = this.#id;
    if (id === undefined) return;
    const job = { id: workflowInfo().workflowId, run: chainRunId() };
    try {
      await getExternalWorkflowHandle(id).signal(buildLeftSignal, { v: 1, job });
    } catch (error) {
      if (isCancellation(error)) throw error;
      log.debug(`${id} has ended: ${String(error)}`);
    }
    this.#id = undefined;
  }
}
