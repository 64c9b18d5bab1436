import { storePlace, type BucketPlace } from '../../domain/store-place.js';
import { isSystemObject, SYSTEM_FOLDERS, SYSTEM_OF_JOB } from '../../domain/store-layout.js';
import { answerText } from '../exchange.js';
import { accessTokens } from '../access-token.js';
import { ensureFolder, FolderStore } from './folder.js';
import { createStore, ensureBucket, type StoreOptions } from './gcs.js';
import {
  type StorePort,
  endlessListing,
  MOST_LIST_PAGES,
  objectPlace,
  type StoredObject,
  type StoreReader,
} from './port.js';
import { ensureS3Bucket, S3Store } from './s3.js';

/**
 * Opens the store that `bucket` names: Cloud Storage, S3 or a folder (`storePlace`). It sends no request yet.
 * @param options `endpoint` for the kind of store that is named
 * @throws RangeError if it names no store
 */
export function openStore(options: StoreOptions): StorePort {
  const { bucket, endpoint } = options;
  const place = storePlace(bucket);
  switch (place.kind) {
    case 'google':
      return createStore({ ...options, bucket: place.bucket });
    case 's3':
      return new S3Store({ ...place, ...(endpoint !== undefined && { endpoint }) });
    case 'folder':
      return new FolderStore(place.path);
  }
}

/** Makes the store that `bucket` names if it does not exist. Repeating is safe. */
export async function ensureStore(options: StoreOptions): Promise<'created' | 'exists'> {
  const { bucket, endpoint } = options;
  const place = storePlace(bucket);
  switch (place.kind) {
    case 'google':
      return ensureBucket({ ...options, bucket: place.bucket });
    case 's3':
      return ensureS3Bucket({ ...place, ...(endpoint !== undefined && { endpoint }) });
    case 'folder':
      return ensureFolder(place.path);
  }
}

/** Reports the end of each call to `onCall`: `OK`, or the name of its error. */
export function meteredStore(store: StorePort, onCall: (method: string, code: string) => void): StorePort {
  const metered = async <T>(method: string, call: Promise<T>): Promise<T> => {
    try {
      const answer = await call;
      onCall(method, 'OK');
      return answer;
    } catch (error) {
      onCall(method, error instanceof Error ? error.name : 'Error');
      throw error;
    }
  };
  return {
    bucket: store.bucket,
    probe: () => metered('probe', store.probe()),
    write: (...args) => metered('write', store.write(...args)),
    upload: (...args) => metered('upload', store.upload(...args)),
    uploadSession: (...args) => metered('uploadSession', store.uploadSession(...args)),
    replace: (...args) => metered('replace', store.replace(...args)),
    read: (...args) => metered('read', store.read(...args)),
    stat: (...args) => metered('stat', store.stat(...args)),
    list: (...args) => metered('list', store.list(...args)),
    find: (...args) => metered('find', store.find(...args)),
    remove: (...args) => metered('remove', store.remove(...args)),
    downloadUrl: (name) => store.downloadUrl(name),
    uploadUrl: (...args) => store.uploadUrl(...args),
    objectUrl: (...args) => store.objectUrl(...args),
    signedUrl: (...args) => metered('signedUrl', store.signedUrl(...args)),
  };
}

const GOOGLE = 'https://storage.googleapis.com';

/**
 * Finds a bucket's location. Uses the request `storageLayout`, which needs only the right to list objects; a request for the
 * bucket itself needs another right. Undefined if the store does not tell. Rejects if it does not answer, or without a login.
 * @param login `none`: the request is made without a login
 */
export async function bucketPlace(
  bucket: string,
  {
    endpoint = GOOGLE,
    signal,
    login = 'own',
  }: { readonly endpoint?: string; readonly signal: AbortSignal; readonly login?: 'own' | 'none' },
): Promise<BucketPlace | undefined> {
  const token = login === 'none' ? undefined : await accessTokens(endpoint)();
  const url = `${endpoint.replace(/\/$/, '')}/storage/v1/b/${encodeURIComponent(bucket)}/storageLayout`;
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
  const response = await fetch(url, { headers, signal });
  const { location, locationType } = response.ok
    ? (JSON.parse(await answerText(response.body)) as Partial<BucketPlace>)
    : {};
  if (location === undefined || locationType === undefined) return undefined;
  return { location: location.toLowerCase(), locationType };
}

/**
 * One store over two buckets (docs/adr/0082): `system` holds the objects that decide, and only workers and servers write it.
 * `jobs` holds all others, and hosts write it too. An object of the job bucket with a name of the system bucket is never read,
 * listed or overwritten.
 */
export function splitStore(jobs: StorePort, system: StorePort): StorePort {
  const of = (name: string): StorePort => (isSystemObject(name) ? system : jobs);
  return {
    ...splitReader(jobs, system),
    probe: async () => void (await Promise.all([jobs.probe(), system.probe()])),
    write: (name, ...rest) => of(name).write(name, ...rest),
    upload: (name, source) => of(name).upload(name, source),
    uploadSession: (name, size) => of(name).uploadSession(name, size),
    replace: (name, ...rest) => of(name).replace(name, ...rest),
    // Every glob in use names a folder of one bucket.
    find: (glob, most) => of(glob).find(glob, most),
    remove: (name) => of(name).remove(name),
    downloadUrl: (name) => of(name).downloadUrl(name),
    uploadUrl: (name, expected) => of(name).uploadUrl(name, expected),
    objectUrl: (name) => of(name).objectUrl(name),
    signedUrl: (name, forMs) => of(name).signedUrl(name, forMs),
  };
}

