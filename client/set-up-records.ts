import { readAtMost, type StoreReader } from '../cloud/store/port.js';
import { readSetUpRecord, type SetUpRecord, type SetUpStepRecord } from '../domain/setup-record.js';
import { setUpObject } from '../domain/store-layout.js';

/** Set-up of one attempt, as its worker last stored it: at most 3 s old while steps begin and end. */
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
 * The newest set-up after the counted `attempts`. An attempt is counted when its command starts, so there may be several
 * uncounted ones whose set-up was cut short (a slice lost, a restart). Undefined: no such set-up has begun.
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

/** The set-up in progress, or else that of the last counted attempt. */
export async function newestSetUp(
  store: Objects,
  row: { readonly id: string; readonly attempts: number },
): Promise<StoredSetUp | undefined> {
  return (await nextSetUp(store, row)) ?? (row.attempts === 0 ? undefined : readSetUp(store, row.id, row.attempts));
}

/** The steps that ended a set-up: the failed steps of the module that failed last. Undefined: no failed step ended it. */
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
