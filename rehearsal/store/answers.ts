import type { OutgoingHttpHeaders } from 'node:http';
import type { BytesAnswer, StoreAnswer } from './call.js';
import { StoreError } from './store-error.js';

export function json(content: unknown): StoreAnswer {
  return { kind: 'json', json: content };
}

/** A list in the JSON API's form: the answer leaves out an empty list. */
export function listed(
  kind: string,
  lists: Readonly<Record<string, readonly unknown[]>>,
  nextPageToken?: string,
): StoreAnswer {
  const filled = Object.entries(lists).filter(([, list]) => list.length > 0);
  return json({ kind, ...(nextPageToken !== undefined && { nextPageToken }), ...Object.fromEntries(filled) });
}

/** An answer without a body. */
export function empty(status: number, headers: OutgoingHttpHeaders = {}): StoreAnswer {
  return { kind: 'bytes', status, headers, content: Buffer.alloc(0) };
}

export function noContent(): StoreAnswer {
  return empty(204);
}

/** The JSON API's form of a refusal. */
export function refused(error: StoreError): StoreAnswer {
  return { kind: 'json', json: error, status: error.httpStatus };
}

/** Turns any other error into an internal error of the store. */
export function asStoreError(error: unknown): StoreError {
  return error instanceof StoreError ? error : new StoreError(500, 'backendError', String(error));
}

/** Converts an answer to its form on the wire. */
export function asBytes(answer: StoreAnswer): BytesAnswer {
  if (answer.kind === 'bytes') return answer;
  const content = Buffer.from(JSON.stringify(answer.json));
  const type = { 'content-type': 'application/json; charset=UTF-8', 'content-length': content.length };
  return { kind: 'bytes', status: answer.status ?? 200, headers: { ...answer.headers, ...type }, content };
}
