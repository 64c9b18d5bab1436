import { workflowInfo } from '@temporalio/workflow';
import type { HostLogin, JobInput, JobView, ZoneAnswer, ZoneTurn } from '../../contract/job.js';
import { shownEvent } from '../../domain/job-events/event.js';
import { builtText } from '../../domain/build/build.js';
import { bindJobName, resolveJob } from '../../domain/job-file/resolve.js';
import { JobPhase } from '../../domain/job-state.js';
import type { Waiting } from './accept.js';
import type { Attempt } from './attempt.js';
import type { JobFacts } from './details.js';
import type { Gang } from './gang.js';
import type { JobFile } from './job-file.js';
import type { LeaseHold } from './lease.js';
import type { Recovery } from './recovery.js';
import { personOf, type Request, type Requests } from './requests.js';
import type { Slices } from './slices.js';
import type { JobCarry } from './state.js';
import { chainRunId, type JobStory } from './story.js';
import type { ZoneAnswers } from './zones.js';
import type { JobUsage } from './usage.js';
import type { Wait } from './wait.js';
import type { ZoneRace } from './zone-race.js';
import { inTime } from './hedge.js';

/** The parts of a job that people look at. */
export interface ShownParts {
  readonly carried: JobCarry;
  readonly file: JobFile;
  readonly story: JobStory;
  readonly requests: Requests;
  readonly slices: Slices;
  readonly attempt: Attempt;
  readonly recovery: Recovery;
  readonly lease: LeaseHold;
  readonly gang: Gang;
  readonly race: ZoneRace;
  readonly wait: Wait;
  readonly answers: ZoneAnswers;
  readonly usage: JobUsage;
}

/** The answer of the query `describe`. */
export function jobView(parts: ShownParts): JobView {
  const { carried, file, story, requests, slices, attempt, recovery, lease, wait, answers } = parts;
  const { settings, submittedAt } = carried;
  const request = requests.current;
  const { granted } = lease;
  // Read from the job file each time.
  const { build } = file;
  const { endsAt: waitsUntil } = wait;
  const nextZone = nextZoneOf(parts);
  return {
    id: workflowInfo().workflowId,
    run: chainRunId(),
    spec: file.spec,
    ...(build && { image: builtText(build) }),
    project: settings.project,
    ...(settings.label === undefined ? {} : { label: settings.label }),
    submittedAt,
    attempt: attempt.number,
    preemptions: recovery.spent.preemption,
    ...recovery.takenByQuota,
    ...recovery.askedForByCommand,
    slices: slices.views,
    ...rivalsOf(slices),
    ...(answers.all.length > 0 && {
      answers: answers.all.map((answer) => ({ ...answer, ...turnOf(answer, nextZone, parts) })),
    }),
    ...(nextZone && { nextZone }),
    ...(waitsUntil !== undefined && { waitsUntil }),
    ...(granted === undefined ? {} : { granted }),
    usage: parts.usage.shown,
    login: loginOf(settings, slices),
    ...(request === undefined ? {} : { request: requestView(request) }),
    ...story.view(),
  };
}

/** Hosts of lent slices let in the key of the job that lends them. */
function loginOf({ loginUser: user, publicKey }: JobCarry['settings'], { landlord }: Slices): HostLogin {
  return landlord === undefined ? { user, publicKey } : { user, publicKey: landlord.publicKey, landlord: landlord.job };
}

type NextZone = JobView['nextZone'];

/** The zone that is asked next, or undefined if `timeouts.queue` ends the job before. */
function nextZoneOf({ story, wait, race }: Pick<ShownParts, 'story' | 'wait' | 'race'>): NextZone {
  if (story.phase !== JobPhase.Provisioning) return undefined;
  return inTime(wait.pausesFor ?? race.nextZone, wait.endsAt);
}

/** Says when the zone is asked again. If no next zone is known, that is after the zone that is asked now has refused. */
function turnOf(
  { zone }: ZoneAnswer,
  next: NextZone,
  { story, wait, race, gang }: Pick<ShownParts, 'story' | 'wait' | 'race' | 'gang'>,
): ZoneTurn {
  if (story.phase !== JobPhase.Provisioning) return {};
  if (zone === next?.zone) return { againAt: next.at };
  if (wait.pausesFor === undefined && race.isAsked(zone)) return { isAsked: true };
  const after = next?.zone ?? gang.zone;
  return after === zone ? {} : { againAfter: after };
}

function rivalsOf({ rivals: { views } }: Pick<Slices, 'rivals'>): Pick<JobView, 'rivals'> {
  return views.length === 0 ? {} : { rivals: views };
}

const requestView = ({ kind, ...asker }: Request): NonNullable<JobView['request']> => ({ kind, ...personOf(asker) });

/**
 * The answer of `describe` before a worker has accepted the job.
 * @throws Error for a job file that is wrong, which fails the query alone
 */
export function viewBeforeAccepted(input: JobInput, waiting: Waiting): JobView {
  const { workflowId, startTime } = workflowInfo();
  const resolved = resolveJob(input.job);
  if (!resolved.ok) throw new Error(`job ${workflowId} is being checked: its job file is wrong`);
  const submittedAt = startTime.getTime();
  return {
    id: workflowId,
    spec: bindJobName(resolved.spec, workflowId),
    project: resolved.spec.project ?? '',
    phase: JobPhase.Queued,
    phaseSince: submittedAt,
    why: waiting.why ?? 'waits for a worker that checks it',
    submittedAt,
    attempt: 0,
    preemptions: 0,
    slices: [],
    events: [shownEvent({ at: submittedAt, kind: 'submitted', facts: {} })],
  };
}

/** Facts from which Current Details are made. */
export function jobFacts({ carried, file, story, slices, attempt, recovery, wait }: ShownParts): JobFacts {
  const { endsAt: waitsUntil } = wait;
  return {
    id: workflowInfo().workflowId,
    spec: file.spec,
    settings: carried.settings,
    attempt: attempt.number,
    spent: recovery.spent,
    ...recovery.takenByQuota,
    slices: slices.views,
    ...rivalsOf(slices),
    ...(story.setback === undefined ? {} : { setback: story.setback }),
    ...(waitsUntil !== undefined && { waitsUntil }),
    ...story.view(),
  };
}
