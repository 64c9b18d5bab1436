import { readFile } from 'node:fs/promises';
import type { StorePort } from '../cloud/store/port.js';
import type { OperatorFile } from '../quota/files/pool-files.js';

/** The parts of `StorePort` that read an object. */
export type ObjectReader = Pick<StorePort, 'stat' | 'read'>;

/** A file as it was just read. */
export interface ReadFile extends OperatorFile {
  /** The user who applied it; absent: it was not applied, an operator put it there. */
  readonly appliedBy?: string;
}

/** Reads one file of a pool, from any place. Rejects with the reason if it cannot be read. */
export type FileReader = () => Promise<ReadFile | undefined>;

const GOOGLE_URL = /^gs:\/\/([^/]+)\/(.+)$/;

/** Bucket and name of `gs://BUCKET/NAME`; undefined for a path. */
export function objectOf(place: string): { readonly bucket: string; readonly name: string } | undefined {
  const [, bucket, name] = GOOGLE_URL.exec(place) ?? [];
  return bucket === undefined || name === undefined ? undefined : { bucket, name };
}

/** Read anew each time: a look at a local file costs nothing. */
export const pathReader =
  (path: string): FileReader =>
  async () => ({ name: path, text: await readFile(path, 'utf8') });

/** Asks for the object's metadata each time, and for its content only when its generation has changed. The object must exist. */
export function objectReader(store: ObjectReader, name: string, url: string): FileReader {
  const read = whenChanged(store, name);
  return async () => {
    const text = await read();
    if (text === undefined) throw new Error('there is no such object');
    return { name: url, text };
  };
}

/** Reads the file that `jobctl quota apply` put there; undefined if there is none. */
export function appliedReader(store: ObjectReader, name: string, shown: string): FileReader {
  const read = whenChanged(store, name);
  return async () => {
    const stored = await read();
    return stored === undefined ? undefined : { name: shown, ...withoutFooter(stored) };
  };
}

function whenChanged(store: ObjectReader, name: string): () => Promise<string | undefined> {
  let known: { readonly generation: string; readonly text: string } | undefined;
  return async () => {
    const found = await store.stat(name);
    if (found === undefined) return undefined;
    if (known?.generation !== found.generation) {
      // If it was written again in between, it is newer than this generation. Then it is read once more, and nothing is missed.
      const text = (await store.read(name))?.toString('utf8');
      if (text === undefined) return undefined;
      known = { generation: found.generation, text };
    }
    return known.text;
  };
}

/**
 * The last line of an applied file, so that lines and columns are those of the file itself, and a reader of the object sees who
 * applied it.
 */
const FOOTER = /^# applied by (.*) with jobctl quota apply, \S+\n?$/m;

/** @param at ISO time */
export function withFooter(text: string, by: string, at: string): string {
  const own = withoutFooter(text).text;
  const end = own === '' || own.endsWith('\n') ? '' : '\n';
  return `${own}${end}# applied by ${by.replaceAll(/\s+/g, ' ')} with jobctl quota apply, ${at}\n`;
}

function withoutFooter(stored: string): { readonly text: string; readonly appliedBy?: string } {
  const lastLine = stored.lastIndexOf('\n', stored.length - 2) + 1;
  const by = FOOTER.exec(stored.slice(lastLine))?.[1];
  return by === undefined ? { text: stored } : { text: stored.slice(0, lastLine), appliedBy: by };
}

/**
 * Caches the last judgement of each pool's files until one of them changes. Every submit asks, and judging 100 projects takes 100
 * ms.
 */
export function unlessSame<Files extends readonly (ReadFile | undefined)[], Judged>(
  judge: (pool: string, ...files: Files) => Judged,
): (pool: string, ...files: Files) => Judged {
  const before = new Map<string, { readonly files: Files; readonly judged: Judged }>();
  return (pool, ...files) => {
    const known = before.get(pool);
    if (known && files.every((file, index) => isSame(file, known.files[index]))) return known.judged;
    const judged = judge(pool, ...files);
    before.set(pool, { files, judged });
    return judged;
  };
}

const isSame = (a: ReadFile | undefined, b: ReadFile | undefined): boolean =>
  a?.name === b?.name && a?.text === b?.text;
