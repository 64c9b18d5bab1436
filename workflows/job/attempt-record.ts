import { isCancellation } from '@temporalio/workflow';
import type { AttemptEnd, AttemptInput } from '../../contract/job-activities.js';
import type { UnreachableHost } from '../../contract/job.js';
import type { JobSpec } from '../../domain/job-spec.js';
import type { Evidence } from '../../domain/recovery/evidence.js';
import type { Facts } from '../../domain/recovery/facts.js';
import type { HostPlace } from '../../domain/recovery/host-ends.js';
import { count, type EpochMs } from '../../domain/units.js';
import { unreadyText } from '../../domain/unready-hosts.js';
import { attemptRecord } from '../activity-options.js';
import { durationText, utc } from '../markdown.js';
import type { AttemptResult } from './attempt.js';
import { reasonOf } from './claimed-worker.js';
import { asksForRestart } from './end-fact.js';
import type { JobStory } from './story.js';

export interface AttemptFacts {
  readonly input: AttemptInput;
  readonly startedAt: EpochMs;
  /** Its end; absent: it runs. */
  readonly end?: string;
  readonly exitCode?: number;
  /** Text of its job file, if it differs from that of the attempt before. */
  readonly source?: string;
  readonly evidence?: Evidence | undefined;
  /** Facts that the job decides by. */
  readonly ended?: Facts<'attempt ended'> | undefined;
}

