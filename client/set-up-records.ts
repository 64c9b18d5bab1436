import { readAtMost, type StoreReader } from '../cloud/store/port.js';
import { readSetUpRecord, type SetUpRecord, type SetUpStepRecord } from '../domain/setup-record.js';
import { setUpObject } from '../domain/store-layout.js';

/** The set-up of one attempt, as far as its worker has stored it: at most 3 s old while steps begin and end. */
export interface StoredSetUp {
  readonly attempt: number;
  readonly record: SetUpRecord;
}

type Objects = Pick<StoreReader, 'read'>;

export async function readSetUp(store: Objects, job: string, attempt: number): Promise<StoredSetUp | undefined> {
  const stored = await readAtMost(store, setUpObject(job, attempt));
  const record = stored && readSetUpRecord(stored.toString('utf8'));
  return record && { attempt, record };
}

/**
 * The newest set-up after the `attempts` that are counted: an attempt is counted when its command starts, and of those whose
 * set-up was cut short (a slice lost, a restart) there may be several. Undefined: none has begun.
 */
export async function nextSetUp(
  store: Objects,
  { id, attempts }: { readonly id: string; readonly attempts: number },
): Promise<StoredSetUp | undefined> {
  for (let newest: StoredSetUp | undefined; ;) {
    const next = await readSetUp(store, id, (newest?.attempt ?? attempts) + 1);
    if (next === undefined) return newest;
    newest = next;
  }
}

/** That of the attempt that is being set up, else of the last one that was. */
export async function newestSetUp(
  store: Objects,
  row: { readonly id: string; readonly attempts: number },
): Promise<StoredSetUp | undefined> {
  return (await nextSetUp(store, row)) ?? (row.attempts === 0 ? undefined : readSetUp(store, row.id, row.attempts));
}

/** The steps that ended a set-up: the failed ones of the module that failed last. Undefined: it did not end by a step that failed. */
export function failedSteps({
  endedAt,
  hosts,
  ready,
  steps,
}: SetUpRecord): readonly [SetUpStepRecord, ...SetUpStepRecord[]] | undefined {
  if (endedAt === undefined) return undefined;
  const failed = steps
    .filter(({ outcome, module }) => outcome === 'failed' && (ready[module] ?? 0) < hosts)
    .toSorted((a, b) => (b.endedAt ?? 0) - (a.endedAt ?? 0));
  const [last] = failed;
  if (last === undefined) return undefined;
  return [last, ...failed.slice(1).filter(({ module }) => module === last.module)];
}
