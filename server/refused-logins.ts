import { isIPv6 } from 'node:net';
import type { FastifyRequest } from 'fastify';
import type { App } from './bare-app.js';
import type { ServerConfig } from './config.js';
import { type ApiError, TooManyRequests } from './problem.js';

/** Number of addresses remembered. A new address replaces the one that was quiet longest. */
const MOST_ADDRESSES = 10_000;

/**
 * Counts an address's calls without a valid login. Beyond the limit they are refused as too many and not logged one by one. A
 * valid token is never counted, so other users behind the same NAT as a runaway program are not affected. Call it after the
 * limiter is registered. @returns a function that makes the answer to such a call
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

/** For IPv6 the first 64 bits, which belong to one customer; a single customer has 2^64 addresses. */
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
