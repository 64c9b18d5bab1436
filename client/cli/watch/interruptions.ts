/** Why jobctl stops watching a job that has not ended. */
export type AbortReason = 'interrupt' | 'timeout';

/**
 * A signal that aborts at the first Ctrl-C or SIGTERM, or after `timeoutMs`. Its reason is an `AbortReason`. A second Ctrl-C
 * ends the process. Both causes share one controller because Node.js 20 can garbage-collect an `AbortSignal.timeout` inside
 * `AbortSignal.any`, which then never aborts.
 */
export function watchEnd(timeoutMs?: number): AbortSignal {
  const end = new AbortController();
  const abort = (reason: AbortReason): void => end.abort(reason);
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => abort('interrupt'));
  if (timeoutMs !== undefined) setTimeout(() => abort('timeout'), timeoutMs).unref();
  return end.signal;
}
