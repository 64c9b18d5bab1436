import type { gaxios } from 'google-auth-library';
import { answerWithin } from '../abort.js';
import type { SendUpload, UploadAnswer } from './resumable-upload.js';

interface Requester {
  request(options: gaxios.GaxiosOptions): Promise<gaxios.GaxiosResponse<unknown>>;
}

/** Sends by the HTTP client of Google's libraries, which supports proxies. @param login absent: no token is sent */
export function uploadSender(login: Requester | undefined): SendUpload {
  return async ({ method, url, headers, body }, timeoutMs) => {
    const options: gaxios.GaxiosOptions = {
      ...{ method, url, headers: { ...headers } },
      ...(body && { data: body }),
      responseType: 'text',
      // If a login has expired, the error of a 401 makes the library get a new token and send again.
      validateStatus: (status) => status !== 401,
      retry: false,
    };
    try {
      const requester = login ?? (await import('google-auth-library')).gaxios;
      // Limits the whole call: the library does not pass the signal on to the request for a token.
      return answerOf(await answerWithin(timeoutMs, (signal) => requester.request({ ...options, signal })));
    } catch (error) {
      const { response } = error as gaxios.GaxiosError<unknown>;
      if (response === undefined) throw error;
      return answerOf(response);
    }
  };
}

function answerOf({ status, headers, data }: gaxios.GaxiosResponse<unknown>): UploadAnswer {
  const { location, range } = headers as Readonly<Record<string, string | undefined>>;
  const text = typeof data === 'string' ? data : JSON.stringify(data ?? '');
  return { status, text, ...(location && { location }), ...(range && { range }) };
}
