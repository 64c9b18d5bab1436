import { messageOf } from '../domain/errors.js';

/** The failure of a query that came before the workflow task of events that it saw. It can be asked again at once (docs/adr/0174). */
export const EARLY_QUERY = 'the query came before its turn: ask it again';

const TRIES = 5;
const PAUSE_MS = 200;

/**
 * Makes a query, and repeats it if it came before its turn. The task that it came before has then been given to a worker.
 * @param pause resolves after so many milliseconds
 */
export async function inItsTurn<T>(query: () => Promise<T>, pause: (ms: number) => Promise<unknown>): Promise<T> {
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
