import { isCancellation } from '@temporalio/workflow';
import type { AttemptInput, JobRef } from '../../activities/contract.js';
import type { EpochMs } from '../../domain/units.js';
import { attemptRecord } from '../activity-options.js';
import { reasonOf } from './claimed-worker.js';
import type { JobStory } from './story.js';

export interface AttemptFacts {
  readonly job: JobRef;
  readonly input: AttemptInput;
  readonly startedAt: EpochMs;
  /** How it ended; absent: it runs. */
  readonly end?: string;
  /** Text of its job file, where that is another than the one before. */
  readonly source?: string;
}

/** Stores where an attempt ran and how it ended. A store that takes no record is a line in the story, and no more. */
export async function recordAttempt(
  { job, input, startedAt, end, source }: AttemptFacts,
  story: JobStory,
): Promise<void> {
  const { attempt, slices } = input;
  const record = {
    attempt,
    zone: slices[0]?.ref.zone ?? '',
    nodes: slices.map(({ ref, nodeId, hosts }) => ({ name: ref.name, nodeId, hosts })),
    startedAt,
    ...(end === undefined ? {} : { end, endedAt: Date.now() }),
  };
  try {
    const summary = `store where attempt ${attempt} ${end === undefined ? 'runs' : `ran, and its end: ${end}`}`;
    await attemptRecord(summary).recordAttempt({
      job,
      record,
      events: story.events,
      ...(source === undefined ? {} : { source }),
    });
  } catch (error) {
    if (isCancellation(error)) throw error;
    story.note(`the record of attempt ${attempt} could not be stored: ${reasonOf(error)}`);
  }
}
