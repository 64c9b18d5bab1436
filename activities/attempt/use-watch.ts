import { log } from '@temporalio/activity';
import type { RunStatus } from '../../cloud/hosts/port.js';
import { attemptTroubleSignal } from '../../contract/job.js';
import type { AttemptInput } from '../../contract/job-activities.js';
import { messageOf } from '../../domain/errors.js';
import { askAgainMs } from '../../domain/silence.js';
import { afterLook, type IdleEnd, UNWATCHED, type UseOfHost } from '../../domain/workspace.js';
import { jobTeller, pause } from './activity-end.js';
import { type AttemptHost, placeOf } from './attempt-hosts.js';

interface UseWatchParts {
  readonly hosts: readonly AttemptHost[];
  /** Asks a host for its run's status, and goes on trying until the signal ends it. */
  readonly ask: (host: AttemptHost, signal: AbortSignal) => Promise<RunStatus>;
  readonly signal: AbortSignal;
}

/**
 * Waits until nobody has used the hosts of a workspace for its limit, and tells its job when that is near, or cannot be known
 * (domain/workspace.ts). Each look asks every host once, as its watcher saw it. Nothing is carried to another worker, because the
 * hosts know how long they have been idle.
 * @throws the reason of the signal, which is its only other end
 */
export async function untilIdle(
  input: Pick<AttemptInput, 'job' | 'attempt' | 'spec'>,
  idleSeconds: number,
  parts: UseWatchParts,
): Promise<IdleEnd> {
  const limitMs = idleSeconds * 1000;
  const tell = jobTeller(input, attemptTroubleSignal, 'whether it is used');
  let watch = UNWATCHED;
  for (let isFirst = true; ; isFirst = false) {
    await pause(askAgainMs(limitMs), parts.signal);
    const hosts = await Promise.all(parts.hosts.map((host) => useOf(host, parts)));
    const after = afterLook(watch, hosts, { limitMs, now: Date.now(), slices: input.spec.slices });
    if (after.end !== undefined) return after.end;
    const { told: what } = after.watch;
    // The first look of a worker takes back what an earlier worker told.
    if (isFirst || what !== watch.told)
      tell({ v: 1, attempt: input.attempt, of: 'use', ...(what !== undefined && { what }) });
    watch = after.watch;
  }
}

async function useOf(host: AttemptHost, { ask, signal }: UseWatchParts): Promise<UseOfHost> {
  const place = placeOf(host.target);
  const late = new AbortController();
  const until = AbortSignal.any([signal, late.signal]);
  try {
    // A connection that hangs does not notice the signal.
    const status = await Promise.race([ask(host, until), pause(ANSWER_MS, signal).then(noAnswer)]);
    const use = status.kind === 'running' ? status.use : undefined;
    return { ...place, use: use ?? { kind: 'unknown', why: 'its watcher does not run' } };
  } catch (error) {
    signal.throwIfAborted();
    log.info(`host ${host.number} cannot say whether it is used: ${messageOf(error)}`);
    return { ...place, use: { kind: 'unknown', why: 'it does not answer' } };
  } finally {
    late.abort(new Error('nobody waits for the answer any more'));
  }
}

function noAnswer(): never {
  throw new Error(`no answer within ${ANSWER_MS / 1000} s`);
}

/** Time limit for the answer of a host that can be reached. */
const ANSWER_MS = 20_000;
