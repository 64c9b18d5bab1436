import { isIPv6 } from 'node:net';
import type { FastifyRequest } from 'fastify';
import type { App } from './bare-app.js';
import type { ServerConfig } from './config.js';
import { type ApiError, TooManyRequests } from './problem.js';

/** Addresses that are remembered; the one that was quiet for longest is forgotten for a new one. */
const MOST_ADDRESSES = 10_000;

/**
 * Counts the calls of an address that had no valid login. Beyond the limit they are refused as too many and are not logged one by
 * one. A valid token is never counted, so whoever shares the address with a program that went wild, behind one NAT, is not hindered.
 * To be made once the limiter is registered. @returns what such a call is answered with
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

/** Of IPv6 the first 64 bits, which one customer has: else they would be 2^64 addresses. */
export function networkOf(ip: string): string {
  if (!isIPv6(ip)) return ip;
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(ip)?.[1];
  if (mapped !== undefined) return mapped;
  const [head = '', tail] = (ip.split('%')[0] ?? '').split('::');
  const groups = head === '' ? [] : head.split(':');
  // What `::` stands for are zeros; of what stands behind it nothing lies within the first four groups, or they are full anyway.
  const behind = tail === undefined || tail === '' ? [] : tail.split(':');
  const zeros = tail === undefined ? 0 : Math.max(0, 8 - groups.length - behind.length);
  const all = [...groups, ...Array.from({ length: zeros }, () => '0'), ...behind];
  return `${all
    .slice(0, 4)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(':')}::/64`;
}
