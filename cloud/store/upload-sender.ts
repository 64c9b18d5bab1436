import type { gaxios } from 'google-auth-library';
import { abortable } from '../hosts/abort.js';
import type { SendUpload, UploadAnswer } from './resumable-upload.js';

interface Requester {
  request(options: gaxios.GaxiosOptions): Promise<gaxios.GaxiosResponse<unknown>>;
}

/** By the HTTP client of Google's libraries, which knows proxies. @param login absent: none is sent */
export function uploadSender(login: Requester | undefined): SendUpload {
  return async ({ method, url, headers, body }, timeoutMs) => {
    // One controller of our own: Node 20 forgets an AbortSignal.timeout that only AbortSignal.any holds.
    const late = new AbortController();
    const timer = setTimeout(() => late.abort(new Error(`no answer in ${timeoutMs / 1000} s`)), timeoutMs);
    const options: gaxios.GaxiosOptions = {
      ...{ method, url, headers: { ...headers } },
      ...(body && { data: body }),
      responseType: 'text',
      // Where a login has run out, the error of a 401 makes the library get a new one and send again.
      validateStatus: (status) => status !== 401,
      retry: false,
      signal: late.signal,
    };
    try {
      const requester = login ?? (await import('google-auth-library')).gaxios;
      // The whole call: the library does not pass the signal on to what gets a token.
      return answerOf(await abortable(requester.request(options), late.signal));
    } catch (error) {
      const { response } = error as gaxios.GaxiosError<unknown>;
      if (response === undefined) throw error;
      return answerOf(response);
    } finally {
      clearTimeout(timer);
    }
  };
}

function answerOf({ status, headers, data }: gaxios.GaxiosResponse<unknown>): UploadAnswer {
  const { location, range } = headers as Readonly<Record<string, string | undefined>>;
  const text = typeof data === 'string' ? data : JSON.stringify(data ?? '');
  return { status, text, ...(location && { location }), ...(range && { range }) };
}
