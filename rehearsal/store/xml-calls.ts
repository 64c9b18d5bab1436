import type { OutgoingHttpHeaders } from 'node:http';
import { empty, noContent } from './answers.js';
import type { StoreAnswer, StoreCall, StoreMethod } from './call.js';
import { mediaOf, metadataHeaders } from './media.js';
import type { NamedPart } from './multipart-uploads.js';
import { readGeneration } from './object-calls.js';
import type { ObjectRecord } from './object-record.js';
import { etagOf } from './object-record.js';
import type { Preconditions } from './preconditions.js';
import { checkReadPreconditions, preconditionsOf } from './preconditions.js';
import { storeErrors } from './store-error.js';
import { askForMore, beginUpload, checkObjectName, resumeUpload, writeUpload } from './upload-calls.js';
import { expectedHashes } from './upload-checks.js';
import { escapeXml, xmlAnswer } from './xml-answers.js';

/**
 * Objects over the XML API (cloud.google.com/storage/docs/xml-api/reference-methods, 2026-11). Signed URLs point at it, and the
 * Python and Go clients use it for parts of their work. Buckets are not served over it.
 */
export const XML_METHODS = {
  async get({ buckets }, call) {
    const { objects } = buckets.get(call.bucket);
    const object = objects.get(call.object, readGeneration(call.query));
    checkReadPreconditions(object, xmlPreconditions(call));
    const media = await mediaOf(objects, object, call.headers, call.verb === 'HEAD');
    const etag = object.md5Hash === undefined ? etagOf(object) : hexOf(object.md5Hash);
    return { kind: 'bytes', ...media, headers: { ...media.headers, ...metadataHeaders(object), etag: `"${etag}"` } };
  },
  put: async (parts, call) => written(await writeUpload(parts, call, xmlPreconditions(call))),
  async delete({ buckets }, call) {
    buckets.get(call.bucket).objects.remove(call.object, xmlPreconditions(call), readGeneration(call.query));
    return noContent();
  },
  async beginResumable(parts, call) {
    if (call.headers['x-goog-resumable'] !== 'start') throw storeErrors.notServed('A POST of a form');
    const id = beginUpload(parts, call, xmlPreconditions(call));
    const path = `/${encodeURIComponent(call.bucket)}/${encodeURIComponent(call.object)}`;
    const headers = { location: `${call.origin}${path}?upload_id=${id}`, 'x-guploader-uploadid': id };
    return empty(201, headers);
  },
  async resume(parts, call) {
    const answer = await resumeUpload(parts, call);
    return answer.kind === 'more' ? askForMore(call, answer) : written(answer.object);
  },
  beginParts({ multipartUploads }, { bucket, object: name, upload }) {
    checkObjectName(name);
    const id = multipartUploads.begin({ bucket, name, resource: upload?.resource ?? {} });
    const content = `<Bucket>${bucket}</Bucket><Key>${escapeXml(name)}</Key><UploadId>${id}</UploadId>`;
    return xmlAnswer(200, 'InitiateMultipartUploadResult', content);
  },
  async putPart({ multipartUploads }, call) {
    const number = Number(call.query.get('partNumber'));
    if (!Number.isInteger(number) || number < 1 || number > 10_000) {
      throw storeErrors.invalidValue('partNumber', call.query.get('partNumber') ?? '');
    }
    const expected = expectedHashes({}, call.headers);
    const part = await multipartUploads.put(partsId(call), number, call.body.stream(), expected);
    const headers = { etag: `"${part.etag}"`, 'x-goog-hash': `crc32c=${part.crc32c},md5=${part.md5}` };
    return empty(200, headers);
  },
  async completeParts({ multipartUploads }, call) {
    const record = await multipartUploads.complete(partsId(call), readParts((await call.body.whole()).toString()));
    const content = `<Bucket>${call.bucket}</Bucket><Key>${escapeXml(call.object)}</Key><ETag>"${etagOf(record)}"</ETag>`;
    return xmlAnswer(200, 'CompleteMultipartUploadResult', content, headersOf(record));
  },
  abortParts({ multipartUploads }, call) {
    multipartUploads.abort(partsId(call));
    return noContent();
  },
} as const satisfies Readonly<Record<string, StoreMethod>>;
export type XmlOperation = keyof typeof XML_METHODS;

/** The object's attributes; the XML API takes them from headers. */
export function resourceOfHeaders({ headers }: StoreCall): Record<string, unknown> {
  const named = [
    ['contentType', 'content-type'],
    ['contentEncoding', 'content-encoding'],
    ['contentDisposition', 'content-disposition'],
    ['contentLanguage', 'content-language'],
    ['cacheControl', 'cache-control'],
    ['storageClass', 'x-goog-storage-class'],
    ['customTime', 'x-goog-custom-time'],
  ] as const;
  const fields: Record<string, unknown> = Object.fromEntries(
    named.flatMap(([field, header]) => (headers[header] === undefined ? [] : [[field, headers[header]]])),
  );
  const metadata = Object.entries(headers).flatMap(([header, value]) => {
    const key = /^x-goog-meta-(.+)$/.exec(header)?.[1];
    return key === undefined ? [] : [[key, String(value)] as const];
  });
  return { ...fields, ...(metadata.length > 0 && { metadata: Object.fromEntries(metadata) }) };
}

function xmlPreconditions({ headers }: StoreCall): Preconditions {
  return preconditionsOf((name) => headers[`x-goog-if${name.replaceAll(/[A-Z]/g, '-$&').toLowerCase()}`]);
}

function written(record: ObjectRecord): StoreAnswer {
  return empty(200, headersOf(record));
}

function headersOf(record: ObjectRecord): OutgoingHttpHeaders {
  const { md5Hash, crc32c, generation, metageneration } = record;
  return {
    etag: `"${md5Hash === undefined ? etagOf(record) : hexOf(md5Hash)}"`,
    'x-goog-generation': generation,
    'x-goog-metageneration': metageneration,
    'x-goog-hash': `crc32c=${crc32c}${md5Hash === undefined ? '' : `,md5=${md5Hash}`}`,
    'x-goog-stored-content-length': record.size,
  };
}

/** Reads `<Part><PartNumber>1</PartNumber><ETag>"..."</ETag></Part>`, with or without namespaces. Throws StoreError 400. */
function readParts(xml: string): readonly NamedPart[] {
  const parts = [...xml.matchAll(/<(?:\w+:)?Part>([\s\S]*?)<\/(?:\w+:)?Part>/g)].map(([, part = '']) => {
    const number = /PartNumber>\s*(\d{1,5})\s*</.exec(part)?.[1];
    const etag = /ETag>\s*(?:"|&quot;|&#34;)?([0-9a-f]+)(?:"|&quot;|&#34;)?\s*</.exec(part)?.[1];
    if (number === undefined || etag === undefined) throw storeErrors.malformedXml();
    return { number: Number(number), etag };
  });
  if (parts.length === 0) throw storeErrors.malformedXml();
  return parts;
}

function partsId({ query }: StoreCall): string {
  return query.get('uploadId') ?? '';
}

function hexOf(base64: string): string {
  return Buffer.from(base64, 'base64').toString('hex');
}
