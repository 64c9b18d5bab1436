import {
  MOST_RECORD_BYTES,
  ObjectTooLong,
  pagesOf,
  readAtMost,
  StoreRefused,
  type StoreReader,
} from '../cloud/store/port.js';
import type { Owner } from '../domain/counted/report.js';
import { StorageSums } from '../domain/counted/storage.js';
import { eachOf } from '../domain/semaphore.js';
import { jobOwnerObject, OWN_FOLDERS } from '../domain/store-layout.js';
import { readDayFiles } from './counted.js';

const READS_AT_A_TIME = 32;

/**
 * Sums up what the store holds, page by page: a request for 1,000 objects. Other people's objects in the same bucket are not
 * looked at. A listing is no snapshot: what is written meanwhile may be missing.
 * @param onPage called after each page with the number of objects so far
 */
export async function storageOf(
  store: Pick<StoreReader, 'list'>,
  onPage: (objects: number) => void = () => {},
): Promise<StorageSums> {
  const sums = new StorageSums();
  let objects = 0;
  for (const folder of OWN_FOLDERS)
    for await (const page of pagesOf(store, folder)) {
      for (const object of page) sums.add(object);
      onPage((objects += page.length));
    }
  return sums;
}

/** Owners of jobs: of ended ones from the day files, some thousand to a read; of the others from the record of each. */
export async function ownersOf(store: StoreReader, jobs: readonly string[]): Promise<ReadonlyMap<string, Owner>> {
  const owners = new Map<string, Owner>();
  const add = (job: string, { user, project, pool }: Owner): unknown => owners.set(job, { user, project, pool });
  const { records } = await readDayFiles(store, 0);
  for (const record of records) add(record.job, record);
  const others = jobs.filter((job) => !owners.has(job));
  await eachOf(others, READS_AT_A_TIME, async (job) => {
    const owner = readOwner(await textOf(store, job));
    if (owner !== undefined) add(job, owner);
  });
  return owners;
}

/** Undefined also for what the store does not read as an object, such as a link in a folder. */
async function textOf(store: StoreReader, job: string): Promise<string | undefined> {
  try {
    return (await readAtMost(store, jobOwnerObject(job), MOST_RECORD_BYTES))?.toString('utf8');
  } catch (error) {
    if (error instanceof StoreRefused || error instanceof ObjectTooLong) return undefined;
    throw error;
  }
}

/** Undefined for what is no record of an owner: without a second bucket, hosts may write beside it. */
function readOwner(text = ''): Owner | undefined {
  try {
    const found = JSON.parse(text) as Partial<Owner> | null;
    if (found === null || typeof found !== 'object') return undefined;
    const { user, project, pool } = found;
    return typeof user === 'string' && typeof project === 'string' && typeof pool === 'string'
      ? { user, project, pool }
      : undefined;
  } catch {
    return undefined;
  }
}
