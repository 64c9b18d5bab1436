import { parseArgs } from 'node:util';
import { type Kind, KINDS } from './kinds.js';

export interface RecoveryArguments {
  /** Number of preemptions of each kind. */
  readonly samples: number;
  /** Number of jobs that are preempted side by side. */
  readonly jobs: number;
  readonly kinds: readonly Kind[];
  readonly parts: readonly ApiPart[];
}

/** Parts that count API calls: of running jobs, of waiting jobs, and of deletions. */
const API_PARTS = ['api', 'waiting', 'deletions'] as const;
export type ApiPart = (typeof API_PARTS)[number];

/** @throws TypeError for an unknown flag, RangeError for an invalid number or an unknown part */
export function recoveryArguments(args: readonly string[]): RecoveryArguments {
  const options = {
    samples: { type: 'string', default: '200' },
    jobs: { type: 'string', default: '6' },
    only: { type: 'string', default: [...KINDS.map(({ name }) => name), ...API_PARTS].join(',') },
  } as const;
  const { values } = parseArgs({ args: [...args], options });
  const wanted = values.only.split(',');
  const known = [...KINDS.map(({ name }): string => name), ...API_PARTS];
  const stranger = wanted.find((name) => !known.includes(name));
  if (stranger !== undefined) throw new RangeError(`--only ${stranger}: there are ${known.join(', ')}`);
  return {
    samples: count('samples', values.samples, 10_000),
    jobs: count('jobs', values.jobs, MOST_JOBS),
    kinds: KINDS.filter(({ name }) => wanted.includes(name)),
    parts: API_PARTS.filter((part) => wanted.includes(part)),
  };
}

/** One for each zone: a job of a quiet kind is alone in its zone. */
const MOST_JOBS = 16;

function count(flag: string, text: string, most: number): number {
  const number = Number(text);
  if (Number.isInteger(number) && number >= 1 && number <= most) return number;
  throw new RangeError(`--${flag} ${text}: wanted a whole number from 1 to ${most}`);
}
