import { answerText } from '../answer-text.js';
import type { BucketPlace } from '../../domain/bucket-place.js';
import { accessTokens } from '../access-token.js';

const GOOGLE = 'https://storage.googleapis.com';

/**
 * Finds a bucket's location by the one request that needs only the right to list its objects (`storageLayout`; that for the bucket itself
 * wants a right of its own). Undefined: the store does not say. Rejects where it does not answer, or nobody is logged in.
 * @param login `none`: as anybody may ask
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
