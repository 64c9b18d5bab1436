import type { RunStatus } from '../../cloud/hosts/port.js';
import type { HostEnd } from '../../domain/recovery/host-ends.js';

/** A run that is starting may yet fail (an accelerator that stays busy). The next caller then starts it. */
export function hasBegun({ kind }: RunStatus): boolean {
  return kind !== 'absent' && kind !== 'starting' && kind !== 'blocked';
}

const RESTARTED = 'the command is gone without an exit code (the host was restarted)';
const UNRECORDED =
  'the command has ended, and its host has no record of how: its runner was killed with it, or the disk did not keep the record';
const RAY_ENDED = 'Ray did not start on the host, or ended before the command did: the log of this host says more';
const UNATTENDED = 'no worker had spoken with the host for max_unattended, so it ended the command itself';

/** Undefined: the run goes on. */
export function endOf(status: RunStatus, at: { slice: number; host: number }): HostEnd | undefined {
  switch (status.kind) {
    case 'starting':
    case 'running':
      return undefined;
    case 'exited': {
      if (status.endedBy === 'ray') return { kind: 'run-lost', at, message: RAY_ENDED };
      if (status.endedBy === 'unattended') return { kind: 'run-lost', at, message: UNATTENDED };
      const { code, signal, startedAt, endedAt, isStopped, host, killedForMemory, left } = status;
      const exit = {
        at,
        code,
        startedAt,
        endedAt,
        isStopped,
        ...(signal === undefined ? {} : { signal }),
        ...(host === undefined ? {} : { host }),
        ...(killedForMemory === undefined ? {} : { killedForMemory }),
        ...(left === undefined ? {} : { left }),
      };
      return code === 0 && signal === undefined ? { kind: 'done', ...exit } : { kind: 'failed', ...exit };
    }
    case 'lost':
      return { kind: 'run-lost', at, message: status.isRestarted ? RESTARTED : UNRECORDED };
    case 'orphaned':
      return { kind: 'run-lost', at, message: 'the runner that held the command was killed' };
    case 'blocked':
      return { kind: 'run-lost', at, message: status.message };
    case 'absent':
      return { kind: 'run-lost', at, message: 'the host knows nothing of the command that was started on it' };
  }
}

/** The host does not know how the run ended; another witness may (docs/adr/0102). */
export const isUnrecorded = ({ kind }: RunStatus): boolean =>
  kind === 'lost' || kind === 'orphaned' || kind === 'absent';

/** Whether a preemption, or a shutdown of its system, may have ended it. */
export const isShutDown = (
  end: HostEnd,
): end is Extract<HostEnd, { readonly kind: 'done' | 'failed' }> & { readonly host: 'stopping' | 'preempted' } =>
  'host' in end && (end.host === 'stopping' || end.host === 'preempted');
export const isGood = (end: HostEnd): boolean => end.kind === 'done' && !isShutDown(end);
