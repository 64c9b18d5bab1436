import { CancellationScope, condition, sleep } from '@temporalio/workflow';
import { type Cause, type CauseOf, toldText } from '../../domain/job-events/kinds.js';
import { JobPhase } from '../../domain/job-state.js';
import type { Fact } from '../../domain/recovery/facts.js';
import type { StopNotice } from '../../domain/early-end.js';
import type { EpochMs } from '../../domain/units.js';
import type { Preemption } from '../../quota/quota-config.js';
import { type Request, type Requests, requestCause } from './requests.js';

/** A pool's order to return a lease (docs/adr/0021). Plain JSON. */
export interface Revocation {
  /** One sentence of the pool: for whom, or why. */
  readonly reason: string;
  readonly cause: Preemption['cause'];
}

/** The cause for a revocation, used in the job's story, in its row, and as the reason for deleting its slices. */
export function revocationCause({ cause, reason }: Revocation): Cause {
  switch (cause) {
    case 'quota':
      return { kind: 'preempted-by-quota', facts: { reason } };
    case 'asking':
    case 'tier':
      return { kind: 'lease-returned', facts: { reason } };
    case 'parked':
      return { kind: 'lease-taken', facts: { reason } };
  }
}

/** The notice that the job's command finds in `$JOBCTL_NOTICE_FILE`. */
export const revocationNotice = ({ reason }: Revocation): StopNotice => ({ cause: 'quota', reason });

/** Whether it counts as a preemption by quota. A job that never got its chips has nothing to lose. */
export const isPreemptionByQuota = ({ cause }: Revocation): boolean => cause !== 'asking' && cause !== 'tier';

/** The reason why current work on the slices has to end early. */
export interface Interruption {
  readonly by: Fact<'command interrupted', 'by'>;
  /** Its name in the record of the attempt and in `JOBCTL_PREVIOUS_ATTEMPT_END`. */
  readonly end: InterruptedEnd;
  /** Shown while the command ends. */
  readonly phase: JobPhase;
  /** Does not mention the command's grace. */
  readonly why: Cause;
  readonly notice: StopNotice;
}
export type InterruptedEnd =
  | 'revoked'
  | 'stopped'
  | 'requeued'
  | 'restarted'
  | 'timed-out'
  | 'set-up-timed-out'
  | 'run-duration-over'
  | 'no-output'
  | 'given-back';

/** Interruptions of a job that the pool and people ask for at present. */
export class Interruptions {
  readonly #lease: { readonly revocation: Revocation | undefined };
  readonly #requests: Requests;

  constructor(lease: { readonly revocation: Revocation | undefined }, requests: Requests) {
    this.#lease = lease;
    this.#requests = requests;
  }

  /** The pool comes first: a person cannot keep a lease that it takes back. */
  get current(): Interruption | undefined {
    const { revocation } = this.#lease;
    if (revocation) return byPool(revocation);
    const request = this.#requests.current;
    return request && byPerson(request);
  }

  /** Whether the current work is no longer wanted. */
  readonly isUnwanted = (): boolean => this.#lease.revocation !== undefined || this.#requests.current !== undefined;

  /** Resolves with the interruption as it was first seen. It may have been taken back since. A cancel does not end the wait. */
  met(): Promise<Met> {
    let met: Interruption | undefined;
    const interrupted = (): Promise<void> => condition(() => (met = this.current) !== undefined);
    return CancellationScope.nonCancellable(interrupted).then(() => ({
      kind: 'interrupted',
      interruption: met as Interruption,
    }));
  }
}

export interface Met {
  readonly kind: 'interrupted';
  readonly interruption: Interruption;
}

const byPool = (revocation: Revocation): Interruption => ({
  by: 'pool',
  end: 'revoked',
  phase: JobPhase.Evicting,
  why: revocationCause(revocation),
  notice: revocationNotice(revocation),
});

