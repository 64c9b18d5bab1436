import { setTimeout as sleep } from 'node:timers/promises';

/** Names of errors that an outage makes. The job does not notice one, so neither gives up who watches it. */
const PASSING = new Set(['TemporalUnreachable', 'ServiceError', 'StoreUnavailable']);

export function isPassing(error: unknown): boolean {
  return error instanceof Error && PASSING.has(error.name);
}

export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal }).catch(() => undefined);
}
