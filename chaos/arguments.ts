import { parseArgs } from 'node:util';

export const USAGE = `Usage: npm run chaos -- --tier model|stack|full --seeds A..B [--jobs N] [--at-once N] [--output json]

Jobs under disasters that a seed draws, judged by an oracle that shares no code with jobctl: docs/chaos.md.

  --tier TIER      model: pure decisions on a virtual clock, milliseconds a seed
                   stack: a private stack of real processes, production's times divided by 12
                   full: the same with production's times
  --seeds A..B     these seeds, one after the other; a seed that failed runs again alone as N..N
  --jobs N         of a seed of stack and full, 20 without it
  --at-once N      seeds of stack and full side by side, each on a stack of its own; 1 without it
  --output json    one document instead of the table
Exit code: 0 nothing was found, 1 something was, 2 usage.`;

export interface ChaosArguments {
  readonly tier: 'model' | 'stack' | 'full';
  readonly first: number;
  readonly last: number;
  readonly jobs: number;
  readonly atOnce: number;
  readonly isJson: boolean;
}

const TEXT = { type: 'string' } as const;
const MOST_SEED = 2 ** 31 - 1;

/** @throws Error that says what is wrong and what would be right */
export function readArguments(argv: readonly string[]): ChaosArguments {
  const options = {
    tier: TEXT,
    seeds: TEXT,
    jobs: { ...TEXT, default: '20' },
    'at-once': { ...TEXT, default: '1' },
    output: { ...TEXT, default: 'text' },
  };
  const { values } = parseArgs({ args: [...argv], options });
  const { tier, seeds = '', output } = values;
  if (tier !== 'model' && tier !== 'stack' && tier !== 'full')
    throw new Error(`--tier ${tier ?? 'is missing'}: wanted model, stack or full`);
  const [, first = '', last = first] = /^(\d+)(?:\.\.(\d+))?$/u.exec(seeds) ?? [];
  if (first === '' || Number(first) > Number(last) || Number(last) > MOST_SEED)
    throw new Error(`--seeds ${seeds || 'is missing'}: wanted A..B, whole numbers, A not above B, such as 1..60`);
  const count = (flag: 'jobs' | 'at-once'): number => {
    if (!/^[1-9]\d{0,2}$/u.test(values[flag]))
      throw new Error(`--${flag} ${values[flag]}: wanted a whole number from 1 to 999`);
    return Number(values[flag]);
  };
  const [jobs, atOnce] = [count('jobs'), count('at-once')];
  if (output !== 'text' && output !== 'json') throw new Error(`--output ${output}: wanted text or json`);
  return { tier, first: Number(first), last: Number(last), jobs, atOnce, isJson: output === 'json' };
}
