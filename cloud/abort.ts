import { setMaxListeners } from 'node:events';

/**
 * Settles like the work, or rejects with the signal's reason as soon as it is aborted; the work itself continues for other
 * callers. One signal ends the work on all hosts of a job, so Node's warning of a leak at the eleventh listener is switched off.
 */
export function abortable<T>(work: Promise<T>, signal: AbortSignal | undefined, onAbort?: () => void): Promise<T> {
  if (!signal) return work;
  setMaxListeners(0, signal);
  return new Promise<T>((resolve, reject) => {
    const abort = (): void => {
      onAbort?.();
      reject(signal.reason as Error);
    };
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
}

/**
 * Settles like the work, or rejects if it takes longer than `limitMs`. `late` is aborted then, for work that a signal can end.
 * Uses its own controller: Node 20 drops an AbortSignal.timeout that only AbortSignal.any references.
 */
export async function answerWithin<T>(limitMs: number, work: (late: AbortSignal) => Promise<T>): Promise<T> {
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(new Error(`no answer in ${limitMs / 1000} s`)), limitMs);
  try {
    return await abortable(work(late.signal), late.signal);
  } finally {
    clearTimeout(timer);
  }
}
