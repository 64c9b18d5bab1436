import { sleep } from '@temporalio/workflow';
import type { AttemptEnd, AttemptInput, StopNotice } from '../../activities/contract.js';
import { stopping } from '../activity-options.js';
import { hostsOf } from './attempt-words.js';
import { reasonOf } from './claimed-worker.js';
import type { JobStory } from './story.js';

export interface CommandStop {
  readonly input: AttemptInput;
  readonly notice: StopNotice;
  /** The supervision that is under way, and another one, which sees the end where that one only made a pause. */
  readonly watching: Promise<AttemptEnd | undefined>;
  readonly watchAgain: (input: AttemptInput) => Promise<AttemptEnd | undefined>;
  readonly story: JobStory;
}

/**
 * Stops the command of an attempt by an activity of its own, at once, while the supervision ships the last lines and then ends
 * by itself. To be called in a nonCancellable scope. Bounded by the grace, what dead hosts may cost, and `LAST_LINES_MS`.
 * @returns the attempt's end, where it was seen in time.
 */
export async function stopCommand(stop: CommandStop): Promise<AttemptEnd | undefined> {
  await stopOnHosts(stop);
  return Promise.race([
    shipLastLines(stop),
    sleep(LAST_LINES_MS, { summary: 'time for the last lines' }).then(() => undefined),
  ]);
}

/** Lost slices and lost runs are no news of a command that was told to end: their hosts go anyway. */
export const isEndOfItsOwn = (end: AttemptEnd): boolean =>
  end.kind === 'ended-before' || end.kind === 'fenced' || (end.kind === 'exited' && end.isStopped !== true);

async function stopOnHosts({ input, notice, story }: CommandStop): Promise<void> {
  const { graceSeconds } = input.spec;
  const summary = `stop the command of attempt ${input.attempt} on ${hostsOf(input)}, grace ${graceSeconds} s`;
  try {
    const stop = stopping(graceSeconds * 1000, input.settings.timings.heartbeatTimeoutMs);
    await stop(summary).stopAttempt({ ...input, notice });
  } catch (error) {
    // Hosts that cannot be reached lose their processes with their slice.
    story.note(`the command could not be stopped on every host: ${reasonOf(error)}`);
  }
}

async function shipLastLines({ input, watching, watchAgain, story }: CommandStop): Promise<AttemptEnd | undefined> {
  try {
    let end = await watching;
    while (end === undefined || isOnTheWay(end)) end = await watchAgain(deafToSilence(input));
    return end;
  } catch (error) {
    story.note(`the last lines could not be shipped: ${reasonOf(error)}`);
    return undefined;
  }
}

/** Silence is none of its end either: it may have come before the stop. */
const isOnTheWay = ({ kind }: AttemptEnd): boolean =>
  kind === 'still-running' || kind === 'handed-over' || kind === 'no-output';

/** What is being stopped may be as silent as it likes. */
function deafToSilence(input: AttemptInput): AttemptInput {
  const { noOutput, ...timeouts } = input.spec.timeouts ?? {};
  return noOutput === undefined ? input : { ...input, spec: { ...input.spec, timeouts } };
}

/** How long the supervision may take to ship what was printed before the stop. */
const LAST_LINES_MS = 20_000;
