import { activityInfo, cancellationSignal, heartbeat, log, sleep } from '@temporalio/activity';
import { messageOf } from '../../domain/error-words.js';
import type { Builds, OwnedBuild } from '../../cloud/builds/port.js';
import type { AwaitBuildInput, BuildWaiter, DeleteBuildInput } from '../../contract/build.js';
import type { BuildCondition, BuildEnd } from '../../domain/build/condition.js';
import { wholeTimings } from '../../domain/timings.js';
import type { Shipping } from '../attempt/log-stream.js';
import { BuildLog } from './build-log.js';

/** The jobs that a build is for. */
export interface BuildAudience {
  readonly waiters: () => Promise<readonly BuildWaiter[]>;
  /** Tells the text that lists and `why` show of it. */
  readonly tell: (detail: string) => void;
}

export interface AwaitedBuild extends AwaitBuildInput {
  readonly owned: OwnedBuild;
  readonly audience: BuildAudience;
}

interface Outside {
  readonly builds: Builds;
  readonly shipping: Shipping;
}

/** Pauses between two looks, at first and later. A look is two reads and a query. */
const LOOK_MS = 500;
const LONGEST_LOOK_MS = 3_000;
/** Each message to a job is three events of its history. */
const TOLD_APART_MS = 10_000;

/** Watches a try until it has ended, and ships its output. A failed call is not an answer. */
export async function awaitBuild({ builds, shipping }: Outside, of: AwaitedBuild): Promise<BuildEnd> {
  const { owned, audience, number, timings } = of;
  const printed = new BuildLog({ builds, shipping }, { place: owned.build, number, signal: cancellationSignal() });
  const tell = rarely(audience.tell);
  let missing = 0;
  const judge = (seen: BuildCondition): BuildEnd | undefined => {
    if ('pod' in seen && seen.pod) printed.read(seen.pod);
    missing = seen.kind === 'missing' ? missing + 1 : 0;
    if (seen.kind === 'waiting') tell(seen.detail);
    if (seen.kind === 'running') tell(`pod ${seen.pod.name} runs`);
    // One look that misses it is not evidence yet.
    return isEnd(seen) && (seen.kind !== 'missing' || missing > 1) ? seen : undefined;
  };
  for (let pauseMs = LOOK_MS; ; pauseMs = Math.min(pauseMs * 1.3, LONGEST_LOOK_MS)) {
    heartbeat();
    const seen = await lookAtBuild(builds, owned);
    await printed.serve(await audience.waiters());
    const end = typeof seen === 'string' ? tell(seen) : judge(seen);
    if (end !== undefined) {
      await printed.end();
      return end;
    }
    await sleep(missing > 0 ? timings.notFoundApartMs : pauseMs);
  }
}

const isEnd = (seen: BuildCondition): seen is BuildEnd =>
  seen.kind !== 'waiting' && seen.kind !== 'running' && seen.kind !== 'deleting';

function rarely(tell: (detail: string) => void): (detail: string) => undefined {
  let [told, toldAt] = ['', -Infinity];
  return (detail) => {
    if (detail === told || Date.now() - toldAt < TOLD_APART_MS) return undefined;
    [told, toldAt] = [detail, Date.now()];
    tell(detail);
    return undefined;
  };
}

/** Returns a sentence if the condition is not known, because the cluster does not answer or does not let this worker look. */
export async function lookAtBuild(builds: Builds, owned: OwnedBuild): Promise<BuildCondition | string> {
  try {
    return await builds.observe(owned);
  } catch (error) {
    log.warn(`looking at the build's Job: ${messageOf(error)}`);
    return `the cluster does not say how it is: ${messageOf(error)}`;
  }
}

/**
 * Deletes the Job. It is gone when it was missing twice, apart, and not before `notBefore`. A Job of another owner stays. A
 * cluster that refuses to look, removes nothing or never ends removing is asked for `giveBackMs`: a build holds no chips, its Job
 * has a deadline and is removed by the cluster itself, and the next job that wants the same image waits for this (docs/adr/0099).
 */
export async function deleteBuild(
  builds: Builds,
  owned: OwnedBuild,
  { notBefore, timings }: DeleteBuildInput,
): Promise<void> {
  let missing = 0;
  const { giveBackMs } = wholeTimings(timings);
  const giveUpAt = Math.max(activityInfo().scheduledTimestampMs, notBefore) + giveBackMs;
  for (let pauseMs = 300; ; pauseMs = Math.min(pauseMs * 2, 10_000)) {
    heartbeat();
    const seen = await lookBeforeRemoving(builds, owned);
    if (seen === 'foreign') return;
    missing = seen === 'missing' ? missing + 1 : 0;
    if (missing > 1 && Date.now() >= notBefore) return;
    if (seen === 'present') await remove(builds, owned);
    if (missing === 0 && Date.now() >= giveUpAt) {
      log.warn(
        `the build's Job may be left: it was not seen gone for ${Math.round(giveBackMs / 1000)} s, last seen ${seen}`,
      );
      return;
    }
    await sleep(missing > 0 ? timings.notFoundApartMs : pauseMs);
  }
}

async function lookBeforeRemoving(
  builds: Builds,
  owned: OwnedBuild,
): Promise<'missing' | 'present' | 'deleting' | 'foreign' | 'unknown'> {
  const seen = await lookAtBuild(builds, owned);
  if (typeof seen === 'string') return 'unknown';
  const { kind } = seen;
  return kind === 'missing' || kind === 'foreign' || kind === 'deleting' ? kind : 'present';
}

async function remove(builds: Builds, owned: OwnedBuild): Promise<void> {
  const answer = await builds.remove(owned);
  if (answer.kind === 'refused' || answer.kind === 'unanswered')
    log.warn(`deleting the build's Job: ${answer.message}`);
}