function byPerson(request: Request): Interruption {
  const why = requestCause(request);
  const person = { by: 'person', why, notice: { cause: 'stop', reason: toldText(why) } } as const;
  switch (request.kind) {
    case 'stop':
      return { ...person, end: 'stopped', phase: request.isRelease ? JobPhase.Evicting : JobPhase.Running };
    case 'requeue':
      return { ...person, end: 'requeued', phase: JobPhase.Evicting };
    case 'restart':
      return { ...person, end: 'restarted', phase: JobPhase.Running };
  }
}

/** The interruption after `timeouts.no_output`. @param why says how long the command was silent, and which host was heard last */
export const bySilence = (why: Cause): Interruption => ({
  by: 'silence',
  end: 'no-output',
  phase: JobPhase.Running,
  why,
  notice: { cause: 'attempt', reason: toldText(why) },
});

/** The interruption of a workspace that is given back. Its files are stored, as at the end of any command. */
export const byGivingBack = (why: CauseOf<'given-back'>): Interruption => ({
  by: 'clock',
  end: 'given-back',
  phase: JobPhase.Running,
  why,
  notice: { cause: 'cancel', reason: toldText(why) },
});

// Clocks -------------------------------------------------------------------------------------------------------------

/** The time that a part of an attempt has. Without a limit there is no timer. */
export interface Clock {
  /** Resolves when the time is over. One element, or empty without a limit. */
  readonly late: readonly Promise<Met>[];
  stop(): void;
}

/** `timeouts.run` of a workspace, over all of its attempts. @param lastedMs time since its first start */
export function workspaceClock(seconds: number | undefined, lastedMs: number): Clock {
  if (seconds === undefined) return NO_CLOCK;
  const over = byGivingBack({ kind: 'given-back', facts: { by: 'run', seconds } });
  return ringing(seconds * 1000 - lastedMs, 'timeouts.run', over);
}

/** `timeouts.run` of an attempt, over all of its supervisions. @param lastedMs how long the attempt has been under way */
export function runClock(seconds: number | undefined, lastedMs: number): Clock {
  const why = { kind: 'run-late', facts: { seconds: seconds ?? 0 } } as const;
  return clock(seconds, lastedMs, { end: 'timed-out', phase: JobPhase.Running, why });
}

/** `timeouts.setup` of an attempt, over all workers that set its hosts up. */
export function setUpClock(seconds: number | undefined): Clock {
  const why = { kind: 'set-up-late', facts: { seconds: seconds ?? 0 } } as const;
  return clock(seconds, 0, { end: 'set-up-timed-out', phase: JobPhase.SettingUp, why });
}

/**
 * A clock for slices that were bought for a time. It rings before their end, so that their command is told to save, as before a
 * preemption.
 * @param at time at which the command is told. Undefined: the slices have no such end
 */
export function sliceClock(at: EpochMs | undefined, endsAt: EpochMs | undefined): Clock {
  if (at === undefined || endsAt === undefined) return NO_CLOCK;
  const why = { kind: 'run-duration-over', facts: { endsAt } } as const;
  return ringing(at - Date.now(), 'the end of its slices', {
    ...{ by: 'clock', end: 'run-duration-over', phase: JobPhase.Evicting, why },
    notice: { cause: 'preemption', reason: toldText(why) },
  });
}

type Late = Pick<Interruption, 'end' | 'phase' | 'why'>;

function clock(seconds: number | undefined, lastedMs: number, { end, phase, why }: Late): Clock {
  if (seconds === undefined) return NO_CLOCK;
  const notice = { cause: 'cancel', reason: toldText(why) } as const;
  const summary = end === 'timed-out' ? 'timeouts.run' : 'timeouts.setup';
  return ringing(seconds * 1000 - lastedMs, summary, { by: 'clock', end, phase, why, notice });
}

const NO_CLOCK: Clock = { late: [], stop: () => undefined };

function ringing(ms: number, summary: string, interruption: Interruption): Clock {
  const scope = new CancellationScope();
  const time = scope.run(() => sleep(Math.max(1, ms), { summary }));
  const late = time.then((): Met => ({ kind: 'interrupted', interruption }));
  // A cancel of the job, or of the clock, is not the attempt's end.
  late.catch(() => undefined);
  return { late: [late], stop: () => scope.cancel() };
}
