import { entry, type Table } from '../../quota/shared-values.js';
import { distance, formOf, nameOf, packRun, packWords, timeAt, unpackRun, unpackWords } from './columns.js';
import type { FreedLease } from './freed-leases.js';

/** The freed leases of a packed book, in columns too. */
export interface PackedFreed {
  readonly jobs: string;
  readonly runs: string;
  readonly numbers: number[];
  /** From the book's `base`. */
  readonly at: number[];
  /** Of the job's last message, from `at`. */
  readonly sequences: (number | null)[];
  /** Other senders: how many each has, then a form of the name and a sequence for each. */
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
    numbers: keys.map(({ number }) => number),
    at: freed.map(({ at }) => at - base),
    sequences: freed.map(({ at, sequences }) => distance(sequences[JOB], at)),
    senderCounts: senders.map(({ length }) => length),
    senderForms: senders.flatMap((some, index) =>
      some.map(([sender]) => forms.indexOf(formOf(sender, keys[index]?.job ?? ''))),
    ),
    senderSequences: senders.flatMap((some, index) => some.map(([, sequence]) => sequence - (freed[index]?.at ?? 0))),
  };
}

export function unpackFreed(packed: PackedFreed, base: number, forms: readonly string[]): readonly FreedLease[] {
  const count = packed.numbers.length;
  const jobs = unpackWords(packed.jobs, count);
  const runs = unpackWords(packed.runs, count);
  let sender = 0;
  return packed.numbers.map((number, index) => {
    const job = entry(jobs, index);
    const at = base + entry(packed.at, index);
    const own = timeAt(packed.sequences[index], at);
    const sequences: Record<string, number> = own === undefined ? {} : { [JOB]: own };
    for (let left = entry(packed.senderCounts, index); left > 0; left--, sender++)
      sequences[nameOf(entry(forms, packed.senderForms[sender]), job)] = at + entry(packed.senderSequences, sender);
    return { key: `${job}/${unpackRun(entry(runs, index))}/${number}`, at, sequences };
  });
}

/** The parts of a lease key; a job id holds no `/`. */
function splitKey(key: string): { readonly job: string; readonly run: string; readonly number: number } {
  const [job = '', run = '', number = ''] = key.split('/');
  return { job, run, number: Number(number) };
}
