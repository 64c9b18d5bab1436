/** Why the watching of a job is ended before the job is. */
export type AbortReason = 'interrupt' | 'timeout';

/**
 * Aborts at the first Ctrl-C or SIGTERM, or after `timeoutMs`; the reason is an `AbortReason`. A second Ctrl-C ends the process,
 * as an impatient user wants. One controller for both: in Node.js 20 a signal made of an `AbortSignal.timeout` by
 * `AbortSignal.any` can be collected as garbage, and then never aborts.
 */
export function watchEnd(timeoutMs?: number): AbortSignal {
  const end = new AbortController();
  const abort = (reason: AbortReason): void => end.abort(reason);
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => abort('interrupt'));
  if (timeoutMs !== undefined) setTimeout(() => abort('timeout'), timeoutMs).unref();
  return end.signal;
}
