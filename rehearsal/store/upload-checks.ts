import type { IncomingHttpHeaders } from 'node:http';
import type { ContentHashes } from './crc32c.js';
import { storeErrors } from './store-error.js';

/** Hashes that the uploader gave for the content, base64. */
export interface ExpectedHashes {
  readonly crc32c?: string;
  readonly md5?: string;
}

/** Reads the hashes from the object's resource, from `x-goog-hash: crc32c=..,md5=..`, and from `content-md5`. */
export function expectedHashes(
  resource: Readonly<Record<string, unknown>>,
  headers: IncomingHttpHeaders,
): ExpectedHashes {
  const header = String(headers['x-goog-hash'] ?? '');
  const named = (name: string): string | undefined => RegExp(`(?:^|,)\\s*${name}=([^,\\s]+)`).exec(header)?.[1];
  const text = (value: unknown): string | undefined => (typeof value === 'string' && value !== '' ? value : undefined);
  const crc32c = named('crc32c') ?? text(resource['crc32c']);
  const md5 = named('md5') ?? text(headers['content-md5']) ?? text(resource['md5Hash']);
  return { ...(crc32c !== undefined && { crc32c }), ...(md5 !== undefined && { md5 }) };
}

/** Throws StoreError 400 if the content does not match its uploader's hashes. */
export function checkHashes(expected: ExpectedHashes, found: ContentHashes): void {
  const pairs = [
    ['CRC32C', expected.crc32c, found.crc32c],
    ['MD5 hash', expected.md5, found.md5],
  ] as const;
  for (const [what, wanted, got] of pairs) {
    if (wanted !== undefined && got !== undefined && wanted !== got) {
      throw storeErrors.invalid(`Provided ${what} "${wanted}" doesn't match calculated ${what} "${got}".`);
    }
  }
}
