import { setTimeout as sleep } from 'node:timers/promises';

/** Errors that an outage of Temporal, `jobctl serve` or the store causes. The job survives an outage, so a watcher waits too. */
const OUTAGES = new Set([
  'ServerUnreachable',
  'ServiceError',
  'StoreUnavailable',
  'TemporalUnreachable',
  'TooManyRequests',
]);

export function isOutage(error: unknown): boolean {
  return error instanceof Error && OUTAGES.has(error.name);
}

/** Resolves after `ms`, or as soon as `signal` aborts. */
export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal }).catch(() => undefined);
}
