import type { IncomingHttpHeaders, RequestListener, ServerResponse } from 'node:http';

/** Names of this computer that no web page's DNS can claim (RFC 6761, 6890). */
const LOOPBACK = /^(localhost|.+\.localhost|127(\.\d{1,3}){3}|\[::1\])$/;

/** Names by which Google's clients call a metadata server, whatever its address. */
export const METADATA_NAMES: readonly string[] = ['metadata.google.internal', 'metadata', '169.254.169.254'];

/** Request headers that a browser sets and a web page cannot change. */
export type BrowserHeaders = Pick<IncomingHttpHeaders, 'host' | 'origin' | 'sec-fetch-site'>;

/**
 * Returns why a call may come from a web page, or undefined if it cannot. After DNS rebinding a page reaches loopback under its
 * own name, so `Host` is foreign. Without rebinding the browser names the page in `Origin`, or sends `Sec-Fetch-Site`.
 * @param names that `Host` may have beside those of loopback. The port is ignored: a tunnel changes it
 */
export function foreignReason(headers: BrowserHeaders, names: readonly string[]): string | undefined {
  const { host = '', origin, 'sec-fetch-site': site } = headers;
  if (!isOwnHost(host, names)) return `the header Host is '${host}', which is no name of this computer`;
  if (origin !== undefined && !isOwnOrigin(origin, host)) return `the header Origin is '${origin}'`;
  if (site === 'cross-site' || site === 'same-site') return `the header Sec-Fetch-Site is '${site}'`;
  return undefined;
}

function isOwnHost(host: string, names: readonly string[]): boolean {
  const name = (/^(\[[^\]]*\]|[^:]*)(:\d+)?$/.exec(host)?.[1] ?? '').toLowerCase();
  return LOOPBACK.test(name) || names.includes(name);
}

const isOwnOrigin = (origin: string, host: string): boolean =>
  [`http://${host}`, `https://${host}`].includes(origin.toLowerCase());

/** Advice for a caller that is refused by mistake. */
export const FOREIGN_ADVICE =
  'the rehearsal takes no calls from web pages; call it as 127.0.0.1 or localhost, or start it with --host-name NAME';

/** Passes on calls that no web page can have sent. The rest are refused before their body is read. */
export function guarded(listener: RequestListener, names: readonly string[]): RequestListener {
  return (request, response) => {
    const reason = foreignReason(request.headers, names);
    if (reason === undefined) return listener(request, response);
    refuse(response, reason);
  };
}

/** Answers in the form that Google's APIs and the admin interface share: an object under `error`. */
function refuse(response: ServerResponse, reason: string): void {
  const error = { code: 403, status: 'PERMISSION_DENIED', message: `refused: ${reason}; ${FOREIGN_ADVICE}` };
  const body = JSON.stringify({ error });
  const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) };
  response.writeHead(403, { ...headers, connection: 'close' }).end(body);
}
