import {
  CancellationScope,
  condition,
  getExternalWorkflowHandle,
  isCancellation,
  log,
  workflowInfo,
} from '@temporalio/workflow';
import { buildNewsForm } from '../../contract/build-forms.js';
import { buildLeftSignal, type BuildNews, type BuildNewsFrom, buildNewsSignal } from '../../contract/build.js';
import { buildText, type RemoteBuild } from '../../domain/build/remote.js';
import { JobPhase } from '../../domain/job-state.js';
import { buildMail } from '../activity-options.js';
import type { Inbox } from '../inbox.js';
import { chainRunId, type JobStory } from './story.js';

export type ImageEnd = Exclude<BuildNews, { kind: 'progress' }> | { readonly kind: 'unwanted' };

/** A build workflow that was terminated tells no job, so the job asks again, which is one activity. */
const ASK_AGAIN_MS = 10 * 60_000;

/**
 * The job's side of an image that a cluster builds (docs/adr/0074): it starts or joins the build of these inputs, and waits for
 * its news. It holds nothing of its pool meanwhile.
 */
export class ImageBuild {
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
   * Resolves with the end of the build, or as soon as it is unwanted. A cancel leaves the build too.
   * @param attempt its logs take the build's output
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
