import { BUCKET_METHODS } from './bucket-calls.js';
import type { StoreMethod } from './call.js';
import { COPY_METHODS } from './copy-calls.js';
import { OBJECT_METHODS } from './object-calls.js';
import { UPLOAD_METHODS } from './upload-calls.js';

/** Calls by the names of the JSON API's reference; the XML API's are counted among them. */
export const STORE_METHODS = {
  ...BUCKET_METHODS,
  ...OBJECT_METHODS,
  ...UPLOAD_METHODS,
  ...COPY_METHODS,
} as const satisfies Readonly<Record<string, StoreMethod>>;
export type StoreMethodName = keyof typeof STORE_METHODS;
