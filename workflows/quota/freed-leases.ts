import type { EpochMs } from '../../domain/units.js';
import { entry, type Table } from '../../quota/packed-values.js';
import {
  distance,
  formOf,
  nameOf,
  type Packed,
  packColumns,
  packRun,
  packWords,
  timeAt,
  unpackColumns,
  unpackRun,
  unpackWords,
} from './columns.js';

export interface FreedLease {
  readonly key: string;
  readonly at: EpochMs;
  readonly sequences: Readonly<Record<string, number>>;
}

/** Time for which a freed lease is remembered. No message of ours takes longer to arrive, even with an activity's retries. */
const REMEMBER_MS = 10 * 60_000;
/**
 * Limit of freed leases in a carried book, of 100 bytes each. If one is forgotten too early and a late message asks for it again,
 * it is granted to a closed job, and taken back.
 */
export const MOST_FREED = 5_000;

/** Freed leases with their highest sequences: a late or doubled message must not bring one back. */
export class FreedLeases {
  readonly #freed: Map<string, FreedLease>;

  constructor(carry: readonly FreedLease[]) {
    this.#freed = new Map(carry.map((freed) => [freed.key, freed]));
  }

  sequences(key: string): FreedLease['sequences'] | undefined {
    return this.#freed.get(key)?.sequences;
  }

  /** Whether a lease of the job was freed lately. */
  hasOf(job: string): boolean {
    return [...this.#freed.keys()].some((key) => key.startsWith(`${job}/`));
  }

  /** Keeps them in the order of their times, so that old ones are found without scanning the others. */
  add(key: string, now: EpochMs, sequences: FreedLease['sequences']): void {
    this.#freed.delete(key);
    this.#freed.set(key, { key, at: now, sequences });
    for (const [old, { at }] of this.#freed) {
      if (now - at <= REMEMBER_MS) break;
      this.#freed.delete(old);
    }
  }

  /** Called when the lease is asked for anew: its new row takes over the sequences of its senders. */
  take(key: string): FreedLease['sequences'] {
    const sequences = this.sequences(key) ?? {};
    this.#freed.delete(key);
    return sequences;
  }

  carry(): readonly FreedLease[] {
    return [...this.#freed.values()].slice(-MOST_FREED);
  }
}

/** The freed leases of a packed book, in columns too. */
export type PackedFreed = Packed<FreedColumns> & FreedWords;

interface FreedWords {
  readonly jobs: string;
  readonly runs: string;
}

interface FreedColumns {
  readonly numbers: number[];
  /** Distance from the book's `base`. */
  readonly at: number[];
  /** Sequence of the job's last message, as a distance from `at`. */
  readonly sequences: (number | null)[];
  /** Number of other senders of each lease. `senderForms` and `senderSequences` have one value for each of these senders. */
  readonly senderCounts: number[];
  readonly senderForms: number[];
  readonly senderSequences: number[];
}

const JOB = 'job';

export function packFreed(freed: readonly FreedLease[], base: number, forms: Table<string>): PackedFreed {
  const keys = freed.map(({ key }) => splitKey(key));
  const senders = freed.map(({ sequences }) => Object.entries(sequences).filter(([sender]) => sender !== JOB));
  return {
    jobs: packWords(keys.map(({ job }) => job)),
    runs: packWords(keys.map(({ run }) => packRun(run))),
    ...packColumns<FreedColumns>({
      numbers: keys.map(({ number }) => number),
      at: freed.map(({ at }) => at - base),
      sequences: freed.map(({ at, sequences }) => distance(sequences[JOB], at)),
      senderCounts: senders.map(({ length }) => length),
      senderForms: senders.flatMap((some, index) =>
        some.map(([sender]) => forms.indexOf(formOf(sender, entry(keys, index).job))),
      ),
      senderSequences: senders.flatMap((some, index) => some.map(([, sequence]) => sequence - entry(freed, index).at)),
    }),
  };
}

export function unpackFreed(packed: PackedFreed, base: number, forms: readonly string[]): readonly FreedLease[] {
  const { jobs: jobWords, runs: runWords, ...columns } = packed;
  const { numbers, at: times, sequences: ofJobs, ...senders } = unpackColumns<FreedColumns>(columns);
  const jobs = unpackWords(jobWords, numbers.length);
  const runs = unpackWords(runWords, numbers.length);
  let sender = 0;
  return numbers.map((number, index) => {
    const job = entry(jobs, index);
    const at = base + entry(times, index);
    const own = timeAt(ofJobs[index], at);
    const sequences: Record<string, number> = own === undefined ? {} : { [JOB]: own };
    for (let left = entry(senders.senderCounts, index); left > 0; left--, sender++)
      sequences[nameOf(entry(forms, senders.senderForms[sender]), job)] = at + entry(senders.senderSequences, sender);
    return { key: `${job}/${unpackRun(entry(runs, index))}/${number}`, at, sequences };
  });
}

/** The parts of a lease key; a job id holds no `/`. */
function splitKey(key: string): { readonly job: string; readonly run: string; readonly number: number } {
  const [job, run, number] = key.split('/') as [string, string, string];
  return { job, run, number: Number(number) };
}
