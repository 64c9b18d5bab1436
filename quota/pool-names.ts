import { nearestWord } from '../domain/nearest-word.js';
import type { Problem } from '../domain/problem.js';

/** Most names that a message shows, since a list of all could be long. */
const MOST_SHOWN = 20;

/** The problem of a job whose pool is not configured. @param pools the configured pools */
export function unknownPool(pool: string, pools: readonly string[]): Problem {
  const shown = pools.slice(0, MOST_SHOWN).join(', ');
  const more = pools.length > MOST_SHOWN ? ` and ${pools.length - MOST_SHOWN} more` : '';
  const nearest = nearestPool(pool, pools);
  const hints = [
    ...(nearest === undefined ? [] : [`did you mean ${nearest}?`]),
    'name one of them, or ask an operator to name the pool in the configuration of workers and servers (docs/pool-file.md)',
  ];
  return {
    path: ['pool'],
    value: pool,
    message: `there is no pool '${pool}'; the pools are ${shown}${more}`,
    hint: hints.join('\n'),
  };
}

/** Prefers a name that differs only by case: it is another pool, and most likely the one that was meant. */
const nearestPool = (pool: string, pools: readonly string[]): string | undefined =>
  pools.find((each) => each.toLowerCase() === pool.toLowerCase()) ?? nearestWord(pool, pools);
