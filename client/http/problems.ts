import type { ApiErrorCode, ApiProblem } from '../../contract/api/failures.js';
import { messageIn } from '../../cloud/store/store-error.js';
import { notJson } from '../../domain/error-words.js';
import {
  Forbidden,
  JobNotFound,
  JobRefused,
  NotLoggedIn,
  ServerRefused,
  ServerUnreachable,
  TooManyRequests,
} from '../errors.js';
import type { HttpAnswer } from './exchange.js';

/** Errors of one call by the code of a refusal; other refusals mean the same everywhere. */
export type Meanings = Readonly<Partial<Record<ApiErrorCode, (detail: string, remedy?: string) => Error>>>;

/** Meanings of refusals of a call about one job. @param address the server's */
export const meaningsOfJob = (id: string, address: string): Meanings => ({
  'not-found': () => new JobNotFound(id, `on ${address}`),
  refused: (why) => new JobRefused(id, why),
});

/** The error for a refusing answer. @param address the server's */
export function errorOf(answer: HttpAnswer, address: string, meanings: Meanings = {}): Error {
  const problem = problemIn(answer);
  if (problem !== undefined) return errorOfProblem(problem, address, meanings, retryAfterMs(answer.headers));
  return foreign(answer, address, messageIn(answer.body.toString('utf8')).trim());
}

export function errorOfProblem(
  { code, status, detail, remedy, requestId }: ApiProblem,
  address: string,
  meanings: Meanings = {},
  retryAfter?: number,
): Error {
  const meaning = meanings[code];
  if (meaning !== undefined) return meaning(detail, remedy);
  switch (code) {
    case 'unauthenticated':
      return new NotLoggedIn(detail, remedy ?? 'log in with `jobctl login`');
    case 'forbidden':
      return new Forbidden(detail, remedy ?? '`jobctl whoami` shows whom the server knows you as');
    case 'too-many-requests':
      return new TooManyRequests(detail, retryAfter, remedy);
    case 'unavailable':
      return new ServerUnreachable(`jobctl serve at ${address}: ${detail}`, remedy);
    case 'internal':
      return new ServerRefused(
        `jobctl serve at ${address} failed (HTTP ${status}): ${detail}`,
        remedy ?? `its log has it under the id ${requestId}`,
      );
    default:
      return new ServerRefused(detail, remedy);
  }
}

function problemIn({ headers, body }: HttpAnswer): ApiProblem | undefined {
  if (headers['content-type']?.startsWith('application/problem+json') !== true) return undefined;
  try {
    const problem = JSON.parse(body.toString('utf8')) as Partial<ApiProblem>;
    return typeof problem.code === 'string' && typeof problem.detail === 'string' ? (problem as ApiProblem) : undefined;
  } catch {
    return undefined;
  }
}

/** The error of a proxy, or of a server that is not jobctl's. */
function foreign({ status, headers }: HttpAnswer, address: string, said: string): Error {
  const { location } = headers;
  if (location !== undefined && status < 400)
    return new ServerRefused(`${address} leads to ${location}`, 'name that address instead, if you trust it');
  const words = said === '' ? '' : `: ${said.slice(0, 300)}`;
  const what = `${address} answers HTTP ${status}${words}`;
  if (status === 429) return new TooManyRequests(what, retryAfterMs(headers));
  return status >= 502 && status <= 504
    ? new ServerUnreachable(what)
    : new ServerRefused(what, 'is it the address of a `jobctl serve`?');
}

/** @throws ServerRefused if the body is no JSON */
export function jsonOf<T>({ body, headers }: HttpAnswer, address: string): T {
  const text = body.toString('utf8');
  try {
    return JSON.parse(text) as T;
  } catch (error) {
    const what = /html/.test(headers['content-type'] ?? '') ? 'a web page' : notJson(error, text);
    throw new ServerRefused(`what answers at ${address} is ${what}`, 'is it the address of a `jobctl serve`?');
  }
}

/** The wait from the header, given in seconds or as a date. Undefined: the header is missing or invalid. */
export function retryAfterMs(headers: HttpAnswer['headers']): number | undefined {
  const text = headers['retry-after'];
  if (text === undefined) return undefined;
  const ms = /^\d+$/.test(text) ? Number(text) * 1_000 : Date.parse(text) - Date.now();
  return Number.isFinite(ms) ? Math.max(0, ms) : undefined;
}
