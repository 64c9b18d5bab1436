/**
 * The activities as workflows call them, one group per way of waiting and retrying. Nothing else in workflows/ sets a timeout or
 * a retry. Each call has a summary of its purpose, as in `quotaMail('ask for a lease').sendLease(..)`. The Temporal Web UI's
 * timeline and `temporal workflow show` name the call by it.
 */
import {
  ActivityCancellationType,
  type ActivityInterfaceFor,
  type ActivityOptions,
  proxyActivities,
} from '@temporalio/workflow';
import { type MachinesActivities, MACHINES_TIMEOUT_MS } from '../contract/machines.js';
import type { AfterActivities } from '../contract/after.js';
import type { BuildActivities } from '../contract/build.js';
import type { GroupActivities } from '../contract/group.js';
import type { JanitorActivities } from '../contract/janitor.js';
import type { JobActivities } from '../contract/job-activities.js';
import { DELIVERY_LIMIT_MS, type NoticesActivities } from '../contract/notices.js';
import type { QuotaActivities } from '../contract/quota-activities.js';
import type { FiringActivities } from '../contract/schedule.js';
import type { SliceActivities } from '../contract/slice.js';
import { FailureType } from '../domain/errors.js';
import type { Timings } from '../domain/timings.js';

/** Characters of a summary; Temporal's documentation allows 200 bytes for a summary. */
const MOST_SUMMARY = 200;

/** Shortens the purpose of an activity or a timer to Temporal's limit: names in it may be long. */
export const inShort = (summary: string): string =>
  summary.length <= MOST_SUMMARY ? summary : `${summary.slice(0, MOST_SUMMARY - 2)}..`;

type Calls<A> = (summary: string) => ActivityInterfaceFor<A>;

const calls =
  <A>(options: ActivityOptions): Calls<A> =>
  (summary) =>
    proxyActivities<A>({ ...options, summary: inShort(summary) });

const NEVER_RETRIED = [FailureType.InvalidJob, FailureType.Refused, FailureType.Fenced];

/** Short calls that must succeed some day: to the store, to Temporal, and to providers for reading. */
const PATIENT = {
  startToCloseTimeout: '60s',
  retry: {
    initialInterval: '1s',
    backoffCoefficient: 2,
    maximumInterval: '30s',
    nonRetryableErrorTypes: NEVER_RETRIED,
  },
} as const;

export const looks = calls<Pick<SliceActivities, 'isJobOpen' | 'inspectSlice'>>(PATIENT);

/** A job does not wait for ever until a machine is put aside. It goes on, and may get the same machine again. */
export const aside = calls<Pick<SliceActivities, 'putAside'>>({
  ...PATIENT,
  retry: { ...PATIENT.retry, maximumAttempts: 20 },
});

/** A refusal must not stop the return of a lease, so only success ends these calls. */
const STUBBORN = { ...PATIENT, retry: { ...PATIENT.retry, nonRetryableErrorTypes: [] } };

/**
 * If the server is away for some ten seconds, the SDK gives up reporting a finished activity. That activity runs again only after
 * this timeout (seen under kill -9 of the server), and all grants of a pool wait for a lost `deliver`.
 */
const QUICKLY_AGAIN = { ...STUBBORN, startToCloseTimeout: '20s' } as const;

export const quotaMail = calls<Pick<QuotaActivities, 'sendLease'>>(QUICKLY_AGAIN);

/** One create call per activity: a retry here would hide an answer that the slice workflow has to know. */
export const createOnce = calls<Pick<SliceActivities, 'createSlice'>>({
  startToCloseTimeout: '60s',
  retry: { maximumAttempts: 1 },
});

export const watching = calls<Pick<SliceActivities, 'awaitSlice'> & Pick<JobActivities, 'holdSlices'>>({
  startToCloseTimeout: '30d',
  heartbeatTimeout: '60s',
  cancellationType: ActivityCancellationType.TRY_CANCEL,
  retry: STUBBORN.retry,
});

export const deletion = calls<Pick<SliceActivities, 'deleteUntilGone'>>({
  startToCloseTimeout: '30d',
  heartbeatTimeout: '60s',
  retry: STUBBORN.retry,
});

