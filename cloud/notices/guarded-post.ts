import { lookup as systemLookup } from 'node:dns/promises';
import { type IncomingMessage, request as httpRequest, type RequestOptions } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { isIP, type LookupFunction } from 'node:net';
import ipaddr from 'ipaddr.js';
import { visibleText } from '../../domain/visible-text.js';

export interface Resolved {
  readonly address: string;
  readonly family: number;
}
export type Resolve = (host: string) => Promise<readonly Resolved[]>;

/** Networks that are not public and may be posted to all the same: CIDRs. Plain http is for loopback addresses in them. */
export interface Reach {
  readonly networks: readonly string[];
  /** Replaces the computer's resolver. */
  readonly resolve?: Resolve;
}

export interface Answer {
  readonly status: number;
  readonly retryAfter: string | undefined;
  /** The beginning of the body, in visible characters. */
  readonly text: string;
}

/** The URL leads to an address that this worker does not post to. */
export class ForbiddenAddress extends Error {
  override readonly name = 'ForbiddenAddress';
}

const MOST_ANSWER_BYTES = 4_096;
const MOST_SHOWN = 200;
const TIMEOUT_MS = 30_000;

/**
 * Posts to a URL that a user named. The name is resolved once, its addresses are checked, and the connection goes to a checked
 * address, so a resolver that answers otherwise the second time changes nothing. Redirects are not followed.
 * @throws ForbiddenAddress; Error without the URL, whose path may be a secret
 */
export async function guardedPost(
  address: string,
  body: string,
  headers: Readonly<Record<string, string>>,
  reach: Reach,
): Promise<Answer> {
  const url = new URL(address);
  const host = url.hostname.replace(/^\[|\]$/g, '');
  const resolved = await resolvedBy(reach, host);
  const allowed = resolved.filter((each) => mayReach(each.address, url.protocol, reach));
  if (allowed.length === 0) throw new ForbiddenAddress(whyForbidden(host, resolved, url.protocol));
  return send(url, { body, headers, lookup: fixed(allowed) });
}

async function resolvedBy({ resolve = resolveAll }: Reach, host: string): Promise<readonly Resolved[]> {
  const family = isIP(host);
  return family === 0 ? resolve(host) : [{ address: host, family }];
}

const resolveAll: Resolve = (host) => systemLookup(host, { all: true });

/**
 * Public addresses alone, unless a network of the worker's configuration has the address. IPv6 forms of IPv4 addresses are
 * judged as those.
 */
export function mayReach(address: string, protocol: string, { networks }: Pick<Reach, 'networks'>): boolean {
  if (!ipaddr.isValid(address)) return false;
  const ip = ipaddr.process(address);
  const isListed = networks.some((network) => {
    const [base, bits] = ipaddr.parseCIDR(network);
    return ip.kind() === base.kind() && ip.match([base, bits] as never);
  });
  if (protocol === 'http:') return isListed && ip.range() === 'loopback';
  return protocol === 'https:' && (isListed || ip.range() === 'unicast');
}

function whyForbidden(host: string, resolved: readonly Resolved[], protocol: string): string {
  if (resolved.length === 0) return `${host} has no address`;
  const shown = resolved.map(({ address }) => address).join(', ');
  const what = shown === host ? host : `${host} leads to ${shown}, which`;
  if (protocol === 'http:') return `${what} is not posted to by plain http`;
  return `${what} is no public address; an operator can allow its network: notify.networks of the worker's configuration`;
}

const fixed =
  (addresses: readonly Resolved[]): LookupFunction =>
  (_host, { all }, callback) => {
    const [first] = addresses;
    if (all) callback(null, [...addresses]);
    else callback(null, first?.address ?? '', first?.family);
  };

interface Request {
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly lookup: LookupFunction;
}

function send(url: URL, { body, headers, lookup }: Request): Promise<Answer> {
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  const options: RequestOptions = {
    method: 'POST',
    headers: { ...headers, 'content-length': Buffer.byteLength(body) },
    // No connection is kept: the next request checks its addresses anew.
    agent: false,
    lookup,
    signal,
  };
  return new Promise((resolve, reject) => {
    const fail = (error: Error): void =>
      reject(signal.aborted ? new Error(`${url.host} did not answer within ${TIMEOUT_MS / 1000} s`) : error);
    const request = (url.protocol === 'http:' ? httpRequest : httpsRequest)(url, options, (response) => {
      beginning(response).then((text) => {
        const retryAfter = response.headers['retry-after'];
        resolve({ status: response.statusCode ?? 0, retryAfter, text });
        request.destroy();
      }, fail);
    });
    request.on('error', fail);
    request.end(body);
  });
}

async function beginning(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    bytes += chunk.length;
    if (bytes >= MOST_ANSWER_BYTES) break;
  }
  const text = Buffer.concat(chunks).toString('utf8').replaceAll(/\s+/g, ' ').trim();
  return visibleText(text.slice(0, MOST_SHOWN));
}
