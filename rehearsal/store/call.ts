import type { IncomingHttpHeaders, OutgoingHttpHeaders } from 'node:http';
import type { Readable } from 'node:stream';
import type { CallHeaders } from '../access/access-control.js';
import type { Buckets } from './buckets.js';
import type { UploadHead } from './multipart.js';
import type { MultipartUploads } from './multipart-uploads.js';
import type { RequestBody } from './request-body.js';
import type { ResumableUploads } from './uploads.js';

/** One HTTP request, with its path parsed by the router. */
export interface StoreCall {
  readonly verb: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingHttpHeaders;
  /** Whether a process of the rehearsal's own login makes the call. */
  readonly isOwnLogin: () => boolean;
  readonly body: RequestBody;
  readonly bucket: string;
  /** '' if the call is not about an object. For an upload whose body names the object: that name. */
  readonly object: string;
  /** Target of a copy. */
  readonly destination?: { readonly bucket: string; readonly object: string };
  /** Head and content of an upload. */
  readonly upload?: UploadHead;
  /** Scheme and authority that the client used. */
  readonly origin: string;
}

export type StoreAnswer =
  | { readonly kind: 'json'; readonly json: unknown; readonly status?: number; readonly headers?: OutgoingHttpHeaders }
  | BytesAnswer;

export interface BytesAnswer {
  readonly kind: 'bytes';
  readonly status: number;
  readonly headers: OutgoingHttpHeaders;
  /** A stream without a content-length header is sent in chunks. */
  readonly content: Readable | Buffer;
}

export interface StoreParts {
  readonly buckets: Buckets;
  readonly uploads: ResumableUploads;
  readonly multipartUploads: MultipartUploads;
  /** Returns the permissions that the caller holds; none for an invalid token. */
  readonly granted: (caller: CallHeaders, permissions: readonly string[]) => readonly string[];
}

export type StoreMethod = (parts: StoreParts, call: StoreCall) => StoreAnswer | Promise<StoreAnswer>;
