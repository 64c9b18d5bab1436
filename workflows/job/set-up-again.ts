import { patched } from '@temporalio/workflow';
import type { AttemptInput, SetUpEnd } from '../../activities/contract.js';
import { JobPhase } from '../../domain/job-state.js';
import { settingUpAgain } from '../activity-options.js';
import { hostsOf, placeName } from './attempt-words.js';
import { reasonOf } from './claimed-worker.js';
import type { Interruption } from './interruption.js';
import { whenInterrupted } from './interruption-watch.js';
import type { JobStory } from './story.js';

/** Which modules, and whether those that are found unchanged are done too. */
export interface SetUpWish {
  readonly modules: readonly string[];
  readonly isForced: boolean;
}

/**
 * Modules that are made ready once more because a person asked, beside whatever the job does on its hosts; one such set-up at a
 * time. It decides nothing: how it ended is a note, and what it finds of lost slices is for those who watch them.
 */
export class SetUpAgain {
  readonly #story: JobStory;
  #underWay: Promise<void> | undefined;

  constructor(story: JobStory) {
    this.#story = story;
  }

  get isUnderWay(): boolean {
    return this.#underWay !== undefined;
  }

  /** Returns at once. */
  begin(input: AttemptInput, wish: SetUpWish, by: string): void {
    this.#story.note(
      `${by} asked for the set-up of ${wish.modules.join(', ')}${wish.isForced ? ', whatever is there' : ''}`,
    );
    this.#underWay = this.#run(input, wish).finally(() => {
      this.#underWay = undefined;
    });
  }

  /**
   * An attempt's own set-up waits for it, before its clock runs. False also keeps alive jobs whose attempt began beside such a
   * set-up when the clock ran first and nothing was said of the wait.
   */
  isToBeAwaitedFirst(): boolean {
    return this.isUnderWay && patched('set-up-waits-before-its-clock');
  }

  /** No two set-ups are at one host. Ends early once something else is wanted. */
  async settled(interruption: () => Interruption | undefined): Promise<void> {
    if (!this.isUnderWay || interruption() !== undefined) return;
    this.#story.move(JobPhase.SettingUp, 'waits for the end of the set-up that was asked for');
    // What was wanted may have been taken back.
    while (this.isUnderWay && interruption() === undefined) await this.endedOr(interruption);
  }

  /** Resolved too once something else is wanted, which may have been taken back since. */
  async endedOr(interruption: () => Interruption | undefined): Promise<void> {
    await Promise.race([this.#underWay, whenInterrupted(interruption)]);
  }

  async #run(input: AttemptInput, { modules, isForced }: SetUpWish): Promise<void> {
    const summary = `set up ${modules.join(', ')} again on ${hostsOf(input)}`;
    try {
      const end = await settingUpAgain(input.settings.timings.heartbeatTimeoutMs)(summary).setUpAgain({
        ...input,
        again: { modules, isForced },
      });
      this.#story.note(endText(input, end));
    } catch (error) {
      // Of a cancelled job too: nothing waits for it.
      this.#story.note(`the set-up that was asked for failed: ${reasonOf(error)}`);
    }
  }
}

function endText({ spec }: AttemptInput, end: SetUpEnd): string {
  switch (end.kind) {
    case 'ready':
      return 'the set-up that was asked for is done on all hosts';
    case 'module-failed':
    case 'host-bad':
      return `the set-up that was asked for failed: ${end.module} on ${placeName(end.at, spec.slices)}: ${end.message}`;
    case 'handed-over':
      return 'the set-up that was asked for ended with its worker; ask again';
    case 'slices-lost':
    case 'ended-before':
      return 'the set-up that was asked for ended with its slices';
  }
}
