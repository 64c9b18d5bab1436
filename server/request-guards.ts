import { timingSafeEqual } from 'node:crypto';
import { BlockList, isIP, isIPv6 } from 'node:net';
import type { FastifyRequest, FastifyReply } from 'fastify';
import { sha256Of } from '../cloud/trust/submission-signature.js';
import type { ServerConfig } from './config.js';
import { ApiError, TooManyRequests } from './problem.js';
import type { App } from './bare-app.js';

/** Names of networks that `listen.trustProxies` takes. */
const NAMED: Readonly<Record<string, readonly string[]>> = {
  loopback: ['127.0.0.0/8', '::1/128'],
  linklocal: ['169.254.0.0/16', 'fe80::/10'],
  uniquelocal: ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', 'fc00::/7'],
};

/** Returns a test for whether the other end of a connection is in one of these networks, whatever headers it sends. */
function peersIn(networks: readonly string[]): (request: FastifyRequest) => boolean {
  const list = new BlockList();
  for (const network of networks.flatMap((name) => NAMED[name] ?? [name])) {
    const [address = '', bits] = network.split('/');
    const family = isIPv6(address) ? 'ipv6' : 'ipv4';
    if (isIP(address) !== 0) list.addSubnet(address, Number(bits ?? (family === 'ipv6' ? 128 : 32)), family);
  }
  return ({ raw: { socket } }) => {
    const address = (socket.remoteAddress ?? '').replace(/^::ffff:/i, '');
    return isIP(address) !== 0 && list.check(address, isIPv6(address) ? 'ipv6' : 'ipv4');
  };
}

const isLocal = peersIn(['loopback']);

/**
 * Refuses plain HTTP from any address but its proxies and this computer, if the server has no certificate: a token would cross
 * the network readable. Open routes, such as probes, carry no token and are answered.
 */
export function refuseClearText({ listen: { tls, trustProxies } }: Pick<ServerConfig, 'listen'>) {
  const isProxy = peersIn(trustProxies);
  return async (request: FastifyRequest): Promise<void> => {
    // Without proxies it listens on loopback alone (`withTls`).
    if (tls !== undefined || trustProxies.length === 0 || isLocal(request) || isProxy(request)) return;
    if (request.routeOptions.config?.isOpen === true) return;
    throw new ApiError(
      'forbidden',
      `${request.raw.socket.remoteAddress ?? 'the caller'} is none of the proxies of this server, which has no TLS of its own`,
      'call it by its public address; what you sent has gone over the network in the clear: log in again',
    );
  };
}

/** Whether a request may read the metrics, which reveal routes and decisions: from this computer only, or with the token. */
export function mayReadMetrics(request: FastifyRequest, token: string | undefined): boolean {
  const [, given] = /^Bearer (\S{1,1000})$/i.exec(request.headers.authorization ?? '') ?? [];
  if (token !== undefined && given !== undefined)
    return timingSafeEqual(Buffer.from(sha256Of(given)), Buffer.from(sha256Of(token)));
  // A proxy on this computer forwards the calls of strangers.
  const isPassedOn = ['forwarded', 'x-forwarded-for', 'via'].some((name) => request.headers[name] !== undefined);
  return isLocal(request) && !isPassedOn;
}

const LOOPBACK = new Set(['127.0.0.1', 'localhost', '[::1]']);

/**
 * Refuses calls that a browser was led to make: an unknown `Host` means DNS rebinding, and a foreign `Origin` means another page.
 * There are no cookies, so this is a second protection: without a token nothing is answered anyway.
 */
export function hostGuard({ listen, publicUrl }: Pick<ServerConfig, 'listen' | 'publicUrl'>) {
  const known = new Set([...listen.hosts, ...(publicUrl === undefined ? [] : [new URL(publicUrl).host])]);
  const isOurs = (host: string): boolean => known.has(host) || LOOPBACK.has(host.replace(/:\d+$/, ''));
  return async (request: FastifyRequest, _reply: FastifyReply): Promise<void> => {
    const { host = '', origin } = request.headers;
    if (!isOurs(host)) {
      // A load balancer's probe knows only the address.
      if (request.routeOptions.config?.isOpen === true && /^\/(healthz|readyz)$/.test(request.url)) return;
      throw new ApiError(
        'forbidden',
        `Host '${host}' is not this server`,
        'the server knows publicUrl and listen.hosts of its configuration',
      );
    }
    if (origin !== undefined && !isOurs(hostOf(origin)))
      throw new ApiError('forbidden', `calls of pages of '${origin}' are not answered`);
  };
}

function hostOf(origin: string): string {
  try {
    return new URL(origin).host;
  } catch {
    return '';
  }
}

/** Number of addresses remembered. A new address replaces the one without calls for the longest time. */
const MOST_ADDRESSES = 10_000;

/**
 * Counts an address's calls without a valid login. Beyond the limit they are refused as too many and not logged one by one. A
 * valid token is never counted, so a runaway program does not lock out other users behind the same NAT. Call it after the limiter
 * is registered.
 * @returns a function that makes the answer to such a call
 */
export function refusedLogins(
  app: App,
  { limits }: Pick<ServerConfig, 'limits'>,
): (request: FastifyRequest, refusal: ApiError) => Promise<ApiError> {
  const max = limits.refusedLoginsPerMinute;
  const count = app.createRateLimit({
    max,
    timeWindow: 60_000,
    cache: MOST_ADDRESSES,
    keyGenerator: ({ ip }) => networkOf(ip),
  } as Parameters<typeof app.createRateLimit>[0]);
  return async (request, refusal) => {
    const counted = await count(request);
    if (counted.isAllowed || !counted.isExceeded) {
      request.log.warn({ requestId: request.id, from: request.ip, why: refusal.message }, 'a login was refused');
      return refusal;
    }
    return new TooManyRequests(
      `more than ${max} calls without a valid login in a minute from ${request.ip}`,
      `wait ${counted.ttlInSeconds} s, and log in: jobctl login`,
      counted.ttl,
    );
  };
}

/** The address of IPv4, or the first 64 bits of IPv6: they belong to one customer, who has 2^64 addresses. */
export function networkOf(ip: string): string {
  if (!isIPv6(ip)) return ip;
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(ip)?.[1];
  if (mapped !== undefined) return mapped;
  const [head = '', tail] = (ip.split('%')[0] ?? '').split('::');
  const groups = head === '' ? [] : head.split(':');
  // `::` stands for zeros. Groups behind it lie outside the first four, unless the address is full anyway.
  const behind = tail === undefined || tail === '' ? [] : tail.split(':');
  const zeros = tail === undefined ? 0 : Math.max(0, 8 - groups.length - behind.length);
  const all = [...groups, ...Array.from({ length: zeros }, () => '0'), ...behind];
  return `${all
    .slice(0, 4)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(':')}::/64`;
}
