import {
  pagesOf,
  MOST_WHOLE_BYTES,
  objectPlace,
  ObjectTooLong,
  readAtMost,
  type StoreReader,
  type StorePort,
} from '../cloud/store/port.js';
import { manifestPlace, outputManifestsPrefix, setUpObject, jobPrefix, runObject } from '../domain/store-layout.js';
import { ManifestWrong, type OutputsManifest, readManifest } from '../domain/stored-outputs.js';
import { readSetUpRecord, type SetUpRecord, type SetUpStepRecord } from '../domain/set-up-record.js';

/** Outputs that one host stored in one attempt (docs/adr/0059). */
export interface HostOutputs {
  readonly attempt: number;
  /** Position among all hosts of all slices, from 0. */
  readonly host: number;
  readonly manifest: OutputsManifest;
}

interface OutputsChoice {
  /** Absent: the newest attempt that stored outputs on the chosen hosts. */
  readonly attempt?: number | undefined;
  /** Absent: all. */
  readonly hosts?: readonly number[] | undefined;
}

interface JobOutputs {
  /** Outputs of one attempt, by host. Empty: nothing is stored for the choice. */
  readonly hosts: readonly HostOutputs[];
  /** Attempts that have anything in the store, in order; attempts with no outputs are included. */
  readonly attempts: readonly number[];
}

/** Manifests that are read at the same time. */
const WIDTH = 8;
/** Most bytes of all manifests read for one answer: they are held in memory, and hosts write them. */
const MOST_BYTES = 512 * 1024 * 1024;

/** @throws ManifestWrong with the object's name in its message; the store's errors */
export async function jobOutputs(
  store: StoreReader,
  job: string,
  { attempt, hosts }: OutputsChoice,
): Promise<JobOutputs> {
  const prefix = outputManifestsPrefix(job);
  const listed = (await store.list(prefix)).flatMap(({ name, size }) => {
    const place = manifestPlace(job, name);
    return place === undefined ? [] : [{ name, size, ...place }];
  });
  const attempts = [...new Set(listed.map((one) => one.attempt))].toSorted((a, b) => a - b);
  let bytes = 0;
  for (const number of attempt === undefined ? attempts.toReversed() : [attempt]) {
    const chosen = listed
      .filter((one) => one.attempt === number && (hosts === undefined || hosts.includes(one.host)))
      .toSorted((a, b) => a.host - b.host);
    for (const { size } of chosen) bytes += Math.min(size, MOST_WHOLE_BYTES + 1);
    if (bytes > MOST_BYTES)
      throw new ManifestWrong(
        `${objectPlace(store, prefix)}*: manifests of attempt ${number} bring it to ${bytes} bytes, of which ${MOST_BYTES} are read at ` +
          'most: choose an attempt, or hosts',
      );
    const read: HostOutputs[] = [];
    for (let from = 0; from < chosen.length; from += WIDTH)
      read.push(...(await Promise.all(chosen.slice(from, from + WIDTH).map((one) => readOne(store, one)))).flat());
    if (attempt !== undefined || read.some(({ manifest }) => manifest.entries.length > 0))
      return { hosts: read, attempts };
  }
  return { hosts: [], attempts };
}

async function readOne(
  store: StoreReader,
  { name, attempt, host }: { readonly name: string; readonly attempt: number; readonly host: number },
): Promise<HostOutputs[]> {
  const content = await readAtMost(store, name).catch((error: unknown) => {
    throw error instanceof ObjectTooLong ? new ManifestWrong(error.message) : error;
  });
  // The manifest was removed since it was listed.
  if (content === undefined) return [];
  try {
    return [{ attempt, host, manifest: readManifest(content) }];
  } catch (error) {
    if (!(error instanceof ManifestWrong)) throw error;
    throw new ManifestWrong(`${objectPlace(store, name)} ${error.message}`);
  }
}

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
 * The newest set-up after the counted `attempts`. An attempt is counted when its command starts, so several may not be counted:
 * their set-up was cut short by a lost slice or a restart. Undefined: no such set-up has begun.
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

export interface Purged {
  readonly objects: number;
  readonly bytes: number;
}

/** Objects that are removed at the same time. */
const REMOVALS = 16;

/**
 * Removes everything that the bucket holds of one job: file, records, logs, outcome. Content-addressed objects (`files/`) stay,
 * and Temporal keeps the job's data until its retention ends. Call it after the job has ended and its slices are gone: an open
 * job would write again. Repeating is safe.
 */
export async function purgeJob(store: Pick<StorePort, 'list' | 'remove'>, job: string): Promise<Purged> {
  // This object is removed last: without it the id may be taken again, and remaining objects would be taken for another user's
  // job.
  const taken = runObject(job);
  let [objects, bytes, isTaken] = [0, 0, false];
  for await (const page of pagesOf(store, jobPrefix(job))) {
    objects += page.length;
    bytes += page.reduce((sum, { size }) => sum + size, 0);
    isTaken ||= page.some(({ name }) => name === taken);
    const others = page.filter(({ name }) => name !== taken);
    for (let at = 0; at < others.length; at += REMOVALS)
      await Promise.all(others.slice(at, at + REMOVALS).map(({ name }) => store.remove(name)));
  }
  if (isTaken) await store.remove(taken);
  return { objects, bytes };
}
