import { storeErrors } from './store-error.js';

/** Which bytes of an upload a request carries. */
export type ContentRange =
  /** `bytes *\/N`, `bytes *\/*`: none, it asks how far the upload is; with N it says that this is all. */
  | { readonly kind: 'query'; readonly total?: number }
  | {
      readonly kind: 'bytes';
      readonly start: number;
      /** `a-b`: so it says how many come; absent for `a-*`, until the request ends. */
      readonly end?: number;
      /** `/N`: how many the object has; absent for `/*`. */
      readonly total?: number;
    };

/** Without the header a request carries everything. Throws StoreError 400. */
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
