import {
  ActivityFailure,
  ApplicationFailure,
  CancellationScope,
  condition,
  continueAsNew,
  isCancellation,
  log,
  setHandler,
  workflowInfo,
  getExternalWorkflowHandle,
} from '@temporalio/workflow';
import {
  buildLeftForm,
  buildWantedForm,
  buildInputForm,
  type BuildCarry,
  type BuildInput,
  buildLeftSignal,
  type BuildNews,
  type BuildResult,
  type BuildTry,
  buildWaitersQuery,
  buildWantedSignal,
  buildNewsSignal,
  type BuildWaiter,
} from '../contract/build.js';
import { type BuildEnd, buildText } from '../domain/build/spec.js';
import { FailureType } from '../domain/errors.js';
import type { CreateAnswer, RefusalScope } from '../domain/slice.js';
import type { JobRef } from '../contract/workflow-ids.js';
import { describeBy } from './current-details.js';
import { buildMail, buildWatch, createBuildOnce } from './activity-options.js';
import { hearingCancel, Inbox } from './inbox.js';

/**
 * Owns the Kubernetes Job that builds one image, from before the first create call until it is seen gone, for all jobs that need
 * the image (docs/adr/0074). It ends with the digest, or as failed. After a failure the next job that needs the image begins
 * anew.
 */
export async function build(input: BuildInput): Promise<BuildResult> {
  const owner = new BuildOwner(checkedInput(input));
  const end = await hearingCancel(
    () => owner.run(),
    () => owner.cancelled(),
  );
  if (end.kind === 'history is long') return continueAsNew<typeof build>({ ...input, carry: owner.carry() });
  if (end.kind === 'built') return { digest: end.digest };
  throw ApplicationFailure.create({ type: FailureType.BuildFailed, nonRetryable: true, message: end.message });
}

type End =
  | Exclude<BuildNews, { kind: 'progress' }>
  | { readonly kind: 'history is long' }
  | { readonly kind: 'unwanted'; readonly message: string };

type Stop = { readonly kind: 'unwanted' } | { readonly kind: 'history is long' };

/** Lost pods, one after another, after which the build is given up. */
const MOST_LOST = 5;
const LOST_PAUSE_MS = 5_000;

class BuildOwner {
  #unansweredUntil: number;
  #lost: number;
  #isCancelled = false;
  readonly #input: BuildInput;
  readonly #audience: Audience;
  readonly #inbox: Inbox;

