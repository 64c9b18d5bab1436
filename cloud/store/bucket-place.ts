import { answerText } from '../answer-text.js';
import type { BucketPlace } from '../../domain/bucket-place.js';
import { accessTokens } from '../access-token.js';

const GOOGLE = 'https://storage.googleapis.com';

/**
 * Finds a bucket's location by `storageLayout`, the only such request that needs just the right to list objects (asking for the
 * bucket itself needs another right). Undefined if the store does not say. Rejects if the store does not answer or there is no
 * login.
 */
export async function bucketPlace(
  bucket: string,
  { endpoint = GOOGLE, signal }: { readonly endpoint?: string; readonly signal: AbortSignal },
): Promise<BucketPlace | undefined> {
  const token = await accessTokens(endpoint)();
  const url = `${endpoint.replace(/\/$/, '')}/storage/v1/b/${encodeURIComponent(bucket)}/storageLayout`;
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
  const response = await fetch(url, { headers, signal });
  const { location, locationType } = response.ok
    ? (JSON.parse(await answerText(response.body)) as Partial<BucketPlace>)
    : {};
  if (location === undefined || locationType === undefined) return undefined;
  return { location: location.toLowerCase(), locationType };
}
