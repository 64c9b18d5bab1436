import { messageOf } from '../../domain/error-words.js';
import { StoreRefused, type StoredObject } from './port.js';

export interface S3Page {
  readonly objects: readonly StoredObject[];
  /** Absent on the last page. */
  readonly next?: string;
}

interface Parsed {
  readonly ListBucketResult?: {
    readonly Contents?: readonly Readonly<Record<'Key' | 'Size' | 'ETag' | 'LastModified', string | undefined>>[];
    readonly EncodingType?: string;
    readonly IsTruncated?: string;
    readonly NextContinuationToken?: string;
  };
}

/** Reads a page of ListObjectsV2. @param prefix the store's, which names do not have @throws StoreRefused for anything else */
export async function readS3Page(xml: Buffer, prefix: string): Promise<S3Page> {
  const { XMLParser } = await import('fast-xml-parser');
  const parser = new XMLParser({
    ignoreAttributes: true,
    parseTagValue: false,
    // A name may begin or end with a blank.
    trimValues: false,
    isArray: (name) => name === 'Contents',
  });
  let parsed: Parsed;
  try {
    parsed = parser.parse(xml) as Parsed;
  } catch (error) {
    throw new StoreRefused(`store: a listing is no XML: ${messageOf(error)}`);
  }
  const page = parsed.ListBucketResult;
  if (page === undefined || typeof page !== 'object') throw new StoreRefused('store: a listing is not what S3 answers');
  const nameOf = page.EncodingType === 'url' ? unescaped : (key: string): string | undefined => key;
  const objects = (page.Contents ?? []).map(({ Key = '', Size, ETag = '', LastModified = '' }) => {
    const name = typeof Key === 'string' ? nameOf(Key) : undefined;
    if (name?.startsWith(prefix) !== true) throw new StoreRefused('store: a listing has a name that was not asked for');
    const updatedAt = toSecond(Date.parse(LastModified));
    return { name: name.slice(prefix.length), size: Number(Size), generation: bareEtag(String(ETag)), updatedAt };
  });
  const next = page.IsTruncated === 'true' ? page.NextContinuationToken : undefined;
  return { objects, ...(next !== undefined && { next }) };
}

/** The ETag without its quotes, in the forms of headers and of the XML of various servers. */
export const bareEtag = (etag: string): string => etag.replaceAll(/^W\/|"|&quot;|&#34;|&#x22;/gi, '');

/** Whole seconds, because a look at one object gives no more. */
const toSecond = (ms: number): number => Math.floor(ms / 1000) * 1000;

function unescaped(text: string): string | undefined {
  try {
    return decodeURIComponent(text.replaceAll('+', '%20'));
  } catch {
    return undefined;
  }
}

/** The last possible name before `name`: S3 lists names after a given one, and `name` itself is wanted. Undefined: the start. */
export function nameBefore(name: string): string | undefined {
  const [last] = /.$/su.exec(name) ?? [];
  if (last === undefined) return undefined;
  const rest = name.slice(0, -last.length);
  const code = last.codePointAt(0) ?? 0;
  if (code === 0) return rest;
  // There are no characters in the range of surrogates.
  const before = code === 0xe000 ? 0xd7ff : code - 1;
  // XML cannot contain U+0000. A name that ends with the previous character sorts after all names that begin like it.
  return before === 0 ? rest : `${rest}${String.fromCodePoint(before)}\u{10FFFD}`;
}
