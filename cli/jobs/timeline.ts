import type { ShownEvent } from '../../domain/job-events/event.js';
import { isDone, JobPhase } from '../../domain/job-state.js';
import type { SetUpRecord, SetUpStepRecord } from '../../domain/set-up-record.js';
import type { EpochMs } from '../../domain/units.js';
import { largest, smallest } from '../../domain/extremes.js';

/** A span of time: a phase, the set-up of a host, or a module in it. */
export interface Span {
  readonly startedAt: EpochMs;
  readonly endedAt: EpochMs;
}

export interface PhaseSpan extends Span {
  readonly phase: JobPhase;
  /** The reason for the phase, in the job's own words. */
  readonly why: string;
}

/** One module on one host. The wait for an unresponsive host is the module `connect`. */
export interface ModuleSpan extends Span {
  readonly module: string;
  readonly outcome: 'unchanged' | 'done' | 'failed' | 'running';
  readonly steps: readonly SetUpStepRecord[];
  /** Number of times that the most often retried step ran. */
  readonly tries: number;
}

export interface HostSpans extends Span {
  /** Position among all hosts of all slices, from 0. */
  readonly host: number;
  readonly modules: readonly ModuleSpan[];
  /** Milliseconds from the end of this host's set-up to the end of the last host's: the command starts on all hosts together. */
  readonly waitedMs: number;
}

export interface SetUpSpans extends Span {
  readonly attempt: number;
  readonly isOver: boolean;
  /** True if the set-up was abandoned before its end, by a restart or because a slice was lost. */
  readonly isCut: boolean;
  readonly hosts: readonly HostSpans[];
}

export interface Timeline extends Span {
  readonly phases: readonly PhaseSpan[];
  readonly setUps: readonly SetUpSpans[];
}

/** The recorded facts of a timeline. */
export interface TimelineFacts {
  readonly submittedAt: EpochMs;
  /** Absent: the job is open. */
  readonly endedAt?: EpochMs;
  /** Oldest first. */
  readonly events: readonly ShownEvent[];
  readonly setUps: readonly { readonly attempt: number; readonly record: SetUpRecord }[];
}

/** Builds the timeline of a job. Spans that are not over end at `now`. */
export function timelineOf({ submittedAt, endedAt, events, setUps }: TimelineFacts, now: EpochMs): Timeline {
  const end = endedAt ?? Math.max(now, submittedAt);
  const phases = phaseSpans(events, end);
  return {
    startedAt: submittedAt,
    endedAt: end,
    phases,
    setUps: setUps.map(({ attempt, record }, at) => {
      const next = setUps[at + 1]?.record.startedAt;
      return setUpSpans(attempt, record, { now: end, cutAt: record.endedAt ?? cutOf(record, phases, next) ?? endedAt });
    }),
  };
}

/** The time when a set-up without a recorded end was abandoned: at the next phase of the job, or at the next set-up. */
function cutOf(
  { startedAt }: SetUpRecord,
  phases: readonly PhaseSpan[],
  next: EpochMs | undefined,
): EpochMs | undefined {
  const left = phases.find((span) => span.startedAt >= startedAt && span.phase !== JobPhase.SettingUp)?.startedAt;
  return left === undefined ? next : Math.min(left, next ?? left);
}

const PHASES: readonly JobPhase[] = Object.values(JobPhase);

/** Spans of the phases. An event with a phase begins it, or gives it another reason. A span lasts until the next such event. */
function phaseSpans(events: readonly ShownEvent[], end: EpochMs): readonly PhaseSpan[] {
  const all = events.flatMap((event) => {
    const phase = phaseOf(event);
    return phase === undefined ? [] : [{ phase, why: event.text.slice(phase.length + 2), startedAt: event.at }];
  });
  const over = all.findLast(({ phase }) => isDone(phase))?.startedAt ?? end;
  const moves = all.filter(({ phase }) => !isDone(phase));
  return moves
    .map((move, at) => ({ ...move, endedAt: moves[at + 1]?.startedAt ?? over }))
    .filter(({ startedAt, endedAt }) => endedAt >= startedAt);
}

/** The phase of an event. Events of versions without kinds tell it only by their sentence. */
function phaseOf({ kind, phase, text }: ShownEvent): JobPhase | undefined {
  if (kind !== undefined && kind !== 'note') return phase;
  return PHASES.find((known) => text === known || text.startsWith(isDone(known) ? known : `${known}: `));
}

function setUpSpans(
  attempt: number,
  record: SetUpRecord,
  { now, cutAt }: { readonly now: EpochMs; readonly cutAt: EpochMs | undefined },
): SetUpSpans {
  const endedAt = cutAt ?? now;
  const numbers = [...new Set(record.steps.map(({ host }) => host))].toSorted((a, b) => a - b);
  const hosts = numbers.map((host) => hostSpans(host, record, endedAt));
  const lastEnd = largest(
    hosts.map((each) => each.endedAt),
    record.startedAt,
  );
  return {
    attempt,
    isOver: cutAt !== undefined,
    isCut: record.endedAt === undefined && cutAt !== undefined,
    startedAt: record.startedAt,
    endedAt,
    hosts: hosts.map((each) => ({ ...each, waitedMs: lastEnd - each.endedAt })),
  };
}

function hostSpans(
  host: number,
  { steps, modules, startedAt }: SetUpRecord,
  end: EpochMs,
): Omit<HostSpans, 'waitedMs'> {
  const own = steps.filter((step) => step.host === host);
  const named = [...new Set(own.map(({ module }) => module))];
  const spans = named
    .map((module) =>
      moduleSpan(
        module,
        own.filter((step) => step.module === module),
        end,
      ),
    )
    .toSorted((a, b) => a.startedAt - b.startedAt || modules.indexOf(a.module) - modules.indexOf(b.module));
  return {
    host,
    modules: spans,
    startedAt,
    endedAt: largest(
      spans.map(({ endedAt }) => endedAt),
      startedAt,
    ),
  };
}

function moduleSpan(module: string, steps: readonly SetUpStepRecord[], end: EpochMs): ModuleSpan {
  const isRunning = steps.some(({ endedAt }) => endedAt === undefined);
  const outcome = steps.some((step) => step.outcome === 'failed')
    ? 'failed'
    : steps.every((step) => step.outcome === 'unchanged')
      ? 'unchanged'
      : 'done';
  return {
    module,
    startedAt: smallest(steps.map(({ startedAt, firstStartedAt }) => firstStartedAt ?? startedAt)),
    endedAt: largest(steps.map(({ endedAt }) => endedAt ?? end)),
    outcome: isRunning ? 'running' : outcome,
    steps,
    tries: largest(steps.map(({ tries }) => tries)),
  };
}
