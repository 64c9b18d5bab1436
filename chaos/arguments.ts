import { parseArgs } from 'node:util';
import { JOB_KINDS, type JobKind } from './stack/sections.js';

export const USAGE = `Usage: npm run chaos -- --tier model|stack|full --seeds A..B [--jobs N] [--of KIND] [--at-once N] [--output json]
       npm run chaos -- --sweep model|real [--points A..B] [--seeds A..B] [--at-once N] [--api-down] [--output json]

Jobs under disasters that a seed draws, judged by an oracle that shares no code with jobctl: docs/chaos.md.

  --tier TIER      model: pure decisions on a virtual clock, milliseconds a seed
                   stack: a private stack of real processes, production's times divided by 12
                   full: the same with production's times
  --seeds A..B     these seeds, one after the other; a seed that failed runs again alone as N..N
  --jobs N         of a seed of stack and full, 20 without it
  --of KIND        jobs of stack and full: tpu, pods, vms or machines alone, and no faults of the others; all of them without it
  --at-once N      seeds of stack and full side by side, each on a stack of its own; 1 without it.
                   Of a sweep for real: jobs side by side on its one stack; 24 without it
  --sweep WHERE    the end of a program from 60 s before to 60 s after a preemption.
                   model: 3,267 points and 10 seeds. real: 120 of the points, production's times
  --points A..B    these points alone, from 0; a point that failed runs again as N..N
  --api-down       the TPU API is down for an hour, from a minute before the preemption. Of a sweep for real all points run at
                   once, and it is down as soon as all have begun: take some --points
  --keep           logs and evidence stay, also where nothing was found
  --output json    one document instead of the table
Exit code: 0 nothing was found, 1 something was, 2 usage.`;

interface Range {
  readonly first: number;
  readonly last: number;
}
interface Asked {
  /** Absent: the default of the tier or the sweep. */
  readonly atOnce?: number;
  readonly isJson: boolean;
  readonly isKept: boolean;
}
export interface TierArguments extends Asked {
  readonly tier: 'model' | 'stack' | 'full';
  readonly seeds: Range;
  readonly jobs: number;
  /** Absent: jobs of all kinds. */
  readonly kind?: JobKind;
}
export interface SweepArguments extends Asked {
  readonly sweep: 'model' | 'real';
  readonly seeds?: Range;
  readonly points?: Range;
  readonly isApiDown: boolean;
}

const TEXT = { type: 'string' } as const;
const FLAG = { type: 'boolean' } as const;
const MOST_SEED = 2 ** 31 - 1;
const OPTIONS = {
  ...{ tier: TEXT, seeds: TEXT, sweep: TEXT, points: TEXT, jobs: TEXT, of: TEXT, 'at-once': TEXT },
  ...{ 'api-down': FLAG, keep: FLAG },
  output: { ...TEXT, default: 'text' },
} as const;
const OF_SWEEP = ['points', 'api-down'] as const;

/** @throws Error that says what is wrong and what would be right */
export function readArguments(argv: readonly string[]): TierArguments | SweepArguments {
  const { values } = parseArgs({ args: [...argv], options: OPTIONS });
  const { tier, sweep, seeds, points, output } = values;
  if (output !== 'text' && output !== 'json') throw new Error(`--output ${output}: wanted text or json`);
  const atOnce = countOf('at-once', values['at-once']);
  const asked = {
    isJson: output === 'json',
    isKept: values.keep === true,
    ...(atOnce === undefined ? {} : { atOnce }),
  };
  if (sweep !== undefined) {
    if (sweep !== 'model' && sweep !== 'real') throw new Error(`--sweep ${sweep}: wanted model or real`);
    if (tier !== undefined) throw new Error('--sweep and --tier: wanted one of them');
    if (values.jobs !== undefined) throw new Error('--jobs: a sweep has one job for each point');
    if (values.of !== undefined) throw new Error('--of: only with --tier');
    return {
      ...{ ...asked, sweep, isApiDown: values['api-down'] === true },
      ...(seeds === undefined ? {} : { seeds: rangeOf('seeds', seeds) }),
      ...(points === undefined ? {} : { points: rangeOf('points', points) }),
    };
  }
  if (tier !== 'model' && tier !== 'stack' && tier !== 'full')
    throw new Error(`--tier ${tier ?? 'is missing'}: wanted model, stack or full`);
  for (const flag of OF_SWEEP) if (values[flag] !== undefined) throw new Error(`--${flag}: only with --sweep`);
  const kind = kindOf(tier, values.of);
  const jobs = countOf('jobs', values.jobs) ?? 20;
  return { ...asked, tier, seeds: rangeOf('seeds', seeds), jobs, ...(kind !== undefined && { kind }) };
}

function rangeOf(flag: 'seeds' | 'points', given: string | undefined): Range {
  const [, first = '', last = first] = /^(\d+)(?:\.\.(\d+))?$/u.exec(given ?? '') ?? [];
  if (first === '' || Number(first) > Number(last) || Number(last) > MOST_SEED)
    throw new Error(`--${flag} ${given ?? 'is missing'}: wanted A..B, whole numbers, A not above B, such as 1..60`);
  return { first: Number(first), last: Number(last) };
}

function kindOf(tier: TierArguments['tier'], given: string | undefined): JobKind | undefined {
  if (given === undefined) return undefined;
  if (tier === 'model') throw new Error('--of: only with --tier stack or full');
  const kind = JOB_KINDS.find((known) => known === given);
  if (kind === undefined) throw new Error(`--of ${given}: wanted ${JOB_KINDS.join(', ')}`);
  return kind;
}

function countOf(flag: 'jobs' | 'at-once', given: string | undefined): number | undefined {
  if (given === undefined) return undefined;
  if (!/^[1-9]\d{0,2}$/u.test(given)) throw new Error(`--${flag} ${given}: wanted a whole number from 1 to 999`);
  return Number(given);
}
