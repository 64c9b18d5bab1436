import { messageOf } from '../../domain/errors.js';
import { BucketMissing, StoreRefused, StoreUnavailable, type StoredObject } from './port.js';

interface Answer {
  readonly status: number;
  readonly body: Buffer;
}

/** The part of an error's body that is searched. */
const MOST_ERROR_BYTES = 16_384;

/** `Code` and `Message` of S3's XML; the answer to a HEAD has neither. */
export function s3Refusal({ body }: Pick<Answer, 'body'>): { readonly code?: string; readonly message?: string } {
  const text = body.subarray(0, MOST_ERROR_BYTES).toString('utf8');
  const [, code] = /<Code>([\w.-]{1,100})<\/Code>/.exec(text) ?? [];
  const [, message] = /<Message>([^<]{0,1000})<\/Message>/.exec(text) ?? [];
  return { ...(code !== undefined && { code }), ...(message !== undefined && { message }) };
}

const LOGIN = 'check AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or the profile that AWS_PROFILE names';
const REGION = 'set AWS_REGION to the region of the bucket';
const RIGHTS =
  'the key needs s3:ListBucket on the bucket, and s3:GetObject, s3:PutObject and s3:DeleteObject on its objects';

const REMEDIES: Readonly<Record<string, string>> = {
  AccessDenied: RIGHTS,
  AuthorizationHeaderMalformed: REGION,
  ExpiredToken: LOGIN,
  InvalidAccessKeyId: LOGIN,
  InvalidToken: LOGIN,
  NoSuchBucket: "make the bucket, or name another: 'jobctl setup server' makes it where the key may",
  PermanentRedirect: REGION,
  RequestTimeTooSkewed: 'set the clock of this computer',
  SignatureDoesNotMatch: LOGIN,
};
/** For answers to HEAD, which have no body. */
const BY_STATUS: Readonly<Record<number, string>> = {
  301: 'PermanentRedirect',
  401: 'InvalidAccessKeyId',
  403: 'AccessDenied',
};

/** Codes of answers with status 400 that may pass; all other codes are refusals. */
const PASSING_CODES: ReadonlySet<string> = new Set(['RequestTimeout', 'SlowDown', 'InternalError']);
const PASSING_STATUS: ReadonlySet<number> = new Set([408, 409, 412, 429]);

/** Explains an answer that is not a success: `StoreRefused` only if the store says "no". @param what the action and its object */
export function s3Failure(answer: Answer, what: string): StoreRefused | StoreUnavailable {
  const { status } = answer;
  const { code, message } = s3Refusal(answer);
  const isWebPage = /^\s*<(!doctype )?html/i.test(answer.body.subarray(0, 200).toString());
  const said = isWebPage
    ? 'the answer is a web page, so a proxy or another server gave it'
    : (message ?? code ?? 'refused');
  const remedy = REMEDIES[code ?? BY_STATUS[status] ?? ''];
  const text = `store: ${what}: ${said.replaceAll(/\s+/g, ' ')} (HTTP ${status}${code === undefined ? '' : `, ${code}`})`;
  const isRefused = status >= 300 && status < 500 && !PASSING_STATUS.has(status) && !PASSING_CODES.has(code ?? '');
  if (!isRefused) return new StoreUnavailable(text);
  const Refused = code === 'NoSuchBucket' ? BucketMissing : StoreRefused;
  return new Refused(remedy === undefined ? text : `${text}: ${remedy}`);
}

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

/**
 * Reads a page of ListObjectsV2.
 * @param prefix the store's prefix, which the names in the result do not have
 * @throws StoreRefused for anything else
 */
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
