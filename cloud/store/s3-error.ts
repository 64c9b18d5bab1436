import { StoreRefused, StoreUnavailable } from './port.js';

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
const PASSING: ReadonlySet<number> = new Set([408, 409, 412, 429]);

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
  const isRefused = status >= 300 && status < 500 && !PASSING.has(status) && !PASSING_CODES.has(code ?? '');
  if (!isRefused) return new StoreUnavailable(text);
  return new StoreRefused(remedy === undefined ? text : `${text}: ${remedy}`);
}
