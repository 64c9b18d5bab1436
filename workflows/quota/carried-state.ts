import type { LeaseMessage } from '../../domain/lease.js';
import { NO_MEMORY, type QuotaMemory } from '../../quota/quota-config.js';
import { pool as outside } from '../activity-options.js';
import { count } from '../markdown.js';
import type { HistoryCarry } from './history-log.js';
import type { LeaseBookCarry } from './lease-book.js';
import { type PackedBook, packBook, unpackBook } from './packed-book.js';
import { type PackedBook2, unpackBook2 } from './packed-book-2.js';

/** What one run of a pool hands to the next, beside small things. */
export interface PoolCarry {
  readonly book: LeaseBookCarry;
  readonly memory: QuotaMemory;
  readonly history?: HistoryCarry;
}

interface PackedState {
  readonly book: PackedBook | PackedBook2;
  readonly memory?: QuotaMemory;
  readonly history?: HistoryCarry;
}

/** In the payload of the next run, or in the store where it is too long for one. */
export type CarriedState =
  | PackedState
  | {
      /** Names of the parts, in order. */
      readonly kept: readonly string[];
      /** What came while they were written. */
      readonly late: readonly LeaseMessage[];
    };

/** In characters. The server warns from 256 KB on, and refuses 2 MB. */
const MOST_CARRIED = 256 * 1024;
/** Of one activity's input. As text in JSON it grows by its quotes, of which a packed book has few. */
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
  for (const part of parts) await outside(summary).keepBook({ pool, ...part });
  return { kept: parts.map(({ name }) => name), late };
}

/** Undefined: it was kept in the store and is not there any more, so the book is to be rebuilt. */
export async function restoreState(
  pool: string,
  carried: CarriedState,
): Promise<(PoolCarry & { readonly late: readonly LeaseMessage[] }) | undefined> {
  if (!('kept' in carried)) return { ...unpack(carried), late: [] };
  const parts: string[] = [];
  for (const name of carried.kept) {
    const text = await outside('read the lease book that the last run kept').readBook({ pool, name });
    if (text === undefined) return undefined;
    parts.push(text);
  }
  return { ...unpack(JSON.parse(parts.join('')) as PackedState), late: carried.late };
}

function unpack({ book, memory = NO_MEMORY, history }: PackedState): PoolCarry {
  return {
    book: book.v === 2 ? unpackBook2(book) : unpackBook(book),
    memory,
    ...(history === undefined ? {} : { history }),
  };
}