  constructor(input: BuildInput) {
    const { carry } = input;
    this.#input = input;
    this.#unansweredUntil = carry?.unansweredUntil ?? 0;
    this.#lost = carry?.lost ?? 0;
    this.#audience = new Audience(carry?.waiters);
    this.#inbox = new Inbox(carry?.kept)
      .on(buildWantedSignal, buildWantedForm, ({ waiter }) => this.#audience.join(waiter))
      .on(buildLeftSignal, buildLeftForm, ({ job }) => this.#audience.leave(job));
  }

  /** Tries until the image exists or it is certain that it cannot be built, then deletes the Job that it made. */
  async run(): Promise<End> {
    setHandler(buildWaitersQuery, () => this.#audience.waiters);
    this.#inbox.open();
    for (;;) {
      const end = await this.#nextTry();
      if (end === undefined) continue;
      // The next run owns a Job whose create call has no answer yet.
      if (end.kind === 'history is long') return end;
      if (end.kind !== 'unwanted') this.#audience.tellAll(end);
      await this.#delete(end.kind === 'built' ? 'the image is there' : end.message);
      // A job joined while the unwanted Job was deleted.
      if (end.kind === 'unwanted' && !this.#audience.isEmpty && !this.#isCancelled) continue;
      await this.#audience.settled();
      return end;
    }
  }

  carry(): BuildCarry {
    const { kept } = this.#inbox;
    return {
      waiters: this.#audience.waiters,
      lost: this.#lost,
      unansweredUntil: this.#unansweredUntil,
      ...(kept.length === 0 ? {} : { kept }),
    };
  }

  /** Called when an operator has cancelled the build. */
  cancelled(): void {
    this.#isCancelled = true;
  }

  get #isUnwanted(): boolean {
    return this.#isCancelled || this.#audience.isEmpty;
  }

  // One try ----------------------------------------------------------------------------------------------------------

  /** Undefined: the try was lost, and is repeated. */
  async #nextTry(): Promise<End | undefined> {
    const end = (await this.#create()) ?? (await this.#watch());
    switch (end.kind) {
      case 'built':
        return { kind: 'built', digest: end.digest };
      case 'history is long':
        return end;
      case 'unwanted':
        return this.#unwanted();
      case 'failed':
        return { kind: 'failed', by: 'task', message: end.message, lines: end.lines };
      case 'refused':
        return failed(end.scope === 'request' ? 'task' : 'infrastructure', `the cluster refused it: ${end.message}`);
      case 'foreign':
        return failed('infrastructure', end.message);
      case 'missing':
        return this.#again('its Job has gone');
      case 'lost':
        return this.#again(end.message, end.lines);
    }
  }

  #unwanted(): End {
    if (!this.#isCancelled) return { kind: 'unwanted', message: 'no job waits for it any more' };
    return failed('infrastructure', `${workflowInfo().workflowId} was cancelled`);
  }

  async #again(why: string, lines: readonly string[] = []): Promise<End | undefined> {
    this.#lost += 1;
    if (this.#lost >= MOST_LOST)
      return { ...failed('infrastructure', `${this.#lost} tries came to nothing, the last because ${why}`), lines };
    log.info(`the build is tried again: ${why}`);
    await this.#delete(why);
    await condition(() => this.#isUnwanted, LOST_PAUSE_MS, { summary: 'before it is tried again' });
    return undefined;
  }

  /** Calls create until it has a definite answer. Undefined: the Job is there. */
  async #create(): Promise<BuildEnd | Stop | undefined> {
    this.#show('is asking the cluster for its pod');
    for (let waitMs = 1000; !this.#isUnwanted; waitMs = Math.min(waitMs * 2, 60_000)) {
      const answer = await this.#callCreate();
      if (answer.kind === 'accepted') return undefined;
      if (answer.kind === 'refused' && !PASSING.has(answer.scope)) return answer;
      if (answer.kind === 'exists' || answer.kind === 'unanswered') {
        const found = await buildMail('did the create call take effect?').findBuild(this.#try);
        if (found === 'there') return undefined;
        if (found === 'foreign') return { kind: 'foreign', message: 'a Job of its name belongs to somebody else' };
      }
      const why = answer.kind === 'exists' ? 'its last Job is being deleted' : answer.message;
      this.#show(`asks the cluster again: ${why}`);
      this.#audience.tellProgress(why);
      await condition(() => this.#isUnwanted, waitMs, { summary: 'until create is called again' });
      const { historyLength, continueAsNewSuggested } = workflowInfo();
      if (continueAsNewSuggested || historyLength >= this.#input.timings.jobHistoryEvents)
        return { kind: 'history is long' };
    }
    return { kind: 'unwanted' };
  }

  async #callCreate(): Promise<CreateAnswer> {
    let answer: CreateAnswer;
    try {
      answer = await createBuildOnce(`create the Job that builds ${this.#what}`).createBuild(this.#try);
    } catch (error) {
      if (isInvalid(error)) throw error;
      // The worker died or was too slow: its call may still take effect.
      answer = { kind: 'unanswered', message: String(error) };
    }
    if (answer.kind === 'unanswered') this.#unansweredUntil = Date.now() + this.#input.timings.createSettleMs;
    return answer;
  }

  async #watch(): Promise<BuildEnd | Stop> {
    this.#show('is under way');
    const scope = new CancellationScope({ cancellable: true });
    const watching = scope
      .run(() => this.#activities(`build ${this.#what}`).awaitBuild({ ...this.#try, number: this.#lost }))
      .catch((error: unknown) => {
        if (isCancellation(error)) return { kind: 'unwanted' } as const;
        throw error;
      });
    const end = await Promise.race([watching, condition(() => this.#isUnwanted).then(() => undefined)]);
    if (end !== undefined) return end;
    scope.cancel();
    return { kind: 'unwanted' };
  }

  async #delete(why: string): Promise<void> {
    this.#show(`is deleting its Job: ${why}`);
    const notBefore = this.#unansweredUntil;
    await this.#activities(`delete the Job that builds ${this.#what}`).deleteBuild({ ...this.#try, notBefore });
  }

  // ------------------------------------------------------------------------------------------------------------------

  get #try(): BuildTry {
    return { id: workflowInfo().workflowId, build: this.#input.build, timings: this.#input.timings };
  }

  get #what(): string {
    return buildText(this.#input.build);
  }

  #activities(summary: string): ReturnType<ReturnType<typeof buildWatch>> {
    return buildWatch(this.#input.timings.heartbeatTimeoutMs)(summary);
  }

  #show(what: string): void {
    describeBy(() => {
      const jobs = this.#audience.waiters.map(({ id }) => `\`${id}\``).join(', ') || 'none';
      return `**${this.#what}** ${what}\n\nJobs that wait for it: ${jobs}`;
    });
  }
}

/** Scopes of refusals that waiting may end: a quota, a rate limit, a namespace that is being deleted, rights that are missing. */
const PASSING: ReadonlySet<RefusalScope> = new Set(['moment', 'zone', 'zone-lasting', 'installation', 'permission']);

/** Whether the inputs do not match this workflow's id. */
const isInvalid = (error: unknown): boolean =>
  error instanceof ActivityFailure &&
  error.cause instanceof ApplicationFailure &&
  error.cause.type === FailureType.InvalidInput;

const failed = (by: 'task' | 'infrastructure', message: string) =>
  ({ kind: 'failed', by, message, lines: [] }) as const;

type LastNews = Exclude<BuildNews, { kind: 'progress' }>;

/** The jobs that wait for an image. Each is told the end of the build once, also a job that joins after that end. */
class Audience {
  readonly #waiting = new Map<string, BuildWaiter>();
  #news: LastNews | undefined;
  #progress = '';
  #unacknowledged = 0;

  constructor(waiters: readonly BuildWaiter[] = []) {
    for (const waiter of waiters) this.#waiting.set(keyOf(waiter), waiter);
  }

  join(waiter: BuildWaiter): void {
    if (this.#news !== undefined) return this.#tell(waiter, this.#news);
    this.#waiting.set(keyOf(waiter), waiter);
  }

  leave(job: JobRef): void {
    this.#waiting.delete(keyOf(job));
  }

  get isEmpty(): boolean {
    return this.#waiting.size === 0;
  }

  get waiters(): readonly BuildWaiter[] {
    return [...this.#waiting.values()];
  }

  /** Tells the text that lists and `why` show, if it is new. */
  tellProgress(detail: string): void {
    if (detail === this.#progress) return;
    this.#progress = detail;
    for (const waiter of this.waiters) this.#tell(waiter, { kind: 'progress', detail });
  }

  /** Tells all jobs the end. No job waits from now on. */
  tellAll(news: LastNews): void {
    this.#news = news;
    const waiting = this.waiters;
    this.#waiting.clear();
    for (const waiter of waiting) this.#tell(waiter, news);
  }

  /** Resolves once all of them have been told. */
  async settled(): Promise<void> {
    await condition(() => this.#unacknowledged === 0);
  }

  #tell({ id, run }: BuildWaiter, news: BuildNews): void {
    this.#unacknowledged += 1;
    getExternalWorkflowHandle(id)
      .signal(buildNewsSignal, { v: 1, build: workflowInfo().workflowId, run, news })
      // The job is closed, and needs no image.
      .catch((error: unknown) => log.debug(`job ${id} did not take the news: ${String(error)}`))
      .finally(() => (this.#unacknowledged -= 1));
  }
}

const keyOf = ({ id, run }: JobRef): string => `${id}/${run}`;

/**
 * @throws ApplicationFailure for a malformed input, which no retry and no later worker can read
 * @throws TypeError for an input of a newer version: the workflow task fails until a worker can read it
 */
function checkedInput(input: unknown): BuildInput {
  const checked = buildInputForm(input);
  switch (checked.kind) {
    case 'valid':
      return checked.value;
    case 'unknown-version':
      throw new TypeError(`build: the input has version ${checked.version}, this worker reads 1: update the worker`);
    case 'malformed':
      throw ApplicationFailure.create({
        type: FailureType.InvalidInput,
        nonRetryable: true,
        message: `build: the input is malformed: ${checked.reason}`,
      });
  }
}
