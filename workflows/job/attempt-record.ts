import { isCancellation } from '@temporalio/workflow';
import type { AttemptEnd, AttemptInput } from '../../contract/job-activities.js';
import type { UnreachableHost } from '../../contract/job.js';
import { placeIn } from '../../domain/job-events/causes.js';
import type { Cause, CauseOf, Told } from '../../domain/job-events/kinds.js';
import type { JobSpec } from '../../domain/job-spec.js';
import type { Evidence } from '../../domain/recovery/evidence.js';
import { type Facts, type Fact, REFUSALS } from '../../domain/recovery/facts.js';
import { count, type EpochMs } from '../../domain/units.js';
import { MOST_ANSWER } from '../../domain/lease.js';
import type { RefusalScope } from '../../domain/slice.js';
import type { IdleEnd } from '../../domain/workspace.js';
import { boundedLine } from '../../domain/outside-text.js';
import { attemptRecord } from '../activity-options.js';
import type { AttemptResult } from './attempt.js';
import { reasonOf } from './claimed-worker.js';
import type { JobStory } from './story.js';
import type { SliceLoss } from './slice-members.js';

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
  /** Chip-milliseconds of its command; of an attempt that has ended. */
  readonly ranChipMs?: number;
}

/** Stores where an attempt ran and how it ended. If the store does not take the record, only the job's story says so. */
export async function recordAttempt(
  { input, startedAt, end, exitCode, source, evidence, ended, ranChipMs }: AttemptFacts,
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
    ...(ranChipMs !== undefined && { ranChipMs }),
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
    story.note({ kind: 'record-not-stored', facts: { attempt, reason: reasonOf(error) } });
  }
}

// Words --------------------------------------------------------------------------------------------------------------

export const watchSummary = (input: AttemptInput): string =>
  input.spec.command === undefined
    ? `hold the slices, attempt ${input.attempt} on ${hostsOf(input)}`
    : `run and watch the command, attempt ${input.attempt} on ${hostsOf(input)}`;

/** `4 hosts of jc-train-7f3k-g1`. */
export const hostsOf = (input: AttemptInput): string =>
  `${count(hostCount(input), 'host')} of ${input.slices.map(({ ref }) => ref.name).join(', ')}`;

export const hostCount = ({ slices }: AttemptInput): number => slices.reduce((sum, { hosts }) => sum + hosts.length, 0);

/** The cause of an end by `timeouts.no_output`. */
export function silenceOf(
  { last, first, stacks }: Extract<AttemptEnd, { kind: 'no-output' }>,
  { timeouts, slices }: Pick<JobSpec, 'timeouts' | 'slices'>,
): CauseOf<'no-output'> {
  const facts = {
    seconds: timeouts?.noOutput ?? 0,
    last: { ...placeIn(last, slices), what: last.what, at: last.at },
    ...(first && { first: { ...placeIn(first, slices), at: first.at, hasPrinted: first.hasPrinted } }),
    ...(stacks !== undefined && { stacks }),
  };
  return { kind: 'no-output', facts };
}

/** The cause of the end of a workspace that nobody uses. */
export function idlenessOf(
  { last, since }: IdleEnd,
  { workspace, slices }: Pick<JobSpec, 'workspace' | 'slices'>,
): CauseOf<'given-back'> {
  const use = { ...placeIn(last, slices), what: last.what, until: since };
  return { kind: 'given-back', facts: { by: 'idle', seconds: workspace?.idleSeconds ?? 0, last: use } };
}

/** The facts about hosts that do not answer; `isOver` if all answer again. */
export function unreachableFacts(
  all: readonly UnreachableHost[],
  { slices }: Pick<JobSpec, 'slices'>,
): Extract<Told, { kind: 'hosts-unreachable' }>['facts'] {
  if (all.length === 0) return { isOver: true };
  const others = all.length - MOST_NAMED;
  return {
    hosts: all.slice(0, MOST_NAMED).map((at) => placeIn(at, slices)),
    ...(others > 0 && { others }),
    since: Math.min(...all.map(({ since }) => since)),
  };
}

const MOST_NAMED = 4;

/** The end of an attempt, with the place and the exit code of the failure if there are any. */
export interface EndCause {
  readonly cause: Cause;
  readonly at?: { readonly slice: number; readonly host?: number };
  readonly exitCode?: number;
}