/** The reading methods. */
export function splitReader(jobs: StoreReader, system: StoreReader): StoreReader {
  const of = (name: string): StoreReader => (isSystemObject(name) ? system : jobs);
  return {
    bucket: jobs.bucket,
    read: (name, range) => of(name).read(name, range),
    stat: (name) => of(name).stat(name),
    list: (prefix, startOffset, most) => listBoth(jobs, system, { prefix, startOffset, most }),
  };
}

interface Listing {
  readonly prefix: string;
  readonly startOffset: string | undefined;
  readonly most: number | undefined;
}

async function listBoth(jobs: StoreReader, system: StoreReader, listing: Listing): Promise<readonly StoredObject[]> {
  const { prefix, startOffset, most } = listing;
  // Every name with such a prefix is in one bucket, so one request is enough.
  if (isSystemObject(`${prefix}x`)) return system.list(prefix, startOffset, most);
  if (prefix.split('/').length > JOB_DEPTH) return jobs.list(prefix, startOffset, most);
  const [ofJobs, ofSystem] = await Promise.all([listOwn(jobs, listing), system.list(prefix, startOffset, most)]);
  const all = [...ofJobs, ...ofSystem.filter(({ name }) => isSystemObject(name))];
  return all.toSorted((a, b) => (a.name < b.name ? -1 : 1)).slice(0, most);
}

/** Names per request. */
const PAGE = 1_000;

/** Leaves out names that belong to the system bucket. So `most` cannot be passed on; the job bucket is listed page by page. */
async function listOwn(jobs: StoreReader, listing: Listing): Promise<readonly StoredObject[]> {
  const { prefix, startOffset, most = Infinity } = listing;
  const isOwn = ({ name }: StoredObject): boolean => !isSystemObject(name);
  if (most === Infinity) return (await jobs.list(prefix, startOffset)).filter(isOwn);
  const own: StoredObject[] = [];
  for (let [from, pages] = [startOffset, 0]; pages < MOST_LIST_PAGES; pages++) {
    const page = await jobs.list(prefix, from, PAGE);
    own.push(...page.filter(isOwn));
    const last = page.at(-1);
    if (last === undefined || page.length < PAGE || own.length >= most) return own;
    // '0' is the character after '/': this skips a folder of the system bucket, however many objects were put there.
    const [job = ''] = /^jobs\/[^/]+\//.exec(last.name) ?? [];
    const folder = SYSTEM_OF_JOB.folders.find((own) => last.name.startsWith(`${job}${own}`));
    from = job === '' || folder === undefined ? `${last.name}\u0000` : `${job}${folder.slice(0, -1)}0`;
  }
  throw endlessListing(objectPlace(jobs, prefix));
}

/** Number of parts of `jobs/ID/`. A longer prefix is below a folder of the job, which contains no system objects. */
const JOB_DEPTH = 3;

/** The rule of `isSystemObject` as globs of Cloud Storage. */
const SYSTEM_GLOBS = SYSTEM_FOLDERS.map((folder) => `${folder}**`);
const JOB_GLOBS = [...SYSTEM_OF_JOB.objects, ...SYSTEM_OF_JOB.folders.map((folder) => `${folder}**`)].map(
  (own) => `jobs/*/${own}`,
);
/** Few searches, because each goes through the names of all jobs. */
const JOB_SEARCHES = [
  `jobs/*/{${SYSTEM_OF_JOB.objects.join(',')}}`,
  `jobs/*/{${SYSTEM_OF_JOB.folders.map((folder) => folder.slice(0, -1)).join(',')}}/**`,
];

/** Names in the job bucket that belong in the system bucket, and whether the list is complete. */
export interface Strays {
  readonly names: readonly string[];
  readonly isWhole: boolean;
}

/** Finds objects that a move left behind or that someone put there. @param most per search, so that no kind hides another */
export async function strayObjects(jobs: Pick<StorePort, 'find'>, most = 10): Promise<Strays> {
  const found = await Promise.all([...SYSTEM_GLOBS, ...JOB_SEARCHES].map((glob) => jobs.find(glob, most)));
  return {
    names: found.flatMap(({ names }) => names).toSorted(),
    isWhole: found.every(({ isWhole }) => isWhole),
  };
}

/** Returns the globs for which the job bucket contains such objects, or may. */
export async function strayGlobs(jobs: Pick<StorePort, 'find'>): Promise<readonly string[]> {
  const globs = [...SYSTEM_GLOBS, ...JOB_GLOBS];
  const found = await Promise.all(globs.map((glob) => jobs.find(glob, 1)));
  return globs.filter((_, index) => (found[index]?.names.length ?? 0) > 0 || found[index]?.isWhole === false);
}

const COPIES_AT_ONCE = 16;

/**
 * Copies the deciding objects from a job bucket that was used alone into the system bucket. Existing objects stay, so repeating
 * is safe, and nothing in the job bucket is removed. No worker may run meanwhile, since it would write into one of the two.
 * @returns the number of objects copied
 */
export async function copySystemObjects(jobs: StoreReader, system: StorePort): Promise<number> {
  const listed = await Promise.all([...SYSTEM_FOLDERS, 'jobs/'].map((prefix) => jobs.list(prefix)));
  const names = listed
    .flat()
    .map(({ name }) => name)
    .filter(isSystemObject);
  let copied = 0;
  for (let from = 0; from < names.length; from += COPIES_AT_ONCE)
    await Promise.all(
      names.slice(from, from + COPIES_AT_ONCE).map(async (name) => {
        if ((await system.stat(name)) !== undefined) return;
        const content = await jobs.read(name);
        if (content !== undefined && (await system.write(name, content, 'absent')).kind === 'written') copied += 1;
      }),
    );
  return copied;
}
