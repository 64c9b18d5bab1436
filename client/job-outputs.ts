import { MOST_WHOLE_BYTES, objectPlace, ObjectTooLong, readAtMost, type StoreReader } from '../cloud/store/port.js';
import { manifestPlace, outputManifestsPrefix } from '../domain/store-layout.js';
import { ManifestWrong, type OutputsManifest, readManifest } from '../domain/stored-outputs.js';

/** Outputs that one host stored in one attempt (docs/adr/0059). */
export interface HostOutputs {
  readonly attempt: number;
  /** Position among all hosts of all slices, from 0. */
  readonly host: number;
  readonly manifest: OutputsManifest;
}

export interface OutputsChoice {
  /** Absent: the newest attempt that stored outputs on the chosen hosts. */
  readonly attempt?: number | undefined;
  /** Absent: all. */
  readonly hosts?: readonly number[] | undefined;
}

export interface JobOutputs {
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
