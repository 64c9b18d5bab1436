import { messageOf } from '../../domain/errors.js';
import type { Broken, Timed } from './table.js';

/** One way to do what a row measures. */
export interface TimedWay {
  readonly name: string;
  /** Resolves when it is done, to the time in ms if that is not the time until it resolves. */
  readonly run: () => Promise<number | void>;
  /** Whether it takes part in the first round alone, since it takes long. */
  readonly isSlow?: boolean;
  /** Whether the others go on without it if it fails. */
  readonly isPeer?: boolean;
}

/** Runs all ways one after the other, round after round. @param warmUp whether a round before the first is not counted */
export async function inTurn(
  ways: readonly TimedWay[],
  {
    rounds,
    warmUp,
    tell,
  }: { readonly rounds: number; readonly warmUp: boolean; readonly tell: (step: string) => void },
): Promise<readonly (Timed | Broken)[]> {
  const times = ways.map((): number[] => []);
  const broken = new Map<number, string>();
  for (let round = warmUp ? 0 : 1; round <= rounds; round++) {
    tell(round === 0 ? 'warming up' : `round ${round} of ${rounds}`);
    for (const [index, { name, run, isSlow, isPeer }] of ways.entries()) {
      if ((isSlow && round !== 1) || broken.has(index)) continue;
      const began = performance.now();
      try {
        const ms = (await run()) ?? performance.now() - began;
        if (round > 0) times[index]?.push(ms);
      } catch (error) {
        if (!isPeer) throw error;
        tell(`${name} failed: ${messageOf(error)}`);
        broken.set(index, messageOf(error));
      }
    }
  }
  return ways.map(({ name }, index) => {
    const why = broken.get(index);
    return why === undefined ? { name, ms: times[index] ?? [] } : { name, broken: why };
  });
}

/** @throws Error if no way of the name has times */
export function timesOfWay(all: readonly (Timed | Broken)[], name: string): Timed {
  const found = all.find((timed) => timed.name === name);
  if (found === undefined || !('ms' in found))
    throw new Error(`no way '${name}'; there are ${all.map((timed) => timed.name).join(', ')}`);
  return found;
}