/** Stores where an attempt ran and how it ended. If the store does not take the record, only the job's story says so. */
export async function recordAttempt(
  { input, startedAt, end, exitCode, source, evidence, ended }: AttemptFacts,
  story: JobStory,
): Promise<void> {
  const { job, attempt, slices } = input;
  const record = {
    attempt,
    zone: slices[0]?.ref.zone ?? '',
    nodes: slices.map(({ ref, uid, hosts }) => ({ name: ref.name, uid, hosts })),
    startedAt,
    ...(end === undefined ? {} : { end, endedAt: Date.now() }),
    ...(evidence && { evidence }),
    ...(ended && { ended }),
    ...(exitCode === undefined ? {} : { exitCode }),
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

// Words --------------------------------------------------------------------------------------------------------------

export const watchSummary = (input: AttemptInput): string =>
  input.spec.command === undefined
    ? `hold the slices, attempt ${input.attempt} on ${hostsOf(input)}`
    : `run and watch the command, attempt ${input.attempt} on ${hostsOf(input)}`;

/** `4 hosts of jc-train-7f3k-g1`. */
export const hostsOf = (input: AttemptInput): string =>
  `${hostCount(input)} of ${input.slices.map(({ ref }) => ref.name).join(', ')}`;

/** `4 hosts`. */
export const hostCount = ({ slices }: AttemptInput): string =>
  count(
    slices.reduce((sum, { hosts }) => sum + hosts.length, 0),
    'host',
  );

export const placeName = ({ slice, host }: HostPlace, slices: number): string =>
  slices > 1 ? `host ${host} of slice ${slice}` : `host ${host}`;

/**
 * `its command printed nothing for 30 min on any of its hosts (timeouts.no_output); host 1 was silent first, since 2026-11-22
 * 07:02:10 UTC; the last output was host 2's, at 2026-11-22 07:14:20 UTC`.
 */
export function silenceText(
  { last, first, stacks }: Extract<AttemptEnd, { kind: 'no-output' }>,
  { timeouts, slices }: Pick<JobSpec, 'timeouts' | 'slices'>,
): string {
  const sign = { output: 'the last output was', start: 'the last to begin was', end: 'the last to end was' }[last.what];
  const whose = `${placeName(last, slices)}${last.what === 'output' ? "'s" : ''}`;
  const silence = `its command printed nothing for ${durationText(timeouts?.noOutput ?? 0)} on any of its hosts`;
  return `${silence} (timeouts.no_output); ${firstSilentText(first, slices)}${sign} ${whose}, at ${utc(last.at)}${stacksText(stacks)}`;
}

/** `; where its processes stood is stored of 4 hosts (jobctl stacks)`. */
const stacksText = (hosts = 0): string =>
  hosts === 0 ? '' : `; where its processes stood is stored of ${count(hosts, 'host')} (jobctl stacks)`;

/** `host 1 was silent first, since 2026-11-22 07:02:10 UTC; `: a command that hangs often hangs there. */
function firstSilentText(first: Extract<AttemptEnd, { kind: 'no-output' }>['first'], slices: number): string {
  if (first === undefined) return '';
  const since = `since ${first.hasPrinted ? '' : 'its start, '}${utc(first.at)}`;
  return `${placeName(first, slices)} was silent first, ${since}; `;
}

/** `host 2 has not answered since 2026-11-22 07:14:20 UTC; a slice is kept until ..`. */
export function unreachableText(hosts: readonly UnreachableHost[], { slices }: Pick<JobSpec, 'slices'>): string {
  const since = utc(Math.min(...hosts.map((host) => host.since)));
  const named = hosts.slice(0, MOST_NAMED).map((host) => placeName(host, slices));
  const others = hosts.length > MOST_NAMED ? ` and ${hosts.length - MOST_NAMED} more` : '';
  const have = hosts.length === 1 ? 'has' : 'have';
  return `${named.join(', ')}${others} ${have} not answered since ${since}; a slice is kept until there is proof that a host is dead, or timeouts.unreachable is over`;
}

const MOST_NAMED = 4;

/** The end of an attempt: one sentence, with the place and the exit code of the failure if there are any. */
export interface EndText {
  readonly text: string;
  readonly at?: { readonly slice: number; readonly host?: number };
  readonly exitCode?: number;
}

export function endText(result: AttemptResult, { slices, timeouts, command }: JobSpec): EndText {
  switch (result.kind) {
    case 'slices-lost': {
      const [first] = result.slices;
      const how = first?.cause === 'preempted' ? 'preempted by the provider' : 'lost';
      return { text: `slice ${first?.index ?? 0} was ${how}: ${first?.message ?? ''}` };
    }
    case 'ended-before':
      return { text: 'it has ended before, says the store; Temporal was set back to an earlier time' };
    case 'exited': {
      const { code, signal, at, killedForMemory } = result;
      if (code === 0 && result.isStopped)
        return { text: `the command ended with code 0 on ${placeName(at, slices)} because it was told to end` };
      const by = signal === undefined ? '' : ` (${signal})`;
      const memory =
        killedForMemory === undefined
          ? ''
          : `, where the kernel killed ${killedForMemory === 1 ? 'a process' : `${killedForMemory} processes`} for want of memory (the limit of its container)`;
      const asks = asksForRestart(code, command) ? ', which asks for another start (command.restart_on)' : '';
      return {
        text: `the command exited with code ${code}${by} on ${placeName(at, slices)}${memory}${asks}`,
        at,
        exitCode: code,
      };
    }
    case 'timed-out': {
      const allowed = durationText(timeouts?.run ?? 0);
      return { text: `the command ran for ${allowed}, as long as timeouts.run allows` };
    }
    case 'no-output':
      return { text: silenceText(result, { timeouts, slices } as JobSpec) };
    case 'set-up-timed-out': {
      const slow = result.unready === undefined ? '' : `: ${unreadyText(result.unready, slices)}`;
      const allowed = durationText(timeouts?.setup ?? 0);
      return { text: `its hosts were not set up within ${allowed} (timeouts.setup)${slow}` };
    }
    case 'run-lost':
      return { text: `${placeName(result.at, slices)}: ${result.message}` };
    case 'module-failed': {
      const { at, module, message } = result;
      return { text: `setup of ${module} failed on ${placeName(at, slices)}: ${message}`, at };
    }
    case 'host-bad': {
      const { at, module, message } = result;
      return { text: `setup of ${module} did not work on ${placeName(at, slices)}: ${message}` };
    }
    case 'worker-failed':
      return { text: result.message };
    case 'unwatched':
    case 'revoked':
    case 'stopped':
    case 'requeued':
    case 'restarted':
      return { text: result.kind };
  }
}