export const bookkeeping = calls<Pick<JobActivities, 'claimWorker'>>(PATIENT);

/** After a few tries the job says why it waits, and tries again. */
export const accepting = calls<Pick<JobActivities, 'acceptJob'>>({
  ...PATIENT,
  retry: { ...PATIENT.retry, maximumAttempts: 3 },
});

/** Reads the manifests of up to 10,000 members. After a few tries the job says why it waits, and tries again. */
export const inputsReading = calls<Pick<JobActivities, 'findInputs'>>({
  ...PATIENT,
  startToCloseTimeout: '15m',
  retry: { ...PATIENT.retry, maximumAttempts: 3 },
});

/** A store that is away must not hold chips for ever: the attempt's record is given up after a while, with a note. */
export const attemptRecord = calls<Pick<JobActivities, 'recordAttempt'>>({
  ...PATIENT,
  scheduleToCloseTimeout: '2m',
});
/** The answer is one line of the job's summary, so the job does not wait long for it. The job's chips were given back before. */
export const summing = calls<Pick<JobActivities, 'findDoneTwice'>>({
  scheduleToCloseTimeout: '60s',
  retry: { maximumAttempts: 2, nonRetryableErrorTypes: NEVER_RETRIED },
});

/** After a few tries the job says why it waits, and tries again. */
export const lastRecord = calls<Pick<JobActivities, 'recordOutcome'>>({
  ...STUBBORN,
  retry: { ...STUBBORN.retry, maximumAttempts: 3 },
});

/**
 * Bounded by the grace of the job and the time that a dead host may cost. Repeating it while hosts cannot be reached is
 * pointless.
 */
export function stopping(graceMs: number, heartbeatTimeoutMs: number): Calls<Pick<JobActivities, 'stopAttempt'>> {
  return calls({
    startToCloseTimeout: graceMs + 30_000,
    // If a worker dies in a long grace, another one stops the command.
    heartbeatTimeout: heartbeatTimeoutMs,
    retry: { maximumAttempts: 2 },
  });
}

/**
 * Runs a hook of a job that has its outcome, on any worker. The limit allows for the hook itself and for one lost worker: the
 * heartbeat timeout that shows the loss, and the next worker's connection.
 */
export function hooking(limitMs: number, heartbeatTimeoutMs: number): Calls<Pick<JobActivities, 'runHook'>> {
  return calls({
    scheduleToCloseTimeout: limitMs + heartbeatTimeoutMs + CONNECT_MS,
    heartbeatTimeout: heartbeatTimeoutMs,
    retry: { maximumAttempts: 3, nonRetryableErrorTypes: NEVER_RETRIED },
  });
}

/** Time for one attempt to connect: 20 s, after a pause of a second, with some to spare. */
const CONNECT_MS = 30_000;

/** Sent to the worker that runs the set-up. If that worker is gone, the set-up's heartbeat timeout shows that it is over. */
export function endingSetUp(taskQueue: string): Calls<Pick<JobActivities, 'stopSetUp'>> {
  return calls({ taskQueue, scheduleToCloseTimeout: '10s', retry: { maximumAttempts: 1 } });
}

/** A set-up that a person asked for, on any worker, with that worker's own connections to the hosts. */
export function settingUpAgain(heartbeatTimeoutMs: number): Calls<Pick<JobActivities, 'setUpAgain'>> {
  return calls({
    startToCloseTimeout: '6h',
    heartbeatTimeout: heartbeatTimeoutMs,
    cancellationType: ActivityCancellationType.TRY_CANCEL,
    retry: { maximumAttempts: 3, nonRetryableErrorTypes: NEVER_RETRIED },
  });
}

/** Activities on the queue of the one worker that holds the attempt's connections (docs/design.md, "One worker per attempt"). */
export function onClaimedWorker(
  taskQueue: string,
  timings: Timings,
): Calls<Pick<JobActivities, 'setUpHosts' | 'superviseAttempt'>> {
  return calls({
    taskQueue,
    scheduleToStartTimeout: timings.claimTimeoutMs,
    startToCloseTimeout: timings.superviseMs + 600_000,
    heartbeatTimeout: timings.heartbeatTimeoutMs,
    // On cancel the job stops the command itself, at once, and does not wait for this activity to hear of it.
    cancellationType: ActivityCancellationType.TRY_CANCEL,
    retry: { maximumAttempts: 1 },
  });
}

