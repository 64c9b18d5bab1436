import { storeErrors } from './store-error.js';

/** The bytes of an upload that a request carries. */
export type ContentRange =
  /** `bytes *\/N`, `bytes *\/*`: no bytes; the request asks how many bytes have arrived. With N it says that N bytes are all. */
  | { readonly kind: 'query'; readonly total?: number }
  | {
      readonly kind: 'bytes';
      readonly start: number;
      /** `a-b`: the last byte that the request announces. Absent for `a-*`: bytes come until the request ends. */
      readonly end?: number;
      /** `/N`: total bytes of the object; absent for `/*`. */
      readonly total?: number;
    };

/** Without the header a request carries all bytes. Throws StoreError 400. */
export function parseContentRange(header: string | undefined): ContentRange {
  if (header === undefined) return { kind: 'bytes', start: 0 };
  const match = /^bytes[ =](?:\*|(\d{1,15})-(\d{1,15}|\*))\/(\d{1,15}|\*)$/i.exec(header.trim());
  if (match === null) throw storeErrors.invalid(`Failed to parse Content-Range header: ${header}`);
  const [start, end, total] = [numberOf(match[1]), numberOf(match[2]), numberOf(match[3])];
  if (start === undefined) return { kind: 'query', ...(total !== undefined && { total }) };
  if ((end !== undefined && end < start) || (total !== undefined && (end ?? start) > total)) {
    throw storeErrors.invalid(`Failed to parse Content-Range header: ${header}`);
  }
  return { kind: 'bytes', start, ...(end !== undefined && { end }), ...(total !== undefined && { total }) };
}

function numberOf(text: string | undefined): number | undefined {
  return text === undefined || text === '*' ? undefined : Number(text);
}
