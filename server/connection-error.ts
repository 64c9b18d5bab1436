import { randomUUID } from 'node:crypto';
import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { ConnectionError } from 'fastify';
import { ApiError, problemOf } from './problem.js';

/** Answers bytes that Node.js cannot read as a request, in the documented form of all other failures. */
export function answerConnectionError({ code }: ConnectionError, socket: Socket): void {
  if (code === 'ECONNRESET' || socket.destroyed) return;
  const { status, error } = readingOf(code);
  const body = JSON.stringify(problemOf(error, randomUUID(), status));
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    'Connection: close',
    'Content-Type: application/problem+json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(body)}`,
  ];
  if (socket.writable) socket.write(`${head.join('\r\n')}\r\n\r\n${body}`);
  socket.destroy();
}

function readingOf(code: string | undefined): { readonly status: number; readonly error: ApiError } {
  if (code === 'HPE_HEADER_OVERFLOW')
    return {
      status: 431,
      error: new ApiError(
        'too-large',
        'the path, the query and the headers together are too long',
        'send less in the query',
      ),
    };
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT')
    return { status: 408, error: new ApiError('invalid', 'the request did not arrive whole in time') };
  return { status: 400, error: new ApiError('invalid', 'what arrived is no HTTP request') };
}
