import { regionOf } from './job-file/cloud-path.js';

/**
 * The configured place of an installation's objects: `NAME` or `gs://NAME` of Cloud Storage, `s3://BUCKET[/PREFIX]` of a store
 * that speaks S3, `file:///ABSOLUTE/PATH` of a folder.
 */
type StorePlace =
  | { readonly kind: 'google'; readonly bucket: string }
  /** `prefix` is empty or ends with a slash. */
  | { readonly kind: 's3'; readonly bucket: string; readonly prefix: string }
  | { readonly kind: 'folder'; readonly path: string };

/** The problem of a value, as the end of a sentence that begins with the value, and its remedy. */
interface StorePlaceProblem {
  readonly what: string;
  readonly remedy: string;
}

const GOOGLE_NAME = /^[a-z\d][a-z\d._-]{0,220}[a-z\d]$/;
/** Names of S3's general purpose buckets (docs.aws.amazon.com, "General purpose bucket naming rules", 2026-11). */
const S3_NAME = /^[a-z\d][a-z\d.-]{1,61}[a-z\d]$/;
const FORMS = 'NAME or gs://NAME (Google Cloud Storage), s3://BUCKET or s3://BUCKET/PREFIX, or file:///ABSOLUTE/PATH';

/** Returns the place, or the problem of the text. */
export function readStorePlace(text: string): StorePlace | StorePlaceProblem {
  const [, scheme, rest = ''] = /^([a-z][a-z\d+.-]*):(.*)$/is.exec(text) ?? [];
  switch (scheme) {
    case undefined:
      return googlePlace(text);
    case 'gs':
      return googlePlace(rest.replace(/^\/\//, '').replace(/\/$/, ''));
    case 's3':
      return s3Place(rest);
    case 'file':
      return folderPlace(rest);
    default:
      return { what: `names a store that jobctl does not know: ${scheme}`, remedy: FORMS };
  }
}

export const isPlaceProblem = (read: StorePlace | StorePlaceProblem): read is StorePlaceProblem => 'what' in read;

/** One line for a configuration's error, or undefined if the text is a place. */
export function storePlaceProblem(text: string): string | undefined {
  const read = readStorePlace(text);
  return isPlaceProblem(read) ? `${JSON.stringify(text)} ${read.what}: ${read.remedy}` : undefined;
}

interface Stores {
  readonly bucket: string;
  readonly systemBucket?: string | undefined;
  readonly endpoint?: string | undefined;
}

/** A conflict between valid stores, with the field to blame. */
export function storesProblem({
  bucket,
  systemBucket,
  endpoint,
}: Stores): { readonly field: 'systemBucket' | 'endpoint'; readonly text: string } | undefined {
  const read = readStorePlace(bucket);
  if (isPlaceProblem(read)) return undefined;
  if (endpoint !== undefined && read.kind === 'folder')
    return {
      field: 'endpoint',
      text: `'${endpoint}' is the address of a server, and the store is a folder, '${bucket}': leave it out`,
    };
  const system = systemBucket === undefined ? undefined : readStorePlace(systemBucket);
  if (system === undefined || isPlaceProblem(system) || system.kind === read.kind) return undefined;
  return {
    field: 'systemBucket',
    text: `'${systemBucket}' is another kind of store than '${bucket}': both are of one kind`,
  };
}

/** @throws RangeError if the text is not a place: a text from people must be checked before */
export function storePlace(text: string): StorePlace {
  const read = readStorePlace(text);
  if (isPlaceProblem(read)) throw new RangeError(`store: ${JSON.stringify(text)} ${read.what}: ${read.remedy}`);
  return read;
}

function googlePlace(bucket: string): StorePlace | StorePlaceProblem {
  if (bucket.includes('/')) return { what: 'is not the name of a bucket', remedy: nameAlone(bucket) };
  if (GOOGLE_NAME.test(bucket)) return { kind: 'google', bucket };
  const remedy = 'small letters, digits, -, _ and dots; a letter or digit at both ends';
  return { what: 'is not the name of a bucket', remedy };
}

/** Hint for a text with slashes: if it looks like a path, a folder was meant, otherwise an object of a bucket. */
const nameAlone = (text: string): string =>
  /^[./~]/.test(text) ? `a folder is file:///ABSOLUTE/PATH` : `the name alone: ${text.split('/')[0] ?? ''}`;

function s3Place(rest: string): StorePlace | StorePlaceProblem {
  const [, bucket = '', path = ''] = /^\/\/([^/]*)(?:\/(.*))?$/s.exec(rest) ?? [];
  if (!S3_NAME.test(bucket))
    return {
      what: 'names no bucket of S3',
      remedy: 's3://BUCKET or s3://BUCKET/PREFIX; 3 to 63 small letters, digits, - and dots',
    };
  const prefix = path.replace(/\/$/, '');
  const problem = prefix === '' ? undefined : nameProblem(prefix);
  if (problem !== undefined) return { what: `has a prefix that ${problem}`, remedy: 's3://BUCKET/PREFIX' };
  return { kind: 's3', bucket, prefix: prefix === '' ? '' : `${prefix}/` };
}

function folderPlace(rest: string): StorePlace | StorePlaceProblem {
  const [, encoded] = /^\/\/(\/.*)$/s.exec(rest) ?? [];
  const path = encoded === undefined ? undefined : decoded(encoded)?.replace(/\/$/, '');
  if (path === undefined)
    return { what: 'is not the URL of a folder of this computer', remedy: 'file:///ABSOLUTE/PATH' };
  const problem = path === '' ? 'is the whole file system' : nameProblem(path.slice(1));
  if (problem !== undefined) return { what: `has a path that ${problem}`, remedy: 'file:///ABSOLUTE/PATH' };
  return { kind: 'folder', path };
}

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

/** The reason why a name of parts between slashes is not taken as a path, or undefined if it is. */
export function nameProblem(name: string): string | undefined {
  if (name.includes('\0')) return 'has a zero byte in it';
  const parts = name.split('/');
  if (parts.some((part) => part === '.' || part === '..')) return 'has . or .. as one of its parts';
  return parts.includes('') ? 'has two slashes in a row, or one at an end' : undefined;
}

/** `storeText` of a user's text. A text that is not a place stays as it is, for the code that opens it to refuse. */
export function canonicalStore(text: string): string {
  const read = readStorePlace(text);
  return isPlaceProblem(read) ? text : storeText(read);
}

/** The form of `StorePort.bucket`: the bare name of a Google bucket, otherwise a URL. */
export function storeText(place: StorePlace): string {
  switch (place.kind) {
    case 'google':
      return place.bucket;
    case 's3':
      return `s3://${place.bucket}${place.prefix === '' ? '' : `/${place.prefix.slice(0, -1)}`}`;
    case 'folder':
      return `file://${place.path.split('/').map(encodeURIComponent).join('/')}`;
  }
}

/**
 * The place of an object, for people and their tools.
 * @param bucket from `StorePort.bucket`; a reader that reads through a server has the server's address there
 */
export function placeOfObject(bucket: string, name: string): string {
  if (/^https?:/.test(bucket)) return `${name} of ${bucket}`;
  return `${bucketUrl(bucket)}/${name}`;
}

/** `gs://NAME`, `s3://..`, `file:///..` */
export const bucketUrl = (bucket: string): string => (/^[a-z\d]+:\/\//.test(bucket) ? bucket : `gs://${bucket}`);

/**
 * The command that makes a bucket of Cloud Storage.
 * @param zone whose region the bucket is for; a project or zone that is absent stands as a placeholder
 */
export function createBucketCommand(bucket: string, googleProject: string | undefined, zone?: string): string {
  const location = zone === undefined ? 'REGION' : regionOf(zone);
  return `gcloud storage buckets create gs://${bucket} --project=${googleProject ?? 'PROJECT'} --location=${location} --uniform-bucket-level-access`;
}

/** The keys under which sections of job files, mounts of their specs and volumes of pods name a bucket. */
const BUCKET_KEYS: ReadonlySet<string> = new Set(['bucket_name', 'bucket', 'bucketName']);
/** Matches a bucket's URL, and a variable or pattern that goes on behind it: then the text does not name a bucket yet. */
const GOOGLE_URL = /\bgs:\/\/([\w.-]+)([${*?%<[]?)/g;

/**
 * The buckets of Cloud Storage that a job names, each once: in a `gs://` of any text, or as the value of a key for one.
 * @param tree plain JSON: a job file, a spec, or values of one
 */
export function bucketsNamedIn(tree: unknown): readonly string[] {
  const names = new Set<string>();
  const look = (value: unknown, key?: string): void => {
    if (typeof value === 'object' && value !== null)
      for (const [name, child] of Object.entries(value)) look(child, Array.isArray(value) ? key : name);
    if (typeof value !== 'string') return;
    const named = [...value.matchAll(GOOGLE_URL)].flatMap(([, name = '', rest]) =>
      rest === '' ? [name.replace(/\.$/, '')] : [],
    );
    if (key !== undefined && BUCKET_KEYS.has(key)) named.push(value);
    for (const name of named) if (GOOGLE_NAME.test(name) && name.length >= LEAST_GOOGLE_NAME) names.add(name);
  };
  look(tree);
  return [...names];
}

const LEAST_GOOGLE_NAME = 3;

/** Returns whether a store is a Google bucket, which hosts with a Google account reach by themselves. */
export const isGoogleBucket = (bucket: string): boolean => !bucket.includes('://');

/** Location of a bucket's objects, in Cloud Storage's terms. */
export interface BucketPlace {
  /** In small letters: `us-central1`, `us`. */
  readonly location: string;
  /** `region`, `dual-region` or `multi-region`. */
  readonly locationType: string;
}

/** The regions of `zones` from which a bucket is read over long distances, at a price. Each once, in order. */
export function farRegions(place: BucketPlace, zones: readonly string[]): readonly string[] {
  return [...new Set(zones.map(regionOf))].filter((region) => !isNear(place, region));
}

/** The same zones: first those that are near the most of these buckets, otherwise in their order. */
export function nearFirst(places: readonly BucketPlace[], zones: readonly string[]): readonly string[] {
  const farOf = (zone: string): number => places.filter((place) => !isNear(place, regionOf(zone))).length;
  return zones.toSorted((a, b) => farOf(a) - farOf(b));
}

/** `us` holds every us-.. region, `eu` every europe-.. one. A dual region (nam4) does not name its two, and counts as near. */
function isNear({ location, locationType }: BucketPlace, region: string): boolean {
  if (locationType === 'dual-region') return true;
  if (locationType === 'multi-region') return region.startsWith(location);
  return location === region;
}

const WHAT_TO_DO =
  'make a second one (jobctl setup server --bucket BUCKET --system-bucket NAME) and name it here: docs/security.md, "Separate what decides"';

/** The problem of `store.systemBucket` in verified mode (docs/adr/0082), or undefined if it is a second bucket. */
export function systemBucketProblem(bucket: string, systemBucket: string | undefined): string | undefined {
  if (systemBucket === undefined)
    return `is missing, and in verified mode hosts must not be able to write what decides: ${WHAT_TO_DO}`;
  return systemBucket === bucket
    ? `'${systemBucket}' is the job bucket too, which hosts write: ${WHAT_TO_DO}`
    : undefined;
}
