import type { StopNotice } from '../../activities/contract.js';
import { JobPhase } from '../../domain/job-state.js';
import { hoursText } from './keeping.js';
import { type Revocation, revocationNotice, revocationText } from './revocation.js';
import type { Wish } from './wishes.js';

/** Why what is under way on the slices has to end before its time. */
export interface Interruption {
  /** How the record of the attempt and `JOBCTL_PREVIOUS_ATTEMPT_END` name it. */
  readonly end: 'revoked' | 'stopped' | 'requeued' | 'restarted' | 'timed-out' | 'set-up-timed-out';
  /** Shown while the command ends. */
  readonly phase: JobPhase;
  /** One sentence, without its grace. */
  readonly why: string;
  readonly notice: StopNotice;
}

export const interruptionByPool = (revocation: Revocation): Interruption => ({
  end: 'revoked',
  phase: JobPhase.Evicting,
  why: revocationText(revocation),
  notice: revocationNotice(revocation),
});

export function interruptionByPerson(wish: Wish): Interruption {
  const why = wishText(wish);
  const notice: StopNotice = { cause: 'stop', reason: why };
  switch (wish.kind) {
    case 'stop':
      return { end: 'stopped', phase: wish.isRelease ? JobPhase.Evicting : JobPhase.Running, why, notice };
    case 'requeue':
      return { end: 'requeued', phase: JobPhase.Evicting, why, notice };
    case 'restart':
      return { end: 'restarted', phase: JobPhase.Running, why, notice };
  }
}

export const interruptionByClock = (seconds: number): Interruption => {
  const why = `its command has run for ${hoursText(seconds)} (timeouts.run)`;
  return { end: 'timed-out', phase: JobPhase.Running, why, notice: { cause: 'cancel', reason: why } };
};

/** Its command may begin again: `retries.task`. @param why says how long it was silent, and whom it was last heard of */
export const interruptionBySilence = (why: string): Omit<Interruption, 'end'> => ({
  phase: JobPhase.Running,
  why,
  notice: { cause: 'attempt', reason: why },
});

export const interruptionOfSetUp = (seconds: number): Interruption => {
  const why = `its hosts are not set up after ${hoursText(seconds)} (timeouts.setup)`;
  return { end: 'set-up-timed-out', phase: JobPhase.SettingUp, why, notice: { cause: 'cancel', reason: why } };
};

/** As people read it: in the job's story, its row, and as the reason for which its slices go. */
export function wishText(wish: Wish): string {
  switch (wish.kind) {
    case 'stop':
      return `${wish.by} stopped it${wish.isRelease ? ' and gives its slices back' : ''}`;
    case 'requeue':
      return `${wish.by} requeued it`;
    case 'restart':
      return `${wish.by} restarted it`;
  }
}
