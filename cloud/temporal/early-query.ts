import { setTimeout as pause } from 'node:timers/promises';
import { EARLY_QUERY } from '../../contract/workflow-ids.js';
import { messageOf } from '../../domain/errors.js';

const TRIES = 5;
const PAUSE_MS = 200;

/** Makes a query, and repeats it if it came before its turn. The task that it came before has then been given to a worker. */
export async function inItsTurn<T>(query: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++)
    try {
      return await query();
    } catch (error) {
      if (tries === TRIES || !isEarly(error)) throw error;
      await pause(tries * PAUSE_MS);
    }
}

/** The SDK wraps the failure of a query in errors of several kinds. */
function isEarly(error: unknown): boolean {
  return (
    messageOf(error).includes(EARLY_QUERY) ||
    (error instanceof Error && error.cause !== undefined && isEarly(error.cause))
  );
}
