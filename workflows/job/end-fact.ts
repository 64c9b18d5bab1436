import type { Fact } from '../../domain/recovery/facts.js';
import type { JobSpec } from '../../domain/job-spec.js';
import type { AttemptResult } from './attempt.js';

export const asksForRestart = (code: number, command: JobSpec['command']): boolean =>
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
      // It was told to end, and after a reset nothing here knows by whom. The exit answers that, and is not its own end.
      if (result.code === 0) return result.isStopped ? 'run lost' : 'code 0';
      if (asksForRestart(result.code, command)) return 'restart code';
      return isMachineAtFault ? 'machine at fault' : 'another code';
    case 'run-duration-over':
      return 'run duration over';
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
