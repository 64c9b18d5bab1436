import { BUCKET_METHODS } from './bucket-calls.js';
import type { StoreMethod } from './call.js';
import { COPY_METHODS } from './copy-calls.js';
import { OBJECT_METHODS } from './object-calls.js';
import { UPLOAD_METHODS } from './upload-calls.js';

/** Calls by their names in the JSON API's reference. The XML API's calls are counted under the same names. */
export const STORE_METHODS = {
  ...BUCKET_METHODS,
  ...OBJECT_METHODS,
  ...UPLOAD_METHODS,
  ...COPY_METHODS,
} as const satisfies Readonly<Record<string, StoreMethod>>;
export type StoreMethodName = keyof typeof STORE_METHODS;
