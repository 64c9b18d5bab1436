import { setMaxListeners } from 'node:events';

/**
 * The work's result, or the signal's reason as soon as it is aborted; the work itself goes on for others. One signal ends the
 * work on all hosts of a job: Node's warning of a leak at the eleventh listener is none here.
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
 * The work's result, or an error when it is not there in time. `late` is aborted then, for work that can be ended by it.
 * With one controller of our own: Node 20 forgets an AbortSignal.timeout that only AbortSignal.any holds.
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
