import type { EpochMs } from '../units.js';
import type { Budget } from './budgets.js';
import type { Fact, FACTS, Question } from './facts.js';

/** The next action of a job, or of its worker. Each question has its own decisions. */
export interface Decisions {
  'slice seen':
    | { readonly do: 'keep' }
    | { readonly do: 'look directly' }
    | { readonly do: 'wait, look again' }
    | { readonly do: 'report loss'; readonly cause: 'preempted' | 'failed' };
  'host silent':
    | { readonly do: 'keep' }
    /** Looks directly, and then asks the same question once more. */
    | { readonly do: 'look at node' }
    | { readonly do: 'report loss'; readonly cause: 'preempted' | 'failed' };
  'command ended':
    | { readonly do: 'look at slices'; readonly patience: 'none' | 'shutdown' }
    | { readonly do: 'report end' }
    /** The guard of the slices reports the loss. */
    | { readonly do: 'report loss' }
    /** The preempted slices are those whose hosts said so. */
    | { readonly do: 'report preemption' }
    | { readonly do: 'report lost run' };
  'worker failed': { readonly do: 'other worker'; readonly pause: boolean } | { readonly do: 'end attempt' };
  'set-up interrupted': Interruption;
  'command interrupted': Interruption;
  'step due':
    | { readonly do: 'use lease' }
    | { readonly do: 'wait for lease' }
    | { readonly do: 'save' }
    | { readonly do: 'give back'; readonly to: 'pool' | 'person'; readonly next: 'ask again' | 'rest' }
    | { readonly do: 'pause' }
    | { readonly do: 'rest' }
    | { readonly do: 'start anew' };
  'not ready':
    | Retry
    | Failure
    | { readonly do: 'next zone' }
    /** Waits for a pause that doubles. Ready slices stay. */
    | { readonly do: 'ask again' }
    | { readonly do: 'ask for lease' };
  'attempt ended':
    | { readonly do: 'keep' }
    | { readonly do: 'succeed' }
    | { readonly do: 'stored outcome' }
    | { readonly do: 'loop' }
    /** Other slices in place of those that end. No budget pays: nothing has failed. */
    | { readonly do: 'replace' }
    | Retry
    | Failure;
}

/**
 * Time for which the API is asked about slices whose command a shutdown may have ended (`patience: 'shutdown'`): 30 s for a Spot
 * VM's shutdown, 60 s in which its node may still be READY, and 30 s in reserve (docs/adr/0040).
 */
export const SHUTDOWN_PATIENCE_MS = 120_000;

/**
 * Remaining time, in ms, for which the slices of an ended command are looked at. 0: one look. The time counts from the command's
 * end for every worker: one that comes later looks once (docs/adr/0102).
 * @param facts areTakenBack: whether a provider may take the slices back. If not, one look at the claim is enough
 */
export function patienceLeftMs(
  patience: 'none' | 'shutdown',
  { hosts, endedAt, now, areTakenBack }: PatienceFacts,
): number {
  if (patience === 'none' || (!areTakenBack && hosts !== 'shutting down')) return 0;
  return Math.max(0, endedAt + SHUTDOWN_PATIENCE_MS - now);
}

interface PatienceFacts {
  readonly hosts: Fact<'command ended', 'hosts'>;
  /** Time at which the command ended on the last host. */
  readonly endedAt: EpochMs;
  readonly now: EpochMs;
  readonly areTakenBack: boolean;
}

type Interruption =
  /** The command or set-up is stopped with notice and grace, and its end is awaited. */
  | { readonly do: 'save' }
  /** The command's or set-up's own end counts, not the interruption. */
  | { readonly do: 'believe end' }
  | { readonly do: 'interrupt' };

/** Another try, paid by a budget, after the slices named by `replace` were replaced. */
interface Retry {
  readonly do: 'retry';
  readonly budget: Budget;
  readonly replace: 'nothing' | 'lost slices' | 'its slice';
}
interface Failure {
  readonly do: 'fail';
  readonly by: Budget;
  /** The budget `by` is used up. Absent: a retry would not help, or none is allowed. */
  readonly spent?: true;
  /** The command's loop gave up. */
  readonly loop?: true;
}

export const lost = (cause: 'preempted' | 'failed') => ({ do: 'report loss', cause }) as const;
export const retry = (budget: Budget, replace: Retry['replace']) => ({ do: 'retry', budget, replace }) as const;
export const failed = (by: Budget) => ({ do: 'fail', by }) as const;
export const outOf = (by: Budget) => ({ do: 'fail', by, spent: true }) as const;

/** Facts that a row matches. A fact that is absent may have any value. */
export type When<Q extends Question> = {
  readonly [Name in keyof (typeof FACTS)[Q]]?: Fact<Q, Name> | readonly Fact<Q, Name>[];
};

export interface Row<Q extends Question> {
  readonly name: string;
  readonly when: When<Q>;
  readonly decision: Decisions[Q];
}

export type Rows = { readonly [Q in Question]: readonly Row<Q>[] };
