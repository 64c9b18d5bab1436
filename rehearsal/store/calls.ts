import type { IncomingHttpHeaders, OutgoingHttpHeaders } from 'node:http';
import type { Readable } from 'node:stream';
import { BUCKET_METHODS } from './bucket-calls.js';
import type { Buckets } from './buckets.js';
import { COPY_METHODS } from './copy-calls.js';
import type { UploadHead } from './multipart.js';
import type { MultipartUploads } from './multipart-uploads.js';
import { OBJECT_METHODS } from './object-calls.js';
import type { RequestBody } from './request-body.js';
import { UPLOAD_METHODS } from './upload-calls.js';
import type { ResumableUploads } from './uploads.js';

/** One HTTP request, its path taken apart by the router. */
export interface StoreCall {
  readonly verb: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingHttpHeaders;
  readonly body: RequestBody;
  readonly bucket: string;
  /** '' where the call is about none. Of an upload whose body names the object: that name. */
  readonly object: string;
  /** Of a copy. */
  readonly destination?: { readonly bucket: string; readonly object: string };
  /** Of an upload. */
  readonly upload?: UploadHead;
  /** Scheme and authority that the client used. */
  readonly origin: string;
}

export type StoreAnswer =
  | { readonly kind: 'json'; readonly json: unknown; readonly status?: number; readonly headers?: OutgoingHttpHeaders }
  | {
      readonly kind: 'bytes';
      readonly status: number;
      readonly headers: OutgoingHttpHeaders;
      /** Without a content-length among the headers a stream is sent in chunks. */
      readonly content: Readable | Buffer;
    };

export interface StoreParts {
  readonly buckets: Buckets;
  readonly uploads: ResumableUploads;
  readonly multipartUploads: MultipartUploads;
  /** Which of these the caller holds, by its header; none for a token that is not good. */
  readonly granted: (authorization: string | undefined, permissions: readonly string[]) => readonly string[];
}

export type StoreMethod = (parts: StoreParts, call: StoreCall) => StoreAnswer | Promise<StoreAnswer>;

/** Calls by the names of the JSON API's reference; the XML API's are counted among them. */
export const STORE_METHODS = {
  ...BUCKET_METHODS,
  ...OBJECT_METHODS,
  ...UPLOAD_METHODS,
  ...COPY_METHODS,
} as const satisfies Readonly<Record<string, StoreMethod>>;
export type StoreMethodName = keyof typeof STORE_METHODS;
