/** The reason why jobctl stops watching a job that has not ended. */
export type AbortReason = 'interrupt' | 'timeout';

/** Time that a verb may take to end after a signal, before the process is killed. */
const ENDING_MS = 10_000;

/**
 * A signal that aborts at the first Ctrl-C or SIGTERM, or after `timeoutMs`. Its reason is an `AbortReason`. The process is ended
 * by a second Ctrl-C, or if it has not ended `endingMs` after the first: a call of the file system may never return. Both causes
 * share one controller because Node.js 20 can garbage-collect an `AbortSignal.timeout` inside `AbortSignal.any`, which then never
 * aborts.
 * @param endingMs Infinity for a verb with much to clean up
 */
export function watchEnd(timeoutMs?: number, endingMs = ENDING_MS): AbortSignal {
  const end = new AbortController();
  const abort = (reason: AbortReason): void => end.abort(reason);
  for (const name of ['SIGINT', 'SIGTERM'] as const)
    process.once(name, () => {
      abort('interrupt');
      if (endingMs !== Infinity) setTimeout(() => endBy(name), endingMs).unref();
    });
  if (timeoutMs !== undefined) setTimeout(() => abort('timeout'), timeoutMs).unref();
  return end.signal;
}

/** Ends the process by the signal, because `process.exit` waits for the thread in which a file call hangs. */
function endBy(name: NodeJS.Signals): void {
  // Removes keys, archives and the like.
  process.emit('exit', 1);
  process.removeAllListeners(name);
  process.kill(process.pid, name);
}

/** Waits that the next Ctrl-C ends. They share one listener, because Node.js warns of more than ten. */
const WAITS = new Set<() => void>();

/**
 * Calls `giveUp` at the first Ctrl-C or SIGTERM, which does not end the process then; a second one does.
 * @returns ends the watch
 */
export function onInterrupt(giveUp: () => void): () => void {
  // An object of its own: the same function may be given twice.
  const wait = (): void => giveUp();
  if (WAITS.size === 0) for (const name of ENDING) process.on(name, giveAllUp);
  WAITS.add(wait);
  return () => {
    if (WAITS.delete(wait) && WAITS.size === 0) stopListening();
  };
}

const ENDING = ['SIGINT', 'SIGTERM'] as const;

function stopListening(): void {
  for (const name of ENDING) process.off(name, giveAllUp);
}

function giveAllUp(): void {
  const waits = [...WAITS];
  WAITS.clear();
  stopListening();
  for (const wait of waits) wait();
}