/** A member does not stay open until its group has the message. A group that hears nothing looks at its members itself. */
export const groupMail = calls<Pick<GroupActivities, 'tellGroup'>>({ ...PATIENT, scheduleToCloseTimeout: '5m' });

/**
 * Starts, cancels, stops or resumes 100 members, in a second or so. If its worker is killed meanwhile, the group stands still for this time, and
 * no cancel reaches its members. A second worker that does it too does no harm.
 */
export const groupWork = calls<Pick<GroupActivities, 'startMembers' | 'cancelMembers' | 'askMembers'>>({
  ...STUBBORN,
  startToCloseTimeout: '30s',
});

/**
 * Starts one job. If its worker is killed meanwhile, another one finds it started, or starts it, after this time. After a few tries the
 * firing says why it waits, and tries again.
 */
export const firingStart = calls<Pick<FiringActivities, 'startFiring'>>({
  ...STUBBORN,
  startToCloseTimeout: '30s',
  retry: { ...STUBBORN.retry, maximumAttempts: 3 },
});
export const firingWork = calls<Pick<FiringActivities, 'readRefusal'>>({ ...STUBBORN, startToCloseTimeout: '30s' });

/** Describes 100 workflows at most. */
export const othersReading = calls<AfterActivities>({ ...STUBBORN, startToCloseTimeout: '1m' });

/** Reads the rows of 10,000 members, in pages. */
export const groupReading = calls<Pick<GroupActivities, 'compareMembers'>>({ ...STUBBORN, startToCloseTimeout: '2m' });

export const pool =
  calls<Pick<QuotaActivities, 'deliver' | 'loadPool' | 'applyFiles' | 'writeHistory' | 'keepBook' | 'readBook'>>(
    QUICKLY_AGAIN,
  );
/** Slices stand idle meanwhile: without an answer they are given back. */
export const lineReading = calls<Pick<QuotaActivities, 'isWaitedFor'>>({
  scheduleToCloseTimeout: '30s',
  retry: { maximumAttempts: 3 },
});
/** These list thousands of jobs, or describe them one by one. */
export const poolReading = calls<Pick<QuotaActivities, 'readOpenWork' | 'findStrays'>>(STUBBORN);

export const janitorial = calls<JanitorActivities>({
  startToCloseTimeout: '5m',
  retry: { maximumAttempts: 3 },
});

export const buildMail = calls<Pick<BuildActivities, 'joinBuild' | 'findBuild'>>(PATIENT);

/** One create call per activity, like `createOnce`. */
export const createBuildOnce = calls<Pick<BuildActivities, 'createBuild'>>({
  startToCloseTimeout: '60s',
  retry: { maximumAttempts: 1 },
});

export function buildWatch(heartbeatTimeoutMs: number): Calls<Pick<BuildActivities, 'awaitBuild' | 'deleteBuild'>> {
  return calls({
    startToCloseTimeout: '30d',
    heartbeatTimeout: heartbeatTimeoutMs,
    cancellationType: ActivityCancellationType.TRY_CANCEL,
    retry: STUBBORN.retry,
  });
}

/** A person waits for the answer. */
export const ownMachines = calls<MachinesActivities>({
  startToCloseTimeout: MACHINES_TIMEOUT_MS,
  retry: { maximumAttempts: 2 },
});

/**
 * One delivery of an event. The pauses between retries grow, and a receiver may ask for longer ones. They cost no history.
 * @param leftMs time until it is given up
 */
export function delivery(leftMs: number, tries?: number): Calls<NoticesActivities> {
  return calls({
    startToCloseTimeout: '60s',
    scheduleToCloseTimeout: Math.min(Math.max(leftMs, 60_000), DELIVERY_LIMIT_MS),
    // A delivery that is under way when it is cancelled may take effect: its result is waited for.
    cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
    retry: {
      initialInterval: '5s',
      backoffCoefficient: 2,
      maximumInterval: '30m',
      ...(tries === undefined ? {} : { maximumAttempts: tries }),
      nonRetryableErrorTypes: NEVER_RETRIED,
    },
  });
}
