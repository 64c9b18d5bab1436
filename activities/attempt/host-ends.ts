import type { AttemptEnd, HostPlace } from '../contract.js';

interface Exit {
  readonly at: HostPlace;
  readonly code: number;
  readonly signal?: string;
  readonly startedAt: number;
  readonly endedAt: number;
  /** jobctl had asked for its end before. */
  readonly isStopped: boolean;
}

/** How the command ended on one host. */
export type HostEnd =
  | ({ readonly kind: 'done' } & Exit)
  | ({ readonly kind: 'failed' } & Exit)
  | { readonly kind: 'run-lost'; readonly at: HostPlace; readonly message: string }
  | { readonly kind: 'fenced'; readonly at: HostPlace; readonly epoch: number };

/**
 * The attempt's end from its hosts': the first that failed, by its own clock, since the others fail or are stopped because
 * of it. A host without an exit code comes before one with a code: what was killed with it proves nothing.
 * @throws RangeError without any end.
 */
export function verdictOf(ends: readonly HostEnd[]): AttemptEnd {
  const fenced = ends.find((end) => end.kind === 'fenced');
  if (fenced) return { kind: 'fenced', epoch: fenced.epoch };
  const lost = ends.find((end) => end.kind === 'run-lost');
  const failed = ends.filter((end) => end.kind === 'failed').toSorted((a, b) => a.endedAt - b.endedAt)[0];
  if (failed && !lost) return exited(failed);
  if (lost) return { kind: 'run-lost', at: lost.at, message: lost.message };
  const first = ends.find((end) => end.kind === 'done');
  if (!first) throw new RangeError('an attempt ended on no host');
  return exited({ ...first, isStopped: ends.some((end) => end.kind === 'done' && end.isStopped) });
}

/**
 * Ended by a signal that was not ours: a VM that is being taken away ends its processes first, and the API says so later.
 * A shell that waited for such a process ends with 128 and the signal's number.
 */
export function wasEndedByOthers(ends: readonly HostEnd[]): boolean {
  return ends.some((end) => {
    if (end.kind !== 'failed' || end.isStopped) return false;
    return (
      ['SIGTERM', 'SIGKILL'].includes(end.signal ?? '') || end.code === 128 + SIGTERM || end.code === 128 + SIGKILL
    );
  });
}

const SIGTERM = 15;
const SIGKILL = 9;

function exited({ at, code, signal, startedAt, isStopped }: Exit): AttemptEnd {
  return {
    kind: 'exited',
    at,
    code,
    startedAt,
    ...(signal === undefined ? {} : { signal }),
    ...(isStopped ? { isStopped } : {}),
  };
}
