import { timingSafeEqual } from 'node:crypto';
import { BlockList, isIP, isIPv6 } from 'node:net';
import type { FastifyRequest } from 'fastify';
import { sha256Of } from '../cloud/trust/submission-signature.js';
import type { ServerConfig } from './config.js';
import { ApiError } from './problem.js';

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
 * Without its own certificate the server accepts plain HTTP only from its proxies and from this computer. From other addresses a
 * token would cross the network readable. Open routes, such as probes, carry no token.
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

/** Metrics reveal routes and decisions, so only a process on this computer may read them, or a caller with the token. */
export function mayReadMetrics(request: FastifyRequest, token: string | undefined): boolean {
  const [, given] = /^Bearer (\S{1,1000})$/i.exec(request.headers.authorization ?? '') ?? [];
  if (token !== undefined && given !== undefined)
    return timingSafeEqual(Buffer.from(sha256Of(given)), Buffer.from(sha256Of(token)));
  // A proxy on this computer forwards the calls of strangers.
  const isPassedOn = ['forwarded', 'x-forwarded-for', 'via'].some((name) => request.headers[name] !== undefined);
  return isLocal(request) && !isPassedOn;
}