export function endCause(result: AttemptResult, spec: JobSpec): EndCause {
  const { slices, timeouts, command } = spec;
  switch (result.kind) {
    case 'slices-lost': {
      const { index: slice = 0, message = '', cause } = result.slices[0] ?? {};
      return { cause: { kind: cause === 'preempted' ? 'preempted' : 'slice-lost', facts: { slice, message } } };
    }
    case 'ended-before':
      return { cause: { kind: 'ended-before', facts: {} } };
    case 'exited': {
      const { code, signal, at, isStopped, killedForMemory } = result;
      const facts = {
        ...placeIn(at, slices),
        code,
        ...(signal !== undefined && { signal }),
        ...(isStopped && { isStopped }),
        ...(killedForMemory !== undefined && { killedForMemory }),
        ...(asksForRestart(code, command) && { isRestartCode: true as const }),
      };
      const cause = { kind: 'exited', facts } as const;
      return code === 0 && isStopped ? { cause } : { cause, at, exitCode: code };
    }
    case 'run-duration-over':
      return { cause: { kind: 'run-duration-over', facts: { endsAt: result.endsAt } } };
    case 'given-back': {
      const { kind, ...facts } = result;
      return { cause: { kind, facts } };
    }
    case 'timed-out':
      return { cause: { kind: 'run-timed-out', facts: { seconds: timeouts?.run ?? 0 } } };
    case 'no-output':
      return { cause: silenceOf(result, spec) };
    case 'set-up-timed-out': {
      const { unready } = result;
      const facts = { seconds: timeouts?.setup ?? 0, ...(unready && { unready }), slices };
      return { cause: { kind: 'set-up-timed-out', facts } };
    }
    case 'run-lost':
      return { cause: { kind: 'run-lost', facts: { ...placeIn(result.at, slices), message: result.message } } };
    case 'module-failed':
    case 'host-bad': {
      const { kind, at, module, message } = result;
      const cause = { kind, facts: { ...placeIn(at, slices), module, message } };
      return kind === 'module-failed' ? { cause, at } : { cause };
    }
    case 'worker-failed':
      return { cause: { kind: 'worker-failed', facts: { message: result.message } } };
    case 'unwatched':
    case 'revoked':
    case 'stopped':
    case 'requeued':
    case 'restarted':
      return { cause: { kind: 'interrupted', facts: { by: result.kind } } };
  }
}

const asksForRestart = (code: number, command: JobSpec['command']): boolean =>
  command?.restartOn?.includes(code) ?? false;

/** The end of an attempt, as a fact for `decide`. If several slices are lost, the first one counts. */
export function endFact(
  result: AttemptResult,
  { command }: Pick<JobSpec, 'command'>,
  isMachineAtFault = false,
): Fact<'attempt ended', 'end'> {
  switch (result.kind) {
    case 'unwatched':
      return 'unwatched';
    case 'revoked':
    case 'stopped':
    case 'requeued':
    case 'restarted':
      return 'interrupted';
    case 'slices-lost':
      return result.slices[0]?.cause === 'preempted' ? 'slices preempted' : 'slices failed';
    case 'ended-before':
      return 'ended before';
    case 'exited':
      // With `isStopped`, jobctl told the command to end, but after a reset this job does not know why. Code 0 is then the answer
      // to that stop, not an end that the command chose.
      if (result.code === 0) return result.isStopped ? 'run lost' : 'code 0';
      if (asksForRestart(result.code, command)) return 'restart code';
      return isMachineAtFault ? 'machine at fault' : 'another code';
    case 'run-duration-over':
      return 'run duration over';
    case 'given-back':
      return 'given back';
    case 'timed-out':
      return 'run time over';
    case 'no-output':
      return 'silent';
    case 'set-up-timed-out':
      return 'set-up time over';
    case 'run-lost':
      return 'run lost';
    case 'module-failed':
      return 'module failed';
    case 'host-bad':
      return 'host bad';
    case 'worker-failed':
      return result.isPermanent ? 'module failed' : 'worker failed';
  }
}

/**
 * A loss as a fact for `decide`.
 * @param zones number of zones that the job names
 * @param ready number of its slices that are ready
 */
export function lossFact(loss: SliceLoss, zones: number, ready: number): Fact<'not ready', 'because'> {
  switch (loss.cause) {
    case 'refused':
      return REFUSALS[scopeFor(loss.scope, zones, ready)];
    case 'lease':
      return 'lease lost';
    default:
      return loss.cause;
  }
}

/**
 * Judges a missing right. If the job names one zone, the right counts as missing in the installation, since no other zone could
 * take the job, and ready slices stay. If it names several zones, the others are asked, even if one zone's message speaks of all.
 * A gang that is partly ready does not give its slices up for such a message.
 */
function scopeFor(scope: RefusalScope, zones: number, ready: number): RefusalScope {
  if (scope === 'permission') return zones === 1 ? 'installation' : scope;
  if (scope === 'installation') return zones > 1 && ready === 0 ? 'permission' : scope;
  return scope;
}

interface LossPlace {
  /** Number of slices that were requested together. */
  readonly requested: number | undefined;
  readonly zone: string;
  /** Provider of its machines, such as `Cloud TPU`. */
  readonly provider: string;
}

/** The loss as a cause. Each of the job's events contains it, so the provider's own text is shortened. */
export function lossCause(loss: SliceLoss, { requested, zone, provider }: LossPlace): Cause {
  const { index: slice, message: whole } = loss;
  const message = whole.length <= MOST_ANSWER ? whole : `${boundedLine(whole, MOST_ANSWER)} ..`;
  const place = { slice, ...(requested !== undefined && { requested }) };
  const facts = { ...place, message };
  switch (loss.cause) {
    case 'preempted':
      return { kind: 'preempted', facts };
    case 'failed':
      return { kind: 'slice-failed', facts };
    case 'late':
      return { kind: 'slice-late', facts: { ...facts, zone } };
    case 'lease':
      return { kind: 'lease-lost', facts: { message } };
    case 'refused':
      if ('isByPool' in loss) return { kind: 'no-room', facts: { ...place, zone } };
      return { kind: 'refused', facts: { ...facts, zone, provider, scope: loss.scope } };
  }
}
