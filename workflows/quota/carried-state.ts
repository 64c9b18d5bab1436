import { ApplicationFailure, log } from '@temporalio/workflow';
import { quotaInputForm } from '../../contract/quota-forms.js';
import type { QuotaInput } from '../../contract/quota.js';
import type { Admission, PoolFacts } from '../../contract/quota-activities.js';
import { FailureType } from '../../domain/errors.js';
import type { LeaseMessage } from '../../domain/lease.js';
import { count } from '../../domain/units.js';
import type { QuotaMemory } from '../../quota/quota-config.js';
import { pool as poolActivities } from '../activity-options.js';
import type { KeptMessage } from '../inbox.js';
import type { CapacityCarry } from './capacity-book.js';
import type { HistoryCarry } from './history-log.js';
import type { LeaseBookCarry } from './lease-book.js';
import { type PackedBook, packBook, unpackBook } from './packed-book.js';

/** State that crosses a continue-as-new. */
export interface QuotaCarry {
  readonly state: CarriedState;
  readonly settings: SettingsCarry;
  /** Slot of the store in which parts of the state may be: 0 or 1. */
  readonly slot: number;
  /** Messages of an unknown version, for newer code. */
  readonly kept: readonly KeptMessage[];
}

/**
 * @throws ApplicationFailure, which fails the workflow, if the input does not have its form: a pool without a name has no leases
 */
export function inputOf(input: QuotaInput): { readonly pool: string; readonly carry: QuotaCarry | undefined } {
  const checked = quotaInputForm(input);
  if (checked.kind === 'valid')
    return { pool: checked.value.pool, carry: checked.value.carry as QuotaCarry | undefined };
  const problem =
    checked.kind === 'malformed' ? checked.reason : `version ${checked.version} is not known to this worker`;
  const message = `input of a quota workflow: ${problem}`;
  throw ApplicationFailure.create({ type: FailureType.InvalidInput, nonRetryable: true, message });
}

/** State that one run of a pool hands to the next, beside small settings. */
export interface PoolCarry {
  readonly book: LeaseBookCarry;
  readonly memory: QuotaMemory;
  readonly history?: HistoryCarry;
  /** Absent: nothing was seen, or the state is that of a run which did not keep this yet. */
  readonly capacity?: CapacityCarry;
}

/** Small state that crosses a continue-as-new beside the packed state. */
export interface SettingsCarry {
  readonly facts?: PoolFacts;
  readonly admission?: Admission;
}

interface PackedState extends Omit<PoolCarry, 'book'> {
  readonly book: PackedBook;
}

/** State in the payload of the next run, or in the store if it is too long for one payload. */
export type CarriedState =
  | PackedState
  | {
      /** Names of the parts, in order. */
      readonly kept: readonly string[];
      /** Messages that came while the parts were written. */
      readonly late: readonly LeaseMessage[];
    };

/** Limit of a carried state, in characters. The server warns from 256 KB on, and refuses 2 MB. */
const MOST_CARRIED = 256 * 1024;
/** Size of one activity's input. As text in JSON it grows by its quotes, of which a packed book has few. */
const PART = 900_000;

/**
 * @param slot 0 or 1: the parts of the last run, which this one was made from, are not touched
 * @param late filled by the caller while parts are written
 */
export async function carryState(
  pool: string,
  state: PoolCarry,
  slot: number,
  late: readonly LeaseMessage[],
): Promise<CarriedState> {
  const packed = { ...state, book: packBook(state.book) } satisfies PackedState;
  const text = JSON.stringify(packed);
  if (text.length <= MOST_CARRIED) return packed;
  const parts = Array.from({ length: Math.ceil(text.length / PART) }, (_, index) => ({
    name: `${slot}-${index}`,
    text: text.slice(index * PART, (index + 1) * PART),
  }));
  const summary = `keep the lease book for the next run, ${count(parts.length, 'part')}`;
  for (const part of parts) await poolActivities(summary).keepBook({ pool, ...part });
  return { kept: parts.map(({ name }) => name), late };
}

/**
 * Undefined: the book must be rebuilt, since it was kept in the store and is no longer there, or cannot be read. A book that
 * cannot be read must not fail the workflow task, which would be tried for ever: open jobs and slices are enough to rebuild it.
 */
export async function restoreState(
  pool: string,
  carried: CarriedState,
): Promise<(PoolCarry & { readonly late: readonly LeaseMessage[] }) | undefined> {
  if (!('kept' in carried))
    return withLate(
      unpackOrRebuild(() => carried),
      [],
    );
  const parts: string[] = [];
  for (const name of carried.kept) {
    const text = await poolActivities('read the lease book that the last run kept').readBook({ pool, name });
    if (text === undefined) return undefined;
    parts.push(text);
  }
  return withLate(
    unpackOrRebuild(() => JSON.parse(parts.join('')) as PackedState),
    carried.late,
  );
}

const withLate = (state: PoolCarry | undefined, late: readonly LeaseMessage[]) => state && { ...state, late };

function unpackOrRebuild(packed: () => PackedState): PoolCarry | undefined {
  try {
    const { book, ...rest } = packed();
    return { book: unpackBook(book), ...rest };
  } catch (error) {
    log.error(`the lease book that the last run kept cannot be read, so it is rebuilt: ${String(error)}`);
    return undefined;
  }
}
