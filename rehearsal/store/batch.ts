import { randomBytes } from 'node:crypto';
import { STATUS_CODES } from 'node:http';
import type { Readable } from 'node:stream';
import { asBytes } from './answers.js';
import type { StoreAnswer } from './call.js';
import { boundaryOf } from './multipart.js';
import { RequestBody } from './request-body.js';
import type { StoreRequest, StoreService } from './service.js';
import { storeErrors } from './store-error.js';
import { parseTarget } from './target.js';

/** cloud.google.com/storage/docs/batch, 2026-11. */
const MAX_CALLS = 100;

export function isBatch({ verb, path }: StoreRequest): boolean {
  return verb === 'POST' && /^\/batch(?:\/storage\/v1)?\/?$/.test(path);
}

/** Answers several calls in one request (multipart/mixed), one after another, in their order. Throws StoreError 400. */
export async function answerBatch(service: StoreService, request: StoreRequest): Promise<StoreAnswer> {
  const boundary = boundaryOf(String(request.headers['content-type'] ?? ''));
  const text = (await new RequestBody(request.content).whole()).toString('latin1');
  const parts = partsOf(text, boundary);
  if (parts.length > MAX_CALLS) throw storeErrors.invalid(`The batch has ${parts.length} calls, at most ${MAX_CALLS}.`);
  const mark = `batch_${randomBytes(12).toString('hex')}`;
  let content = '';
  for (const part of parts) {
    const { contentId, inner } = readPart(part, request);
    const answer = await answerText(await service.answer(inner));
    const reference = contentId === undefined ? '' : `Content-ID: <response-${contentId}>\r\n`;
    content += `--${mark}\r\nContent-Type: application/http\r\n${reference}\r\n${answer}\r\n`;
  }
  const body = Buffer.from(`${content}--${mark}--\r\n`, 'latin1');
  const headers = { 'content-type': `multipart/mixed; boundary=${mark}`, 'content-length': body.length };
  return { kind: 'bytes', status: 200, headers, content: body };
}

function partsOf(text: string, boundary: string): readonly string[] {
  const pieces = `\n${text}`.split(`\n--${boundary}`);
  if (pieces.length < 3 || pieces.at(-1)?.startsWith('--') !== true) {
    throw storeErrors.invalid('Failed to parse batch request: the boundaries of its parts do not come.');
  }
  return pieces.slice(1, -1);
}

/** Reads a part: its own headers, a blank line, and an HTTP/1.1 request. */
function readPart(part: string, outer: StoreRequest): { readonly contentId?: string; readonly inner: StoreRequest } {
  const [partHead, rest] = cut(part.replace(/^[^\n]*\n/, ''));
  const [head, body] = cut(rest.replace(/^\s+/, ''));
  const [line = '', ...lines] = head.split(/\r?\n/);
  const [, verb, target] = /^([A-Z]+) (\S+)(?: HTTP\/\d(?:\.\d)?)?\s*$/.exec(line) ?? [];
  if (verb === undefined || target === undefined) {
    throw storeErrors.invalid(`Failed to parse batch request: '${line.slice(0, 80)}' is no request line.`);
  }
  const { authorization } = outer.headers;
  const headers: Record<string, string> = {
    ...(authorization !== undefined && { authorization }),
    ...headersOf(lines),
  };
  const content = Buffer.from(body, 'latin1').subarray(0, Number(headers['content-length'] ?? Infinity));
  const inner = {
    ...parseTarget(target),
    verb,
    headers,
    content: once(content),
    origin: outer.origin,
    isOwnLogin: outer.isOwnLogin,
  };
  const contentId = /^content-id:\s*<?([^>\r\n]*)>?/im.exec(partHead)?.[1];
  return { inner, ...(contentId !== undefined && { contentId }) };
}

function cut(text: string): readonly [head: string, rest: string] {
  const blank = /\r?\n\r?\n/.exec(text);
  if (blank === null) return [text.trimEnd(), ''];
  return [text.slice(0, blank.index), text.slice(blank.index + blank[0].length)];
}

function headersOf(lines: readonly string[]): Record<string, string> {
  const pairs = lines.flatMap((line) => {
    const match = /^([^:\s]+):\s*(.*?)\s*$/.exec(line);
    return match === null ? [] : [[String(match[1]).toLowerCase(), match[2] ?? ''] as const];
  });
  return Object.fromEntries(pairs);
}

async function* once(content: Buffer): AsyncGenerator<Buffer> {
  if (content.length > 0) yield content;
}

async function answerText(answer: StoreAnswer): Promise<string> {
  const { status, headers, content: sent } = asBytes(answer);
  const content = Buffer.isBuffer(sent) ? sent : await wholeOf(sent);
  const lines = Object.entries({ ...headers, 'content-length': content.length }).map(
    ([name, value]) => `${name}: ${value}`,
  );
  return `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n${lines.join('\r\n')}\r\n\r\n${content.toString('latin1')}`;
}

async function wholeOf(content: Readable): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of content) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}
